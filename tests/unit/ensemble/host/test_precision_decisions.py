"""Precisions of members are measured before their workers start, decided once, and kept by restarts and rollbacks."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from podium.db.integrity.row_checks import breaches
from podium.ensemble.building import saved_trial_outputs
from podium.ensemble.building.saved_trial_outputs import Architecture
from podium.ensemble.host.precision_decisions import ATTEMPTS, PrecisionDecisions
from podium.ensemble.values.ensemble_spec import Mode, Precision, Task
from podium.ensemble.values.ensemble_states import EnsembleState
from podium.ensemble.values.precision_selection import PrecisionFigures
from podium.ensemble.worker.precision_measurement_messages import MeasurementRequest, MeasurementResult
from podium.sweep.values.errors import EnsembleError
from tests.host_rig import HostRig

FLOAT32, INT8 = Precision.FLOAT32, Precision.INT8
DATA: dict[str, Any] = {"name": "digits"}


class FakeMeasurement:
    """Returns figures in which a precision is twice as fast and as good as float32, unless a test changes them."""

    def __init__(self) -> None:
        self.asked: list[MeasurementRequest] = []
        self.changes: dict[str, Any] = {}
        self.fails = ""
        self.problem = ""

    def __call__(self, request: MeasurementRequest) -> MeasurementResult:
        self.asked.append(request)
        if self.fails:
            raise EnsembleError(self.fails)
        if self.problem:
            return MeasurementResult(problem=self.problem)
        base = PrecisionFigures(FLOAT32, 0.2, 0.9, (100.0, 1000.0), 4000, 9000)
        other = replace(base, precision=request.precisions[1], p50_us=(50.0, 500.0), weights_bytes=1000)
        return MeasurementResult((base, replace(other, **self.changes)), 400, "cpu")


@pytest.fixture
def rig(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[HostRig]:
    """Two devices and three trials, which were trained on digits."""
    architecture = Architecture(Task.CLASSIFICATION, ("cat", "dog"), 3, DATA, {})
    monkeypatch.setattr(saved_trial_outputs, "read_architecture", lambda *_: architecture)
    made = HostRig(tmp_path, "cpu-0", "cpu-1")
    yield made
    made.close()


@pytest.fixture
def measure() -> FakeMeasurement:
    return FakeMeasurement()


Decide = Callable[[], None]


@pytest.fixture
def decide(rig: HostRig, measure: FakeMeasurement) -> Decide:
    return PrecisionDecisions(rig.service.settings, rig.service.database, measure, lambda: None).step


def used(rig: HostRig, version: int = 1) -> list[Precision | None]:
    return [member.precision for member in rig.row().versions[version].members]


def test_workers_start_when_their_precision_is_measured(rig: HostRig, decide: Decide, measure: FakeMeasurement) -> None:
    rig.build(precisions=(INT8, FLOAT32, INT8))
    rig.step()
    assert [worker.config.assignment.files[0].precision for worker in rig.workers.placed] == ["float32"]
    assert "measuring int8 on calibration rows" in rig.row().reason
    decide()
    rig.become_ready()
    assert used(rig) == [INT8, FLOAT32, INT8]
    started = {w.config.assignment.name: w.config.assignment.files[0].precision for w in rig.workers.placed}
    assert started == {"worker-1-1-0-0-1": "int8", "worker-1-1-1-0-1": "float32", "worker-1-1-2-0-1": "int8"}
    assert rig.row().state is EnsembleState.READY
    (first, _) = measure.asked
    assert (first.split, first.precisions, first.posted) == ("calibration", (FLOAT32, INT8), "")


def test_in_graph_process_waits_for_all_of_its_members(rig: HostRig, decide: Decide) -> None:
    rig.build(mode=Mode.IN_GRAPH, precisions=(FLOAT32, INT8, FLOAT32), quorum=3)
    rig.step()
    assert rig.workers.placed == []
    decide()
    rig.step()
    (worker,) = rig.workers.placed
    assert [file.precision for file in worker.config.assignment.files] == ["float32", "int8", "float32"]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"loss": 0.21}, "loss rises by 5.00%"),
        ({"p50_us": (100.0, 1000.0), "weights_bytes": 4000}, "nothing is gained"),
    ],
    ids=["loss", "gain"],
)
def test_member_that_loses_or_gains_nothing_runs_in_float32(
    rig: HostRig, decide: Decide, measure: FakeMeasurement, changes: dict[str, Any], words: str
) -> None:
    measure.changes = changes
    rig.build(precisions=(INT8,) * 3)
    decide()
    rig.step()
    assert used(rig) == [FLOAT32] * 3
    assert {worker.config.assignment.files[0].precision for worker in rig.workers.placed} == {"float32"}
    measured = rig.row().active.members[0].measured
    assert measured is not None and words in measured.reason and len(measured.figures) == 2


def test_limit_of_the_loss_is_that_of_the_version(rig: HostRig, decide: Decide, measure: FakeMeasurement) -> None:
    measure.changes = {"loss": 0.21}
    rig.build(precisions=(INT8,) * 3, max_loss_increase=0.06)
    decide()
    assert used(rig) == [INT8] * 3


def test_decision_is_kept_by_restarts_of_host_and_worker(
    rig: HostRig, decide: Decide, measure: FakeMeasurement
) -> None:
    rig.build(precisions=(INT8,) * 3)
    decide()
    rig.become_ready()
    measure.changes = {"loss": 9.0}
    rig.die("worker-1-1-0-0-1")
    rig.step(60.0)
    rig.restart()
    decide()
    rig.step()
    assert rig.workers["worker-1-1-0-0-2"].config.assignment.files[0].precision == "int8"
    assert len(measure.asked) == 3


def test_versions_have_their_own_precisions_and_a_rollback_returns_to_them(
    rig: HostRig, decide: Decide, measure: FakeMeasurement
) -> None:
    rig.build()
    rig.become_ready()
    assert rig.add_version(precisions=(INT8,) * 3) == 2
    decide()
    rig.become_ready()
    assert (rig.row().version, used(rig, 1), used(rig, 2)) == (2, [FLOAT32] * 3, [INT8] * 3)
    rig.change("roll_back")
    rig.become_ready()
    assert rig.row().version == 1
    first = [w.config.assignment for w in rig.workers.running if w.config.assignment.name.startswith("worker-1-1-")]
    assert [assignment.files[0].precision for assignment in first] == ["float32"] * 3
    assert len(measure.asked) == 3


def test_measurement_without_a_result_is_repeated_and_then_given_up(
    rig: HostRig, decide: Decide, measure: FakeMeasurement
) -> None:
    rig.build(precisions=(INT8, FLOAT32, FLOAT32))
    measure.fails = "the process that measures precisions ended without a result"
    for _ in range(ATTEMPTS - 1):
        decide()
        assert used(rig)[0] is None
    decide()
    measured = rig.row().active.members[0].measured
    assert measured is not None and measured.precision is FLOAT32
    assert "in 3 attempts" in measured.reason and measure.fails in measured.reason


def test_problem_of_the_rows_is_the_reason(rig: HostRig, decide: Decide, measure: FakeMeasurement) -> None:
    measure.problem = "the rows of digits have changed"
    rig.build(precisions=(INT8, FLOAT32, FLOAT32))
    decide()
    measured = rig.row().active.members[0].measured
    assert measured is not None and measured.precision is FLOAT32
    assert "the rows of digits have changed" in measured.reason


def test_trial_with_its_own_data_runs_in_float32(
    rig: HostRig, decide: Decide, measure: FakeMeasurement, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = Architecture(Task.CLASSIFICATION, ("cat", "dog"), 3, None, {})
    monkeypatch.setattr(saved_trial_outputs, "read_architecture", lambda *_: own)
    rig.build(precisions=(INT8, FLOAT32, FLOAT32))
    decide()
    measured = rig.row().active.members[0].measured
    assert measured is not None and measured.precision is FLOAT32
    assert "loaded its own data" in measured.reason
    assert measure.asked == []


def test_doctor_finds_a_member_that_was_started_before_it_was_measured(rig: HostRig, decide: Decide) -> None:
    rig.build(precisions=(INT8,) * 3)
    decide()
    rig.become_ready()
    with rig.service.database.write() as connection:
        assert not [breach for breach in breaches(connection) if "before its precision" in breach.wrong]
        connection.execute(text("UPDATE ensemble_members SET measured_precision = NULL WHERE position = 1"))
    with rig.service.database.read() as connection:
        (found,) = [breach for breach in breaches(connection) if "before its precision" in breach.wrong]
    assert "int8" in found.wrong


def test_requests_and_results_are_plain_json() -> None:
    from podium.ensemble.worker.model_file_spec import ModelFile

    request = MeasurementRequest(ModelFile("m", "0a", 0, "d"), (FLOAT32, INT8), threads=2, split="calibration")
    assert MeasurementRequest.from_json(request.to_json()) == request
    result = MeasurementResult((PrecisionFigures(INT8, 0.1, None, (1.0, 2.0)),), 3, "cpu", "")
    assert MeasurementResult.from_line(result.to_line()) == result
    assert json.loads(result.to_line())["figures"][0]["precision"] == "int8"
