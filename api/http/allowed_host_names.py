"""Allowed host names, against DNS rebinding; api and gateway.

If `evil.example` resolves to 127.0.0.1, a browser that opens it sends `evil.example` in the Host header.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Sequence

LOOPBACK = ("127.0.0.1", "localhost", "[::1]")  # at any port: a tunnel has its own; these cannot be rebound
_REMEMBERED = 64  # results; a header has at most 64 KB
_HOST = re.compile(r"(?P<name>[a-z0-9_-]+(?:\.[a-z0-9_-]+)*|\[[0-9a-f:.]+\])(?::(?P<port>[0-9]{1,5}))?")


class HostNames:
    """The allowed values of the Host header; a name without a port is allowed at any port."""

    def __init__(self, names: Iterable[str]) -> None:
        self._names = frozenset(name.lower() for name in (*LOOPBACK, *names))
        self._allow = functools.lru_cache(_REMEMBERED)(self._check)

    def allow(self, hosts: Sequence[bytes]) -> bool:
        """Whether these raw values of Host are exactly one allowed name."""
        return len(hosts) == 1 and self._allow(hosts[0])

    def _check(self, raw: bytes) -> bool:
        host = raw.decode("latin-1").lower()
        match = _HOST.fullmatch(host)
        return match is not None and (match["name"] in self._names or host in self._names)


def is_loopback(host: bytes) -> bool:
    """Whether this value of Host is a loopback name."""
    match = _HOST.fullmatch(host.decode("latin-1").lower())
    return match is not None and match["name"] in LOOPBACK


def is_host_name(text: str) -> bool:
    """Whether this is valid in a Host header: a name or an address, optionally with a port."""
    return _HOST.fullmatch(text.lower()) is not None
