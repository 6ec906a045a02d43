"""Whom the service waits for, for what and since when, so that nobody makes it wait for ever; pure, api and gateway."""

from __future__ import annotations

from enum import Enum
from typing import Generic, TypeVar

from podium.api.http.route_context import MAX_BODY_S

Client = TypeVar("Client")


class Awaited(Enum):
    """What a client still owes. When there is room for no more clients, those named first are given up first."""

    HEAD = "the head of a request"
    REST = "the rest of a body whose request is answered already"
    BODY = "a body"
    READING = "reading of its answer"


LONGEST_S = {
    Awaited.HEAD: 10.0,
    Awaited.REST: 5.0,
    Awaited.BODY: MAX_BODY_S + 10.0,  # a route that reads it answers before that
    Awaited.READING: 60.0,  # of each 64 KB
}


class Waiting(Generic[Client]):
    """Who is waited for. What may take equally long is kept in the order in which it began, so that a look is short."""

    def __init__(self) -> None:
        self._since: dict[Awaited, dict[Client, float]] = {awaited: {} for awaited in Awaited}

    def begin(self, client: Client, awaited: Awaited, now_s: float) -> None:
        """Wait for this from now on; for what is waited for already, go on."""
        self._since[awaited].setdefault(client, now_s)

    def end(self, client: Client, awaited: Awaited) -> None:
        """It has come, or is wanted no more."""
        self._since[awaited].pop(client, None)

    def forget(self, client: Client) -> None:
        """The client is gone."""
        for since in self._since.values():
            since.pop(client, None)

    def overdue(self, now_s: float, most: int) -> list[tuple[Client, Awaited]]:
        """Who took too long, and for what, but no more than `most`; they are not waited for any more."""
        found: list[tuple[Client, Awaited]] = []
        for awaited, since in self._since.items():
            while since and len(found) < most and now_s - next(iter(since.values())) > LONGEST_S[awaited]:
                client = next(iter(since))
                del since[client]
                found.append((client, awaited))
        return found

    def give_up(self) -> Client | None:
        """The one who was waited for longest, to make room for another; None when nobody is."""
        for since in self._since.values():
            if since:
                client = next(iter(since))
                self.forget(client)
                return client
        return None
