"""Clients that connect, send a byte now and then, and reconnect: `python -m tests.slow_clients HOST PORT COUNT`."""

from __future__ import annotations

import contextlib
import itertools
import select
import socket
import sys
import time
from collections import deque

from podium.api.http.connection_limits import allow_many_files

REQUEST_HEAD = (
    b"",
    b"GET /hea",
    b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX: ",
    b"POST /api/v1/sweeps HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n",
)
TURN_S = 0.1
TURNS = 30  # in which each sends a byte
RECONNECT_S = 1.0
CONNECTIONS_PER_TURN = 500  # that are on their way to be accepted


class SlowClients:
    """`count` clients in one process; `ready` once each has connected."""

    def __init__(self, host: str, port: int, count: int) -> None:
        self._address = (host, port)
        self._family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self._count = count
        self._kinds = itertools.cycle(REQUEST_HEAD)
        self._poll = select.epoll()
        self._there: dict[int, tuple[socket.socket, bytes]] = {}
        self._coming: dict[int, socket.socket] = {}
        self._away: deque[float] = deque()  # when each disconnected client reconnects
        self.came = 0

    def turn(self) -> None:
        """Connect all clients, and find those that were disconnected."""
        while self._away and self._away[0] < time.monotonic():
            self._away.popleft()
        while (
            len(self._there) + len(self._coming) + len(self._away) < self._count
            and len(self._coming) < CONNECTIONS_PER_TURN
        ):
            self._connect()
        for number, what in self._poll.poll(TURN_S / 2):
            if number in self._coming and what == select.EPOLLOUT:
                self._connect_one(number)
            elif what & (select.EPOLLHUP | select.EPOLLERR) or not self._is_answered(number):
                self._disconnect(number)

    def say(self, among: int, which: int) -> None:
        """Send another byte of one client in `among`."""
        for number, (client, said) in list(self._there.items()):
            if said and number % among == which:
                try:
                    client.send(b"x")
                except BlockingIOError:
                    pass
                except OSError:
                    self._disconnect(number)

    def _connect(self) -> None:
        client = socket.socket(self._family)
        client.setblocking(False)
        with contextlib.suppress(BlockingIOError):
            client.connect(self._address)
        self._coming[client.fileno()] = client
        self._poll.register(client, select.EPOLLOUT)

    def _connect_one(self, number: int) -> None:
        client, said = self._coming.pop(number), next(self._kinds)
        self._there[number] = (client, said)
        self._poll.modify(number, select.EPOLLIN)
        self.came += 1
        if said:
            client.send(said)

    def _is_answered(self, number: int) -> bool:
        try:
            return bool(self._there[number][0].recv(4096))
        except (OSError, KeyError):
            return False

    def _disconnect(self, number: int) -> None:
        client = self._coming.pop(number, None) or self._there.pop(number)[0]
        self._poll.unregister(number)
        client.close()
        self._away.append(time.monotonic() + RECONNECT_S)


def main() -> None:
    """Print `all came` once each has connected; run until killed."""
    allow_many_files()
    clients = SlowClients(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
    said_s, turns, announced = time.monotonic(), 0, False
    while True:
        clients.turn()
        if time.monotonic() - said_s > TURN_S:
            said_s, turns = time.monotonic(), turns + 1
            clients.say(TURNS, turns % TURNS)
        if not announced and clients.came >= int(sys.argv[3]):
            announced = True
            print("all came", flush=True)


if __name__ == "__main__":
    main()
