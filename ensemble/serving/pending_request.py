"""A live request and what it wants of each worker; gateway."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from podium.ensemble.protocol.wire import Reply
from podium.ensemble.serving.replica_link import Link
from podium.ensemble.serving.transport import Cancellable
from podium.ensemble.values.ensemble_spec import Mode, Replica, Snapshot
from podium.ensemble.values.prediction import MemberStatus, Prediction

Done = Callable[[Prediction], None]


@dataclass(slots=True, eq=False)
class Ask:
    """What one request wants of one worker: the predictions of the members at `positions`."""

    positions: tuple[int, ...]
    replicas: tuple[Replica, ...]
    links: list[Link] = field(default_factory=list)  # asked and not heard; two where a hedge is under way
    tried: set[int] = field(default_factory=set)  # replica ids
    faults: list[tuple[Link, str]] = field(default_factory=list)
    status: MemberStatus | None = None
    message: str = ""
    reply: Reply | None = None

    def resolve(self, status: MemberStatus, message: str, reply: Reply | None = None) -> None:
        """What came of it, once."""
        assert self.status is None
        self.status, self.message, self.reply = status, message, reply


@dataclass(slots=True, eq=False)
class Ticket:
    """A live request. It is over when `done` was called, exactly once."""

    request_id: int
    snapshot: Snapshot
    inputs: NDArray[np.float32]
    deadline_ms: float
    admitted_s: float
    done: Done
    asks: list[Ask] = field(default_factory=list)
    timers: list[Cancellable] = field(default_factory=list)
    over: bool = False

    @property
    def due_s(self) -> float:
        return self.admitted_s + self.deadline_ms / 1000

    def withdraw(self) -> None:
        """Nobody waits any more: what was asked is not needed."""
        for ask in self.asks:
            for link in ask.links:
                link.forget(self.request_id, None)
            ask.links.clear()


Workers = list[tuple[tuple[int, ...], tuple[Replica, ...]]]


def workers_of(snapshot: Snapshot) -> Workers:
    """Who is to be asked: the positions that one worker answers for, and the replicas of that worker.

    In-graph, one worker answers for all members, and the replicas of the first member stand for all.
    """
    if snapshot.mode is Mode.IN_GRAPH:
        return [(tuple(range(len(snapshot.members))), snapshot.members[0].replicas)]
    return [((position,), member.replicas) for position, member in enumerate(snapshot.members)]
