"""Fake workers of an ensemble: a scripted one on a real socket, and a network of plain arithmetic."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from podium.ensemble.protocol.framing import unix_endpoint
from podium.ensemble.protocol.prediction_messages import Reply, Request, pack_reply, unpack_requests
from podium.ensemble.values.ensemble_snapshot import Combination, Member, Replica, Snapshot, Traffic
from podium.ensemble.values.ensemble_spec import Mode, Rule, Task
from podium.ensemble.values.ensemble_states import EnsembleState, MemberState
from podium.ensemble.worker.neural_network_interface import NetworkOutputs
from tests.message_listener import MessageListener

CLASSES = ("cat", "dog")
FEATURES = 3
ROWS = np.arange(6, dtype=np.float32).reshape(2, FEATURES)


def probabilities(first: float, rows: int = 2, members: int = 1) -> NDArray[np.float32]:
    """(members, rows, 2): `first` is the probability of the first class in every row."""
    return np.tile(np.array([first, 1 - first], dtype=np.float32), (members, rows, 1))


def ok(request: Request, first: float = 0.5, members: int = 1) -> Reply:
    """The answer of a healthy worker."""
    return Reply(
        request.request_id,
        request.epoch,
        "ok",
        1.5,
        2.5,
        predictions=probabilities(first, len(request.inputs), members),
    )


def replica(
    endpoint: str | None, replica_id: int = 20, *, state: MemberState = MemberState.READY, epoch: int = 1
) -> Replica:
    """A running replica."""
    return Replica(replica_id, state, epoch, endpoint)


def member(endpoint: str | None, number: int = 0, *, state: MemberState = MemberState.READY, epoch: int = 1) -> Member:
    """Member 10, 11, ... of trial 100, 101, ..., in one process: replica 20, 21, ..."""
    return replicated(number, replica(endpoint, 20 + number, state=state, epoch=epoch))


def replicated(number: int, *replicas: Replica) -> Member:
    """A member in several processes."""
    return Member(10 + number, 100 + number, replicas, number, 3)


def snapshot(
    *members: Member, quorum: int = 1, deadline_ms: float = 2000.0, mode: Mode = Mode.BETWEEN_GRAPH,
    ensemble_id: int = 1, version: int = 1, weights: Sequence[float] | None = None, rule: Rule = Rule.MEAN,
) -> Snapshot:  # fmt: skip
    """A version of an ensemble of classifiers."""
    weights = weights or [1 / len(members)] * len(members)
    return Snapshot(
        ensemble_id, f"podium-{ensemble_id}", version, mode, quorum, deadline_ms, CLASSES, FEATURES,
        Combination(Task.CLASSIFICATION, rule, tuple(weights)), members,
    )  # fmt: skip


def traffic(active: Snapshot, canary: Snapshot | None = None, share: float = 0.0) -> Traffic:
    """An ensemble that is ready."""
    return Traffic(active.ensemble_id, active.name, EnsembleState.READY, active, canary, share)


Script = Callable[[Request], Sequence[Reply | list[bytes]]]


class FakeWorker:
    """A worker whose answers the test controls: immediately by `script`, or at any time by `send`."""

    def __init__(self, folder: Path, number: int = 0, script: Script | None = None, *, epoch: int = 1) -> None:
        path = folder / f"w{number}-{epoch}"
        self.endpoint = unix_endpoint(path)
        self.number = number
        self.epoch = epoch
        self.requests: asyncio.Queue[tuple[int, Request]] = asyncio.Queue()
        self._script = script
        self._listener = MessageListener(path, self._receive)

    def member(self) -> Member:
        """This worker as a member of a snapshot."""
        return member(self.endpoint, self.number, epoch=self.epoch)

    def _receive(self, sender: int, frames: list[bytes]) -> None:
        for request in unpack_requests(frames):
            self.requests.put_nowait((sender, request))
            for reply in self._script(request) if self._script else ():
                self.send(sender, reply)

    def send(self, sender: int, reply: Reply | list[bytes]) -> None:
        self._listener.send(sender, pack_reply(reply) if isinstance(reply, Reply) else reply)

    def close(self) -> None:
        self._listener.close()


def answers(first: float = 0.5) -> Script:
    """The script of a healthy worker."""
    return lambda request: [ok(request, first)]


def alternating(**changes: object) -> Script:
    """The script of a healthy worker with some fields of the reply changed."""
    return lambda request: [replace(ok(request), **changes)]


def no_reply(_: Request) -> list[Reply]:
    """Never answers."""
    return []


class FakeNetwork:
    """Predicts `inputs[:, 0]` for the first class, as each of `members`; blocks while `gate` is closed.

    Fails on NaN, and always once `fails` is set; members in `broken` fail individually.
    """

    def __init__(self, members: int = 1, *, in_graph: bool = False) -> None:
        self.batches: list[int] = []  # rows of each computation, failed ones too
        self.fails = False
        self.broken: dict[int, str] = {}  # position -> reason
        self.gate = threading.Event()
        self.gate.set()
        self.entered = threading.Semaphore(0)  # released at each computation
        self._members = members
        self._in_graph = in_graph

    def predict(self, inputs: NDArray[np.float32]) -> NetworkOutputs:
        self.batches.append(len(inputs))
        self.entered.release()
        assert self.gate.wait(30)
        if self.fails or np.isnan(inputs).any():
            raise ArithmeticError("poison")
        one = np.stack([inputs[:, 0], 1 - inputs[:, 0]], axis=1)
        predictions = np.stack([one] * self._members)
        predictions[list(self.broken)] = np.nan
        return NetworkOutputs(predictions, dict(self.broken), one if self._in_graph and not self.broken else None)
