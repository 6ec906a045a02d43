"""Evaluations run one at a time: the rows written before and after each, and a gateway that lacks a member."""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import numpy as np
import pytest

from podium.db.stores import ensemble_evaluations
from podium.db.stores.ensemble_evaluations import MAX_QUEUED, EvaluationRow
from podium.db.stores.ensemble_reader import EnsembleRow
from podium.ensemble.host.evaluator import PAUSE_S, RETRY_S, Evaluator, gateway_client
from podium.ensemble.host.queued_evaluation_runner import EvaluationQueue
from podium.sweep.values.errors import ConflictError, EnsembleError
from tests.fakes import FakeClock
from tests.service_rig import ServiceRig

ROWS = np.zeros((2, 3), np.float32)


class HostDied(BaseException):
    """An error that nothing catches, as when the process dies."""


class FakeEvaluator(Evaluator):
    """Returns or raises as the test specifies, and records the state in which it was called."""

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
    """A queued evaluation of posted rows."""
    sweep_id = service.sweep()
    found = service.evaluation(service.ensemble(sweep_id, [service.trial(sweep_id, 0, 0.9)]))
    service.data.posted_rows(found).write_bytes(b"rows")
    return found


def read(service: ServiceRig, evaluation_id: int) -> EvaluationRow:
    with service.database.read() as connection:
        return ensemble_evaluations.get(connection, evaluation_id)


def host(service: ServiceRig, evaluator: Evaluator) -> EvaluationQueue:
    """A new host."""
    return EvaluationQueue(service.settings, service.database, evaluator, FakeClock())


@pytest.mark.parametrize(
    ("ends", "state", "reason"),
    [
        (None, "finished", ""),
        (EnsembleError("no"), "failed", "no"),
        (ZeroDivisionError("by 0"), "failed", "ZeroDivisionError: by 0; see the host's log"),
    ],
)
def test_evaluation_becomes_terminal_and_its_rows_are_removed(
    service: ServiceRig, evaluation_id: int, ends: Exception | None, state: str, reason: str
) -> None:
    evaluator = FakeEvaluator(service, ends)
    host(service, evaluator).step()
    found = read(service, evaluation_id)
    assert (evaluator.saw, found.state, found.reason) == (["running"], state, reason)
    assert not service.data.posted_rows(evaluation_id).exists()


def test_evaluation_that_kills_its_host_is_retried_once_and_then_fails(service: ServiceRig, evaluation_id: int) -> None:
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


def test_retried_evaluation_can_finish(service: ServiceRig, evaluation_id: int) -> None:
    with pytest.raises(HostDied):
        host(service, FakeEvaluator(service, HostDied())).step()
    host(service, FakeEvaluator(service)).step()
    found = read(service, evaluation_id)
    assert (found.state, found.reason, found.result) == ("finished", "", {"rows": 2})


def test_number_of_queued_evaluations_is_limited(service: ServiceRig, evaluation_id: int) -> None:
    for _ in range(MAX_QUEUED - 1):
        service.evaluation(1)
    with pytest.raises(ConflictError, match="100 evaluations are queued"):
        service.evaluation(1)
    host(service, FakeEvaluator(service)).step()
    service.evaluation(1)


# Answers of the gateway.


def gateway(service: ServiceRig, refusals: int, status: int = 503) -> tuple[Evaluator, list[float]]:
    """An evaluator whose gateway lacks a member for `refusals` requests, and the pauses it made, in seconds."""
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

    return Evaluator(service.settings, client=client, clock=clock, pause=pause), paused


@pytest.mark.parametrize("status", [429, 503])
def test_evaluation_waits_for_a_member_that_recovers_soon(service: ServiceRig, status: int) -> None:
    evaluator, paused = gateway(service, 3, status)
    combined, members = evaluator.predict(1, 1, ROWS)
    assert (combined.shape, members.shape, paused) == ((2, 1), (3, 2, 1), [PAUSE_S] * 3)


def test_evaluation_fails_when_a_member_does_not_recover(service: ServiceRig) -> None:
    evaluator, paused = gateway(service, 1000)
    with pytest.raises(EnsembleError, match="an evaluation needs all members: 2 of 3 members answered"):
        evaluator.predict(1, 1, ROWS)
    assert 0 < sum(paused) <= RETRY_S


def test_permanent_refusal_is_not_retried(service: ServiceRig) -> None:
    evaluator, paused = gateway(service, 1, 409)
    with pytest.raises(EnsembleError, match="2 of 3"):
        evaluator.predict(1, 1, ROWS)
    assert paused == []


def test_gateway_client_does_not_read_certificate_authorities(
    service: ServiceRig, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("load_verify_locations", "load_default_certs"):
        monkeypatch.setattr(
            ssl.SSLContext, name, lambda *_args, **_options: pytest.fail("the certificate authorities were read")
        )
    gateway_client(service.settings).close()
