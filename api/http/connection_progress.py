"""Tracks what each client still has to send or read, and since when; no I/O, api and gateway."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Generic, TypeVar

from podium.api.http.request_limits import MAX_BODY_S

Client = TypeVar("Client")


class Awaited(Enum):
    """What the server waits for. When connections run out, those that await the first of these are closed first."""

    HEAD = "request headers"
    REST = "the rest of a body whose request has been answered"
    BODY = "a request body"
    READING = "the client to read its response"


LIMITS_S = {
    Awaited.HEAD: 10.0,
    Awaited.REST: 5.0,
    Awaited.BODY: MAX_BODY_S + 10.0,  # a route that reads the body times out earlier
    Awaited.READING: 60.0,  # per 64 KB
}


class SlowConnections(Generic[Client]):
    """The clients that the server waits for, by what is awaited, in the order in which the wait began."""

    def __init__(self, limits_s: Mapping[Awaited, float] = LIMITS_S) -> None:
        """`limits_s`: how long the server waits, in seconds."""
        self._limits_s = limits_s
        self._since: dict[Awaited, dict[Client, float]] = {awaited: {} for awaited in Awaited}

    def begin(self, client: Client, awaited: Awaited, now_s: float) -> None:
        """Start to wait; without effect if the wait has already started."""
        self._since[awaited].setdefault(client, now_s)

    def end(self, client: Client, awaited: Awaited) -> None:
        """End a wait: the data has arrived, or is no longer needed."""
        self._since[awaited].pop(client, None)

    def forget(self, client: Client) -> None:
        """The client has disconnected."""
        for since in self._since.values():
            since.pop(client, None)

    def overdue(self, now_s: float, most: int) -> list[tuple[Client, Awaited]]:
        """Remove and return at most `most` clients that exceeded a time limit, with what is awaited."""
        found: list[tuple[Client, Awaited]] = []
        for awaited, since in self._since.items():
            while since and len(found) < most and now_s - next(iter(since.values())) > self._limits_s[awaited]:
                client = next(iter(since))
                del since[client]
                found.append((client, awaited))
        return found

    def pop_longest(self) -> Client | None:
        """Remove and return the client of the longest wait; None if there is none."""
        for since in self._since.values():
            if since:
                client = next(iter(since))
                self.forget(client)
                return client
        return None
