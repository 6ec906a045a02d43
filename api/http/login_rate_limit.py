"""Rate limit on failed logins by client address; api and gateway.

Valid credentials are never refused: many clients may share an address with one broken script, and tokens have 256
random bits.
"""

from __future__ import annotations

import ipaddress
import threading
import time
from collections import deque
from collections.abc import Callable

from podium.sweep.values.errors import TooManyFailuresError

MAX_FAILURES = 10
WINDOW_S = 60.0
MAX_ADDRESSES = 4096


class LoginRateLimit:
    """Failed logins of the last minute by address."""

    def __init__(
        self,
        clock: Callable[[], float] = time.monotonic,
        *,
        max_failures: int = MAX_FAILURES,
        max_addresses: int = MAX_ADDRESSES,
    ) -> None:
        """`max_failures`: of one address within a minute."""
        self._clock = clock
        self._max_failures = max_failures
        self._max_addresses = max_addresses
        self._lock = threading.Lock()
        self._by_address: dict[str, deque[tuple[float, str]]] = {}

    @property
    def address_count(self) -> int:
        """The number of addresses with counted failures."""
        return len(self._by_address)

    def add(self, address: str, digest: str, *, once: bool = False) -> None:
        """Count a failure. Raises `TooManyFailuresError` above the limit.

        `once`: count the same `digest` only once, since open pages repeat their requests.
        """
        now = self._clock()
        with self._lock:
            found = self._recent(_network(address), now)
            if not (once and any(known == digest for _, known in found)):
                found.append((now, digest))
            if len(found) > self._max_failures:
                raise TooManyFailuresError(found[1][0] + WINDOW_S - now)

    def _recent(self, address: str, now: float) -> deque[tuple[float, str]]:
        """Failures of an address within the window; evicts the least recent of too many addresses."""
        found = self._by_address.pop(address, None) or deque(maxlen=self._max_failures + 1)
        while found and found[0][0] <= now - WINDOW_S:
            found.popleft()
        if len(self._by_address) >= self._max_addresses:
            del self._by_address[next(iter(self._by_address))]
        self._by_address[address] = found
        return found


def _network(address: str) -> str:
    """An IPv6 address counts as its /64 network, which one customer gets."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return address
    return str(ipaddress.ip_network((parsed, 64), strict=False)) if parsed.version == 6 else address
