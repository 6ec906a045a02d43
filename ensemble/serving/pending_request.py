"""A request in flight, and its calls to the members; gateway process."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import numpy as np
from numpy.typing import NDArray

from podium.ensemble.protocol.prediction_messages import Reply
from podium.ensemble.serving.replica_link import ReplicaLink
from podium.ensemble.serving.unix_socket_transport import Cancellable
from podium.ensemble.values.ensemble_snapshot import Replica, Snapshot
from podium.ensemble.values.prediction import MemberStatus, Prediction

OnDone = Callable[[Prediction], None]


class MemberCall(msgspec.Struct, eq=False):
    """The part of a request that one replica answers: the predictions of the members at `positions`."""

    positions: tuple[int, ...]
    replicas: tuple[Replica, ...]
    links: list[ReplicaLink] = []  # sent and not answered; two while a hedge is in flight
    tried: set[int] = set()  # replica ids
    failures: list[tuple[ReplicaLink, str]] = []
    last_failure: tuple[MemberStatus, str] | None = None  # of a replica that another one replaces
    status: MemberStatus | None = None
    message: str = ""
    reply: Reply | None = None

    def complete(self, status: MemberStatus, message: str, reply: Reply | None = None) -> None:
        """Set the result of the call, exactly once."""
        assert self.status is None
        self.status, self.message, self.reply = status, message, reply


class PendingRequest(msgspec.Struct, eq=False):
    """A request in flight. It completes when `on_done` is called, exactly once."""

    request_id: int
    snapshot: Snapshot
    inputs: NDArray[np.float32]
    deadline_ms: float
    arrived_s: float  # the deadline counts from here
    reserve_s: float  # of the deadline, for the response
    on_done: OnDone
    calls: list[MemberCall] = []
    timers: list[Cancellable] = []
    completed: bool = False

    @property
    def due_s(self) -> float:
        return self.arrived_s + self.deadline_ms / 1000

    @property
    def expires_s(self) -> float:
        return self.due_s - self.reserve_s

    def abandon_calls(self) -> None:
        """Drop all calls in flight: their replies are no longer needed."""
        for call in self.calls:
            for link in call.links:
                link.abandon(self.request_id, None)
            call.links.clear()
