"""The network interface by which this machine reaches another one, or itself; trial process, Linux."""

from __future__ import annotations

import fcntl
import socket
import struct

_SIOCGIFADDR = 0x8915  # the IPv4 address of an interface


def interface_towards(address: str) -> str | None:
    """The name of the interface whose address packets to an IPv4 address come from; None if there is none."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:  # nothing is sent
        try:
            probe.connect((address, 9))
            own = probe.getsockname()[0]
        except OSError:
            return None
        return next((name for _, name in socket.if_nameindex() if _address_of(probe, name) == own), None)


def _address_of(probe: socket.socket, name: str) -> str | None:
    try:
        answer = fcntl.ioctl(probe.fileno(), _SIOCGIFADDR, struct.pack("256s", name.encode()))
    except OSError:  # it has none
        return None
    return socket.inet_ntoa(answer[20:24])
