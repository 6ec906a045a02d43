"""An app with the routes of the Open Inference Protocol on an aggregator whose predictions the test controls."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import msgspec
import numpy as np
from fastapi import FastAPI
from numpy.typing import NDArray

from podium.api.gateway import inference_protocol_routes, prometheus_metrics
from podium.api.gateway.gateway_counter_totals import GatewayCounterTotals, GatewayShare, summed
from podium.api.gateway.prometheus_metrics import ProcessReading, Reading, exposition, served_versions
from podium.api.http import problem_details
from podium.api.http.request_body import IncomingBodies
from podium.api.http.request_limits import RequestLimits
from podium.db.access.tokens import Holder, Role
from podium.ensemble.scoring import combine
from podium.ensemble.serving.aggregator import Aggregator
from podium.ensemble.serving.gateway_metrics import GatewayCounters
from podium.ensemble.serving.replica_link import LinkHealth
from podium.ensemble.serving.unix_socket_transport import Cancellable, Connection, Frames, Listener
from podium.ensemble.values.ensemble_snapshot import Combination, Member, Replica, Snapshot, Traffic
from podium.ensemble.values.ensemble_spec import Mode, Rule, Task
from podium.ensemble.values.ensemble_states import EnsembleState, MemberState
from podium.ensemble.values.prediction import MemberReport, MemberStatus, Outcome, Prediction
from podium.sweep.runtime.service_settings import ServiceSettings
from podium.sweep.values.errors import UnauthorizedError

FEATURES = 3
TOKEN = "token-of-viewer"


def snapshot(
    name: str = "digits-1", version: int = 1, *, members: int = 3, up: int | None = None, ensemble_id: int = 1,
    task: Task = Task.CLASSIFICATION, mode: Mode = Mode.BETWEEN_GRAPH, classes: tuple[str, ...] = ("cat", "dög"),
) -> Snapshot:  # fmt: skip
    """A version of an ensemble; its first `up` members are ready, of which two are a quorum."""
    states = [MemberState.READY if number < (members if up is None else up) else MemberState.RESTARTING
              for number in range(members)]  # fmt: skip
    first = 100 * ensemble_id + 10 * version
    found = tuple(
        Member(first + n, 1000 + n, (Replica(first + n, state, 1, f"unix:/nowhere/{first + n}"),), n, 3)
        for n, state in enumerate(states)
    )
    if mode is Mode.IN_GRAPH:
        found = tuple(replace(member, replicas=found[0].replicas) for member in found)
    noise = (0.5,) * len(classes) if task is Task.REGRESSION else ()
    combination = Combination(task, Rule.MEAN, (1 / members,) * members, noise_variance=noise)
    return Snapshot(ensemble_id, name, version, mode, 2, 1000.0, classes, FEATURES, combination, found)


def traffic(active: Snapshot, canary: Snapshot | None = None, state: EnsembleState = EnsembleState.READY) -> Traffic:
    """An ensemble whose canary, if there is one, is never chosen."""
    return Traffic(active.ensemble_id, active.name, state, active, canary)


class NullTransport:
    """A transport without connections."""

    def open(self, endpoint: str, listener: Listener) -> Connection:
        return self

    def send(self, frames: Frames) -> bool:
        return True

    def reply_is_late(self) -> None:
        pass

    def close(self) -> None:
        pass


class StoppedTimer:
    """A timer at which nothing is ever due."""

    def now_s(self) -> float:
        return 0.0

    def call_later(self, delay_s: float, callback: Callable[[], object]) -> Cancellable:
        return self

    def call_soon(self, callback: Callable[[], object]) -> None:
        pass

    def cancel(self) -> None:
        pass


@dataclass(frozen=True, slots=True)
class RecordedRequest:
    """One requested prediction."""

    snapshot: Snapshot
    inputs: NDArray[np.float32]
    deadline_ms: float | None


class ScriptedAggregator(Aggregator):
    """Has ensembles, versions and counters like the real one; every member predicts `inputs[:, 0]` in the first column.

    `outcome` is the result of a request; `states` overrides the states of replicas.
    """

    def __init__(self, *known: Traffic) -> None:
        super().__init__(NullTransport(), StoppedTimer())
        self.update(known)
        self.asked: list[RecordedRequest] = []
        self.outcome = Outcome.OK
        self.states: dict[int, MemberState] = {}

    def health(self) -> dict[int, LinkHealth]:
        return {key: replace(each, state=self.states.get(key, each.state)) for key, each in super().health().items()}

    def predict(
        self,
        snapshot: Snapshot,
        inputs: NDArray[np.float32],
        deadline_ms: float | None = None,
        arrived_s: float | None = None,
    ) -> asyncio.Future[Prediction]:
        answer: asyncio.Future[Prediction] = asyncio.get_running_loop().create_future()
        answer.set_result(self._scripted(snapshot, inputs, deadline_ms))
        return answer

    def _scripted(self, snapshot: Snapshot, inputs: NDArray[np.float32], deadline_ms: float | None) -> Prediction:
        self.asked.append(RecordedRequest(snapshot, inputs, deadline_ms))
        missing = {Outcome.OK: 0, Outcome.DEGRADED: 1}.get(self.outcome, len(snapshot.members))
        answered = tuple(range(len(snapshot.members) - missing))
        prediction = Prediction(
            self.outcome, snapshot, _reports(snapshot, answered), deadline_ms or snapshot.deadline_ms, 1.5
        )
        if not answered:
            return prediction
        one = np.stack([inputs[:, 0], 1 - inputs[:, 0]], axis=1)[:, : snapshot.outputs]
        weights = (1 / len(answered),) * len(answered)
        stacked = np.stack([one] * len(answered))
        return msgspec.structs.replace(
            prediction, outputs=one, member_outputs=stacked, answered_positions=answered, weights=weights,
            uncertainty=partial(combine.uncertainty, snapshot.combination, stacked, one, answered),
        )  # fmt: skip


def _reports(snapshot: Snapshot, answered: Sequence[int]) -> tuple[MemberReport, ...]:
    return tuple(
        MemberReport(member.member_id, member.trial_id, 1, MemberStatus.OK if n in answered else MemberStatus.LATE)
        for n, member in enumerate(snapshot.members)
    )


class SingleTokenAuthenticator:
    """An authenticator with one token, of a viewer."""

    cookie = "podium_session_8300"

    async def token_holder(self, token: str, address: str) -> Holder:
        if token != TOKEN:
            raise UnauthorizedError("the token is unknown, expired or revoked")
        return Holder(1, "viewer", Role.VIEWER)


def metrics_text(aggregator: Aggregator) -> bytes:
    """What `/metrics` shows of the only gateway process."""
    shares = [GatewayShare("gateway", os.getpid(), True, GatewayCounters.of(aggregator))]
    return exposition(Reading(list(served_versions(aggregator)), summed(shares)), ProcessReading(shares))


def serving(aggregator: Aggregator) -> FastAPI:
    """The routes as the gateway has them."""
    app = FastAPI()
    app.state.aggregator = aggregator
    app.state.authenticator = SingleTokenAuthenticator()
    app.state.incoming_bodies = IncomingBodies()
    app.state.request_limits = RequestLimits()
    app.state.gateway_counter_totals = GatewayCounterTotals(
        ServiceSettings("/nowhere", "/nowhere"), "gateway", lambda: GatewayCounters.of(aggregator)
    )
    problem_details.install(app)
    app.include_router(inference_protocol_routes.router)
    app.include_router(prometheus_metrics.router)
    return app
