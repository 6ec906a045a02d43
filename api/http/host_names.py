"""By which names the service may be called: against DNS rebinding, by which a foreign name leads here; api, gateway.

A browser that was lured onto `evil.example`, which then resolves to 127.0.0.1, sends that name as its Host.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

LOOPBACK = ("127.0.0.1", "localhost", "[::1]")  # at any port: a tunnel brings its own, and nobody can rebind these
_HOST = re.compile(r"(?P<name>[a-z0-9_-]+(?:\.[a-z0-9_-]+)*|\[[0-9a-f:.]+\])(?::(?P<port>[0-9]{1,5}))?")


class HostNames:
    """The names that a Host header may say; each at any port, or at the one that it was given with."""

    def __init__(self, names: Iterable[str]) -> None:
        self._names = frozenset(name.lower() for name in (*LOOPBACK, *names))

    def allow(self, hosts: Sequence[bytes]) -> bool:
        """Whether these values of Host, as they came, are exactly one name of ours."""
        if len(hosts) != 1:
            return False
        host = hosts[0].decode("latin-1").lower()
        match = _HOST.fullmatch(host)
        return match is not None and (match["name"] in self._names or host in self._names)


def is_loopback(host: bytes) -> bool:
    """Whether this value of Host names this very machine."""
    match = _HOST.fullmatch(host.decode("latin-1").lower())
    return match is not None and match["name"] in LOOPBACK


def is_host_name(text: str) -> bool:
    """Whether this can stand in a Host header: a name or address, with a port or without."""
    return _HOST.fullmatch(text.lower()) is not None
