"""Ports to listen on: whether one is free, and one that is; the `podium serve` process."""

from __future__ import annotations

import contextlib
import secrets
import socket

from podium.sweep.values.errors import ServiceError

# Below the range of which Linux gives ports to outgoing connections, above that of Ray's workers.
PORTS = range(20_000, 32_768)
_TRIES = 100


def free_port(ports: range = PORTS) -> int:
    """A port of `ports` that is free now. Raises `ServiceError` if none is found.

    A port that the kernel chooses may be taken by a connection of any process before a component listens on it.
    """
    for _ in range(_TRIES):
        port = ports.start + secrets.randbelow(len(ports))
        with contextlib.suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port
    raise ServiceError(f"no free port from {ports.start} to {ports[-1]}; choose one with --port and --gateway-port")


def check_port(host: str, port: int, option: str) -> None:
    """Raises `ServiceError`, which names `option`, if no socket can listen on this port."""
    try:
        socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET).close()
    except OSError as error:
        raise ServiceError(f"cannot listen on {host}:{port}: {error.strerror}; choose another with {option}") from error
