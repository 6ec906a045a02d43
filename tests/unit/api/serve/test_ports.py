"""Ports for `podium serve`: free, and out of reach of outgoing connections."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from podium.api.serve import ports
from podium.sweep.values.errors import ServiceError


def test_free_port_is_below_those_of_outgoing_connections() -> None:
    lowest = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    for _ in range(20):
        port = ports.free_port()
        assert 20_000 <= port < max(lowest, 32_768)
        socket.create_server(("127.0.0.1", port)).close()


def test_taken_port_is_not_chosen() -> None:
    first = ports.free_port()
    only = range(first, first + 1)
    with socket.create_server(("127.0.0.1", first)):
        with pytest.raises(ServiceError, match="--port"):
            ports.free_port(only)
        with pytest.raises(ServiceError, match=f"cannot listen on 127.0.0.1:{first}: .*; choose another with --port"):
            ports.check_port("127.0.0.1", first, "--port")
    assert ports.free_port(only) == first
