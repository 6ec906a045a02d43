"""How often an address has shown what lets nobody in: above a bound in a minute it is told to wait; api and gateway.

Who shows something good is never kept out, since many may share an address with one broken script, and 256 random
bits are not guessed.
"""

from __future__ import annotations

import ipaddress
import threading
import time
from collections import deque
from collections.abc import Callable

from podium.sweep.values.errors import TooManyFailuresError

ALLOWED = 10
WITHIN_S = 60.0
_MAX_ADDRESSES = 4096


class Failures:
    """The failures of the last minute by address."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._by_address: dict[str, deque[tuple[float, str]]] = {}

    def add(self, address: str, shown: str, *, once: bool = False) -> None:
        """Count one. Raises `TooManyFailuresError` from the eleventh in a minute on.

        `once`: what was `shown`, a digest, counts only once: pages ask again by themselves.
        """
        now = self._clock()
        with self._lock:
            found = self._recent(_network(address), now)
            if not (once and any(digest == shown for _, digest in found)):
                found.append((now, shown))
            if len(found) > ALLOWED:
                raise TooManyFailuresError(found[1][0] + WITHIN_S - now)

    def _recent(self, address: str, now: float) -> deque[tuple[float, str]]:
        """Those of an address; of many addresses, the one that has been quiet for longest is forgotten."""
        found = self._by_address.pop(address, None) or deque(maxlen=ALLOWED + 1)
        while found and found[0][0] <= now - WITHIN_S:
            found.popleft()
        if len(self._by_address) >= _MAX_ADDRESSES:
            del self._by_address[next(iter(self._by_address))]
        self._by_address[address] = found
        return found


def _network(address: str) -> str:
    """An address of IPv6 stands for the network of 2^64 that one customer gets."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return address
    return str(ipaddress.ip_network((parsed, 64), strict=False)) if parsed.version == 6 else address
