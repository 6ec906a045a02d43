"""The listening sockets: one process alone on a port, or several that share it."""

from __future__ import annotations

import socket

import pytest

from podium.api.http import readiness_reporting_server


def accepted_by(sockets: list[socket.socket], port: int, connections: int) -> list[int]:
    """How many of these connections each socket accepted."""
    clients = [socket.create_connection(("127.0.0.1", port), timeout=10) for _ in range(connections)]
    counts = []
    for each in sockets:
        each.settimeout(0)
        count = 0
        while True:
            try:
                each.accept()[0].close()
            except BlockingIOError:
                break
            count += 1
        counts.append(count)
    for client in clients:
        client.close()
    return counts


def test_shared_port_spreads_connections_and_outlives_one_of_its_sockets() -> None:
    first = readiness_reporting_server.shared_tcp("127.0.0.1", 0)
    port = first.getsockname()[1]
    second = readiness_reporting_server.shared_tcp("127.0.0.1", port)
    first.listen()
    assert accepted_by([first], port, 10) == [10], "a socket that does not listen yet gets no connection"
    second.listen()
    both = accepted_by([first, second], port, 60)
    assert sum(both) == 60 and min(both) > 0
    first.close()
    assert accepted_by([second], port, 10) == [10]
    second.close()


@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
def test_port_that_another_service_listens_on_is_not_shared(host: str) -> None:
    with readiness_reporting_server.tcp(host, 0) as alone, pytest.raises(OSError, match="Address already in use"):
        readiness_reporting_server.shared_tcp(host, alone.getsockname()[1])
