"""Evaluations one by one: what is written before and after each, and what a gateway says that is short of a member."""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import numpy as np
import pytest

from podium.db.stores import evaluations
from podium.db.stores.ensembles import EnsembleRow
from podium.db.stores.evaluations import MAX_QUEUED, EvaluationRow
from podium.ensemble.host.evaluation_queue import EvaluationQueue
from podium.ensemble.host.evaluator import PAUSE_S, RETRY_S, Evaluator
from podium.sweep.values.errors import ConflictError, EnsembleError
from tests.fakes import FakeClock
from tests.service_rig import ServiceRig

ROWS = np.zeros((2, 3), np.float32)


class HostDied(BaseException):
    """Nobody catches it."""


class FakeEvaluator(Evaluator):
    """Measures nothing: ends as the test says, and notes the state it was called in."""

    def __init__(self, service: ServiceRig, ends: BaseException | None = None) -> None:
        super().__init__(service.settings)
        self._service = service
        self._ends = ends
        self.saw: list[str] = []

    def evaluate(self, row: EnsembleRow, evaluation: EvaluationRow, keep: Path) -> dict[str, Any]:
        self.saw.append(read(self._service, evaluation.id).state)
        if self._ends is not None:
            raise self._ends
        return {"rows": 2}


@pytest.fixture
def service(tmp_path: Path) -> Iterator[ServiceRig]:
    rig = ServiceRig(tmp_path)
    yield rig
    rig.close()


@pytest.fixture
def evaluation_id(service: ServiceRig) -> int:
    """One that is queued, with rows that were posted."""
    sweep_id = service.sweep()
    found = service.evaluation(service.ensemble(sweep_id, [service.trial(sweep_id, 0, 0.9)]))
    service.data.posted_rows(found).write_bytes(b"rows")
    return found


def read(service: ServiceRig, evaluation_id: int) -> EvaluationRow:
    with service.database.read() as connection:
        return evaluations.get(connection, evaluation_id)


def host(service: ServiceRig, evaluator: Evaluator) -> EvaluationQueue:
    """Another host."""
    return EvaluationQueue(service.settings, service.database, evaluator, FakeClock())


@pytest.mark.parametrize(
    ("ends", "state", "reason"),
    [
        (None, "finished", ""),
        (EnsembleError("no"), "failed", "no"),
        (ZeroDivisionError("by 0"), "failed", "ZeroDivisionError: by 0; see the host's log"),
    ],
)
def test_it_runs_and_is_over_and_its_rows_go(
    service: ServiceRig, evaluation_id: int, ends: Exception | None, state: str, reason: str
) -> None:
    evaluator = FakeEvaluator(service, ends)
    host(service, evaluator).step()
    found = read(service, evaluation_id)
    assert (evaluator.saw, found.state, found.reason) == (["running"], state, reason)
    assert not service.data.posted_rows(evaluation_id).exists()


def test_what_a_host_died_of_is_tried_once_more_and_then_failed(service: ServiceRig, evaluation_id: int) -> None:
    for _ in range(2):
        with pytest.raises(HostDied):
            host(service, FakeEvaluator(service, HostDied())).step()
        assert read(service, evaluation_id).state == "running"
        assert service.data.posted_rows(evaluation_id).exists()
    last = FakeEvaluator(service)
    host(service, last).step()
    found = read(service, evaluation_id)
    assert (last.saw, found.state) == ([], "failed")
    assert "exited twice" in found.reason
    assert not service.data.posted_rows(evaluation_id).exists()


def test_tried_once_more_it_may_end_well(service: ServiceRig, evaluation_id: int) -> None:
    with pytest.raises(HostDied):
        host(service, FakeEvaluator(service, HostDied())).step()
    host(service, FakeEvaluator(service)).step()
    found = read(service, evaluation_id)
    assert (found.state, found.reason, found.result) == ("finished", "", {"rows": 2})


def test_no_more_wait_than_may(service: ServiceRig, evaluation_id: int) -> None:
    for _ in range(MAX_QUEUED - 1):
        service.evaluation(1)
    with pytest.raises(ConflictError, match="100 evaluations are queued"):
        service.evaluation(1)
    host(service, FakeEvaluator(service)).step()
    service.evaluation(1)


# What the gateway says.


def gateway(service: ServiceRig, refusals: int, status: int = 503) -> tuple[Evaluator, list[float]]:
    """An evaluator whose gateway is short of a member for so many requests, and how long it paused."""
    clock = FakeClock()
    left = [refusals]
    paused: list[float] = []

    def answer(_: httpx2.Request) -> httpx2.Response:
        left[0] -= 1
        if left[0] >= 0:
            return httpx2.Response(status, json={"detail": "2 of 3 members answered"})
        return httpx2.Response(200, json={"outputs": [[1.0]] * 2, "member_outputs": [[[1.0]] * 2] * 3})

    service.data.admin_token.write_text("token")
    client = httpx2.Client(transport=httpx2.MockTransport(answer), base_url="http://gateway")

    def pause(seconds: float) -> None:
        paused.append(seconds)
        clock.advance(seconds)

    return Evaluator(service.settings, client, clock=clock, pause=pause), paused


@pytest.mark.parametrize("status", [429, 503])
def test_a_member_that_comes_back_soon_is_waited_for(service: ServiceRig, status: int) -> None:
    evaluator, paused = gateway(service, 3, status)
    combined, members = evaluator._predict(1, 1, ROWS)
    assert (combined.shape, members.shape, paused) == ((2, 1), (3, 2, 1), [PAUSE_S] * 3)


def test_one_that_does_not_come_back_is_what_the_evaluation_fails_of(service: ServiceRig) -> None:
    evaluator, paused = gateway(service, 1000)
    with pytest.raises(EnsembleError, match="an evaluation needs all members: 2 of 3 members answered"):
        evaluator._predict(1, 1, ROWS)
    assert 0 < sum(paused) <= RETRY_S


def test_a_refusal_that_will_not_pass_is_not_waited_for(service: ServiceRig) -> None:
    evaluator, paused = gateway(service, 1, 409)
    with pytest.raises(EnsembleError, match="2 of 3"):
        evaluator._predict(1, 1, ROWS)
    assert paused == []


def test_the_gateway_is_asked_without_reading_certificate_authorities(
    service: ServiceRig, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("load_verify_locations", "load_default_certs"):
        monkeypatch.setattr(ssl.SSLContext, name, lambda *_args, **_options: pytest.fail("all authorities were read"))
    Evaluator(service.settings)._http().close()
