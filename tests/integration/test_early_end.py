"""Trials that finish early with their reports: at a stop condition, and at the time limit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from podium.sweep.runtime.attempt_directory import AttemptDirectory
from podium.sweep.values.attempt_assignment import Assignment, Limits
from podium.sweep.values.failure_causes import Cause
from podium.sweep.values.slot_events import Ended, Logged, Reported
from podium.sweep.values.states import TrialState
from tests.driver import SlotDriver, key_of, run, stop_command

FINISHED, FAILED, CANCELLED = TrialState.FINISHED, TrialState.FAILED, TrialState.CANCELLED
AT_LIMIT = Limits(trial_s=1.0, on_timeout="finish", grace_s=1.0)
SCRIPT = """
import json, os, time
SCORES = [0.2, 0.9, 0.4, 0.6, 0.5]
for step in range(1_000_000):
    with open(os.environ["PODIUM_METRICS"], "a") as file:
        file.write(json.dumps({"step": step, "loss": 1.0 / (step + 1), "score": SCORES[step % 5]}) + "\\n")
    time.sleep(0.02)
"""


def program(name: str) -> dict[str, Any]:
    return {"function": f"early:{name}"}


def script(folder: Path, text: str = SCRIPT) -> dict[str, Any]:
    folder.mkdir()
    (folder / "script.py").write_text(text)
    return {"command": ["python", "script.py"], "script": None, "metrics": {}, "env": {}}


@pytest.mark.parametrize(
    ("name", "rule", "value"),
    [("reports_then_sleeps", "last", 0.5), ("reports_then_sleeps", "max", 0.9), ("reports_then_sleeps", "min", 0.2)],
)
def test_trial_finishes_at_time_limit_with_configured_value(
    slot: SlotDriver, name: str, rule: str, value: float
) -> None:
    ended = slot.result(program(name), limits=AT_LIMIT, objective=rule)
    assert (ended.state, ended.value, ended.cause) == (FINISHED, value, None)
    assert ended.message == "exceeded limits.trial_s; finished with the values reported before"


def test_trial_finishes_at_time_limit_when_process_ignores_request(slot: SlotDriver) -> None:
    limits = Limits(trial_s=1.0, on_timeout="finish", grace_s=0.1)
    ended = slot.result(program("reports_then_loops_in_c"), limits=limits, objective="max")
    assert (ended.state, ended.value, ended.exit) == (FINISHED, 0.9, "SIGKILL")


def test_value_is_exact_when_curve_is_thinned(slot: SlotDriver) -> None:
    ended = slot.result(program("reports_much"), limits=Limits(trial_s=4, on_timeout="finish"), objective="max")
    assert (ended.state, ended.value) == (FINISHED, 2.0)


def test_time_limit_is_failure_without_report(slot: SlotDriver) -> None:
    ended = slot.result(program("reports_nothing"), limits=AT_LIMIT)
    assert (ended.state, ended.cause) == (FAILED, Cause.TIMEOUT)
    assert ended.message == "exceeded limits.trial_s, without having reported its metric"


def test_time_limit_is_failure_by_default(slot: SlotDriver) -> None:
    ended = slot.result(program("reports_then_sleeps"), limits=Limits(trial_s=1.0, grace_s=1.0))
    assert (ended.state, ended.cause) == (FAILED, Cause.TIMEOUT)


def test_trial_stopped_on_request_is_cancelled(slot: SlotDriver) -> None:
    assignment = slot.begin(program("reports_then_sleeps"), limits=Limits(trial_s=1000, on_timeout="finish"))
    ended = slot.end(stop_command(key_of(assignment)))
    assert (ended.state, ended.cause) == (CANCELLED, Cause.CANCELLED)


def test_other_objectives_are_from_the_same_step(slot: SlotDriver) -> None:
    ended = slot.result(program("has_two"), limits=AT_LIMIT, objective="max", objectives=("score", "size"))
    assert (ended.state, ended.values) == (FINISHED, (0.9, 11.0))


@pytest.mark.parametrize(
    ("name", "condition", "rule", "value", "steps", "message"),
    [
        ("reports", ("step", 3), "last", 0.6, 4, "stop: step 3 reached 3"),
        ("reports", ("step", 3), "max", 0.9, 4, "stop: step 3 reached 3"),
        ("reports", ("training_iteration", 3), "last", 0.4, 3, "stop: training_iteration 3 reached 3"),
        ("reports", ("score", 0.85), "last", 0.9, 2, "stop: score 0.9 reached 0.85"),
        ("yields_for_ever", ("training_iteration", 5), "last", 4.0, 5, "stop: training_iteration 5 reached 5"),
        ("yields_samples_and_epochs", ("epoch", 3), "last", 3.0, 4, "stop: epoch 3 reached 3"),
        (
            "yields_samples_and_epochs",
            ("training_iteration", 3),
            "last",
            2.0,
            3,
            "stop: training_iteration 3 reached 3",
        ),
        ("yields_samples_and_epochs", ("step", 3000), "last", 3.0, 4, "stop: step 3000 reached 3000"),
        ("logs_another_metric_first", ("seen", 250), "last", 0.6, 4, "stop: seen 300 reached 250"),
    ],
)
def test_stop_condition_ends_trial_as_finished(
    slot: SlotDriver, name: str, condition: tuple[str, float], rule: str, value: float, steps: int, message: str
) -> None:
    events = slot.events(program(name), stop=(condition,), objective=rule)
    ended = events[-1]
    assert isinstance(ended, Ended)
    assert (ended.state, ended.value, ended.cause, ended.message) == (FINISHED, value, None, message)
    assert sum(isinstance(event, Reported) for event in events) == steps


def test_user_code_can_clean_up_when_stopped(slot: SlotDriver) -> None:
    assignment = slot.assignment(program("cleans_up"), stop=(("step", 2),))
    ended = slot.end(run(assignment))
    assert (ended.state, ended.value, ended.exit) == (FINISHED, 0.4, "0")
    assert Path(assignment.directory, "cleaned").read_text() == "yes"


def test_stop_decision_holds_when_process_is_killed_afterwards(slot: SlotDriver) -> None:
    ended = slot.result(program("dies_after_the_decision"), stop=(("step", 2),), objective="max")
    assert (ended.state, ended.value, ended.exit) == (FINISHED, 0.9, "SIGKILL")


def test_process_that_swallows_stop_exception_is_killed_after_grace(slot: SlotDriver) -> None:
    ended = slot.result(program("swallows"), stop=(("step", 2),), limits=Limits(grace_s=0.2))
    assert (ended.state, ended.value, ended.exit) == (FINISHED, 0.4, "SIGKILL")


def test_stopped_trial_without_value_fails_with_reason(slot: SlotDriver) -> None:
    ended = slot.result(program("logs_without_its_metric"), stop=(("step", 2),))
    assert (ended.state, ended.cause) == (FAILED, Cause.BAD_REPORT)
    assert ended.message == "stop: step 2 reached 2, but the trial had not reported its metric"


@pytest.mark.parametrize(("rule", "value"), [("last", 0.5), ("max", 0.9)])
@pytest.mark.parametrize("name", ["returns_nothing_after_reports", "yields"])
def test_value_is_selected_from_reports_when_nothing_is_returned(
    slot: SlotDriver, name: str, rule: str, value: float
) -> None:
    ended = slot.result(program(name), objective=rule)
    assert (ended.state, ended.value) == (FINISHED, value)


def test_returned_value_takes_precedence_over_reports(slot: SlotDriver) -> None:
    assert slot.result(program("returns_its_own_value"), objective="max").value == 7.0


@pytest.mark.parametrize(("rule", "value"), [("last", 0.6), ("max", 0.9)])
def test_script_finishes_when_stop_condition_holds(slot: SlotDriver, tmp_path: Path, rule: str, value: float) -> None:
    code = tmp_path / "code"
    events = slot.events(script(code), code=str(code), stop=(("step", 3),), objective=rule)
    ended = events[-1]
    assert isinstance(ended, Ended)
    assert (ended.state, ended.value, ended.message) == (FINISHED, value, "stop: step 3 reached 3")
    assert [event.step for event in events if isinstance(event, Logged)] == [0, 1, 2, 3]


def test_script_finishes_with_best_value_at_time_limit(slot: SlotDriver, tmp_path: Path) -> None:
    code = tmp_path / "code"
    limits = Limits(trial_s=3, on_timeout="finish", grace_s=1.0)
    ended = slot.result(script(code), code=str(code), limits=limits, objective="max")
    assert (ended.state, ended.value) == (FINISHED, 0.9)


def test_script_that_ends_normally_has_configured_value(slot: SlotDriver, tmp_path: Path) -> None:
    code = tmp_path / "code"
    ended = slot.result(script(code, SCRIPT.replace("1_000_000", "5")), code=str(code), objective="max")
    assert (ended.state, ended.value) == (FINISHED, 0.9)


BUILTIN = {"model": "mlp", "data": {"name": "digits"}}


def fit(slot: SlotDriver, **changes: Any) -> tuple[Ended, list[Reported], Assignment]:
    params = {"hidden": 16, "lr": 0.01, "epochs": 10_000}
    split = {"split": [0.7, 0.1, 0.1, 0.1], "seed": 0}
    values: dict[str, Any] = {"metric": "val_accuracy", "params": params, "code": None, "split": split}
    assignment = slot.assignment(BUILTIN, **{**values, **changes})
    events = slot.until(lambda event: isinstance(event, Ended), run(assignment))
    assert isinstance(events[-1], Ended)
    return events[-1], [event for event in events if isinstance(event, Reported)], assignment


def test_builtin_loop_stops_after_epoch_and_keeps_model(slot: SlotDriver) -> None:
    ended, reports, assignment = fit(slot, stop=(("step", 3),))
    assert (ended.state, ended.message) == (FINISHED, "stop: step 3 reached 3")
    assert ended.value == max(report.value for report in reports)
    assert [report.step for report in reports] == [0, 1, 2, 3]
    directory = AttemptDirectory(Path(assignment.directory))
    assert directory.model.exists() and directory.predictions.exists()


def test_builtin_loop_ends_before_time_limit_and_keeps_model(slot: SlotDriver) -> None:
    ended, reports, assignment = fit(slot, limits=Limits(trial_s=8, on_timeout="finish"))
    assert (ended.state, ended.exit) == (FINISHED, "0")
    assert ended.message == "another epoch may exceed limits.trial_s (8 s)"
    assert ended.value == max(report.value for report in reports)
    assert AttemptDirectory(Path(assignment.directory)).model.exists()
