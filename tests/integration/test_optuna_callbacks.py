"""`trial.study` and the callbacks of optuna-integration in a real trial process, with a simulated scheduler."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from podium.sweep.protocol.slot_commands import SlotCommand
from podium.sweep.runtime.attempt_directory import AttemptDirectory
from podium.sweep.values.attempt_assignment import Assignment
from podium.sweep.values.failure_causes import Cause
from podium.sweep.values.slot_events import Ended, Event, Reported, StopRequested, StudyRequested
from podium.sweep.values.states import TrialState
from tests.driver import SlotDriver, prune_answer, run, study_answer

FINISHED, PRUNED, FAILED = TrialState.FINISHED, TrialState.PRUNED, TrialState.FAILED


def _record(number: int, state: str = "finished", values: list[float] | None = None, **rest: Any) -> dict[str, Any]:
    plain = {"params": {"x": 0.5}, "distributions": {}, "user_attrs": {}, "constraints": {}}
    times = {"started_at": 1.0, "ended_at": None if state == "running" else 2.0}
    return {"id": number + 1, "number": number, "state": state, "values": values, **plain, **times, **rest}


TRIALS = [_record(1, values=[0.75], user_attrs={"note": "good"}), _record(2, "failed"), _record(0, "running")]
ANSWERS: dict[str, dict[str, Any]] = {
    "best": {"trials": [TRIALS[0]], "next": None},
    "trials": {"trials": TRIALS, "next": None},
    "curve": {"curve": [[0, 0.5], [1, 0.75]]},
}


def _events(
    slot: SlotDriver, assignment: Assignment, answers: dict[str, dict[str, Any]] = ANSWERS, prune_at: int = 99
) -> list[Event]:
    """Run an attempt, answering its questions."""
    new = slot.exchange(run(assignment))
    events = new
    while not isinstance(events[-1], Ended):
        commands: list[SlotCommand] = [
            prune_answer(e, e.step == prune_at) for e in new if isinstance(e, Reported) and assignment.prunable
        ]
        commands += [study_answer(e, answers[e.what]) for e in new if isinstance(e, StudyRequested)]
        new = slot.exchange(*commands)
        events = events + new
    return events


def _callbacks(slot: SlotDriver, function: str, **changes: Any) -> Assignment:
    program = {"function": f"callbacks:{function}", "argument": None}
    return slot.assignment(program, goals=("maximize",), sweep_name="third party", prunable=True, **changes)


def _end(events: list[Event]) -> Ended:
    ended = events[-1]
    assert isinstance(ended, Ended)
    return ended


@pytest.mark.parametrize(
    ("function", "package", "reports"),
    [
        # tests/integration/third_party runs these callbacks on a service.
        pytest.param("with_lightgbm", "lightgbm", 5, marks=pytest.mark.slow),
        pytest.param("with_xgboost", "xgboost", 5, marks=pytest.mark.slow),
        pytest.param("with_lightning", "lightning", 3, marks=pytest.mark.slow),
        ("with_keras_callback", "optuna", 5),
    ],
)
def test_pruning_callback_reports_and_prunes(slot: SlotDriver, function: str, package: str, reports: int) -> None:
    pytest.importorskip(package)
    pytest.importorskip("optuna_integration")
    events = _events(slot, _callbacks(slot, function))
    ended = _end(events)
    assert (ended.state, ended.message) == (FINISHED, "")
    assert [event.step for event in events if isinstance(event, Reported)] == list(range(reports))
    pruned = _events(slot, _callbacks(slot, function), prune_at=1)
    assert _end(pruned).state is PRUNED, _end(pruned).message
    assert [event.step for event in pruned if isinstance(event, Reported)] == [0, 1]


@pytest.mark.slow
def test_callback_with_opposite_direction_is_refused_with_its_own_message(slot: SlotDriver) -> None:
    pytest.importorskip("lightgbm")
    program = {"function": "callbacks:with_lightgbm", "argument": None}
    ended = _end(_events(slot, slot.assignment(program, goals=("minimize",))))
    assert (ended.state, ended.cause) == (FAILED, Cause.USER_ERROR)
    assert "inconsistent with the objective values in terms of study directions" in ended.message


def test_callback_may_write_attributes_to_storage(slot: SlotDriver) -> None:
    assert _end(_events(slot, _callbacks(slot, "notes_in_the_storage"))).value == 0.5


def test_trial_reads_its_study(slot: SlotDriver) -> None:
    assignment = _callbacks(slot, "reads_its_study")
    ended = _end(_events(slot, assignment))
    assert (ended.state, ended.value, ended.message) == (FINISHED, 0.75, "")
    log = AttemptDirectory(Path(assignment.directory)).log.read_text()
    assert log == "[(1, 0.75, {'x': 0.5}, {'note': 'good'})]\n"


def test_response_larger_than_socket_buffer_is_complete(slot: SlotDriver) -> None:
    many = [_record(number, values=[0.5], user_attrs={"text": "x" * 10_000}) for number in range(500)]  # 5 MB
    pages = ANSWERS | {"trials": {"trials": [TRIALS[0], *many, TRIALS[2]], "next": None}}
    ended = _end(_events(slot, _callbacks(slot, "reads_its_study"), pages))
    assert (ended.state, ended.message) == (FINISHED, "")


def test_best_value_is_value_error_without_finished_trial(slot: SlotDriver) -> None:
    none: dict[str, dict[str, Any]] = {"best": {"trials": [], "next": None}}
    ended = _end(_events(slot, _callbacks(slot, "has_no_best_yet"), none))
    assert (ended.state, ended.value) == (FINISHED, 0.25)


def test_stop_is_requested_once(slot: SlotDriver) -> None:
    events = _events(slot, _callbacks(slot, "stops_its_study"))
    assert len([event for event in events if isinstance(event, StopRequested)]) == 1
    assert _end(events).state is FINISHED


def test_unsupported_study_operation_suggests_alternative(slot: SlotDriver) -> None:
    ended = _end(_events(slot, _callbacks(slot, "optimizes_its_study")))
    assert (ended.state, ended.cause) == (FAILED, Cause.USER_ERROR)
    assert "trial.study.optimize is not available in a trial: the service runs the trials" in ended.message
