"""Scripts and functions that use the real wandb, unchanged: sampled values in, metrics out, and no network."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from podium.sweep.runtime.attempt_directory import AttemptDirectory
from podium.sweep.values.attempt_assignment import Assignment
from podium.sweep.values.failure_causes import Cause
from podium.sweep.values.slot_events import Ended, Event, Logged, Reported, Saved
from podium.sweep.values.states import TrialState
from tests.driver import SlotDriver, prune_answer, run

pytest.importorskip("wandb")
CODE = str(Path(__file__).parent / "wandb_code")
FINISHED, FAILED, PRUNED = TrialState.FINISHED, TrialState.FAILED, TrialState.PRUNED


def _script(what: str, *more: str, **env: str) -> dict[str, Any]:
    return {"command": ["python", "wandb_script.py", what, *more], "script": None, "metrics": {}, "env": env}


def _reports(events: list[Event]) -> list[tuple[int, float]]:
    return [(event.step, event.value) for event in events if isinstance(event, Reported)]


def _logs(events: list[Event]) -> dict[str, list[tuple[int, float]]]:
    found: dict[str, list[tuple[int, float]]] = {}
    for event in events:
        if isinstance(event, Logged):
            for name, value in event.values.items():
                found.setdefault(name, []).append((event.step, value))
    return found


def _ended(events: list[Event]) -> Ended:
    assert isinstance(events[-1], Ended)
    return events[-1]


def _log(assignment: Assignment) -> str:
    return AttemptDirectory(Path(assignment.directory)).log.read_text()


def test_script_reads_sampled_values_from_config(slot: SlotDriver) -> None:
    events = slot.events(code=CODE, program=_script("uses_config"), params={"x": 1e-05, "act": "relu"})
    assert _reports(events) == [(0, 1e-05), (10, 1.00001), (20, 2.00001)]
    assert _logs(events) == {"nested.loss": [(0, 1.0), (10, 0.5), (20, 1 / 3)]}
    assert (_ended(events).state, _ended(events).value) == (FINISHED, 2.00001)


def test_images_of_a_script_are_kept_by_step(slot: SlotDriver) -> None:
    pytest.importorskip("PIL")
    events = slot.events(code=CODE, program=_script("logs_images"))
    saved = sorted(event.name for event in events if isinstance(event, Saved))
    assert saved == [f"artifacts/_images/val~2Fsamples.{step}.png" for step in (0, 1)]
    assert _ended(events).state is FINISHED


def test_script_receives_sampled_values_as_arguments(slot: SlotDriver) -> None:
    events = slot.events(code=CODE, program=_script("uses_argparse", "${args}"))
    assert _reports(events) == [(0, 0.25), (1, 0.25), (2, 0.25)]
    assert _logs(events) == {"loss": [(0, 0.5), (1, 0.5), (2, 0.5)]}
    assert _ended(events).value == 0.25


@pytest.mark.parametrize(
    ("what", "objectives", "values"),
    [
        pytest.param("sets_summary", ("score", "best"), (0.25, 5.0), marks=pytest.mark.slow),
        ("defines_metric", ("score", "score.max"), (3.0, 3.0)),
        pytest.param("is_disabled", ("score",), (0.25,), marks=pytest.mark.slow),
        ("starts_a_child", ("score", "nested.loss"), (2.25, 1 / 3)),
        pytest.param("logs_many", ("score", "metric 5"), (0.25, 7.0), marks=pytest.mark.slow),
    ],
)
def test_value_is_last_logged_or_summary_value(
    slot: SlotDriver, what: str, objectives: tuple[str, ...], values: tuple[float, ...]
) -> None:
    ended = slot.result(code=CODE, program=_script(what), objectives=objectives)
    assert (ended.state, ended.values, ended.message) == (FINISHED, values, "")


@pytest.mark.parametrize("mode", ["offline", pytest.param("disabled", marks=pytest.mark.slow)])
def test_later_defaults_do_not_replace_sampled_values(slot: SlotDriver, mode: str) -> None:
    ended = slot.result(code=CODE, program=_script("sets_defaults_later", mode))
    assert (ended.state, ended.value, ended.message) == (FINISHED, 0.25, "")


@pytest.mark.slow
def test_nested_parameter_is_nested_in_config(slot: SlotDriver) -> None:
    code = (
        "import wandb; run = wandb.init(config={'optimizer': {'lr': 9}}); c = run.config;"
        "run.log({'score': c['optimizer']['lr'] + c['optimizer.lr']})"
    )
    program = {**_script(""), "command": ["python", "-c", code]}
    assert slot.result(code=CODE, program=program, params={"optimizer.lr": 0.25}).value == 0.5


def test_non_finite_value_fails_trial_immediately(slot: SlotDriver) -> None:
    ended = slot.result(code=CODE, program=_script("diverges"))
    assert (ended.state, ended.cause, ended.value) == (FAILED, Cause.NON_FINITE, None)


def test_script_is_pruned_by_logged_values(slot: SlotDriver) -> None:
    assignment = slot.assignment(code=CODE, program=_script("logs_for_ever"), prunable=True)
    events = slot.exchange(run(assignment))
    while not isinstance(events[-1], Ended):
        events = slot.exchange(*[prune_answer(e, e.step >= 2) for e in events if isinstance(e, Reported)])
    assert events[-1].state is PRUNED


def test_run_is_offline_and_leaves_no_files_in_working_directory(slot: SlotDriver) -> None:
    assignment = slot.assignment(code=CODE, program=_script("shows_where"))
    assert slot.until(lambda event: isinstance(event, Ended), run(assignment))
    assert "offline: True next to the script: False" in _log(assignment)


@pytest.mark.slow
def test_settings_of_user_are_kept(slot: SlotDriver, tmp_path: Path) -> None:
    assignment = slot.assignment(
        code=CODE, program=_script("shows_where", WANDB_MODE="offline", WANDB_DIR=str(tmp_path))
    )
    assert slot.end(run(assignment)).state is FINISHED
    assert [file.suffix for file in tmp_path.rglob("*.wandb")] == [".wandb"]
    assert "wandb: Run data is saved locally" in _log(assignment)  # its console is not quiet either


def test_script_without_wandb_shows_its_own_error(slot: SlotDriver, tmp_path: Path) -> None:
    (tmp_path / "python").symlink_to(Path("/usr/bin/python3"))
    program = {**_script(""), "command": ["/usr/bin/env", "-S", "/usr/bin/python3", "-c", "import wandb"]}
    if not Path("/usr/bin/python3").exists():
        pytest.skip("there is no other Python")
    ended = slot.result(code=CODE, program=program)
    assert (ended.cause, "No module named 'wandb'" in ended.message) == (Cause.USER_ERROR, True)


def _function(name: str) -> dict[str, Any]:
    return {"function": f"wandb_functions:{name}", "preload": ["wandb"]}


@pytest.mark.parametrize(
    ("name", "value", "reports"),
    [
        ("train", 2.25, [(0, 0.25), (1, 1.25), (2, 2.25)]),
        pytest.param("train_with_config", 0.25, [(0, 5.0)], marks=pytest.mark.slow),
        pytest.param("objective", 0.5, [(0, 0.5), (1, 0.5), (2, 0.5)], marks=pytest.mark.slow),
        ("logs_from_a_thread", 2.0, [(0, 2.0)]),
    ],
)
def test_function_that_logs_to_wandb_is_recorded(
    slot: SlotDriver, name: str, value: float, reports: list[tuple[int, float]]
) -> None:
    events = slot.events(code=CODE, program=_function(name))
    assert (_ended(events).state, _ended(events).value, _ended(events).message) == (FINISHED, value, "")
    assert _reports(events) == reports


@pytest.mark.slow
def test_function_that_logs_infinity_fails(slot: SlotDriver) -> None:
    ended = slot.result(code=CODE, program=_function("diverges"))
    assert (ended.cause, "wandb.log({'score': inf}): not finite" in ended.message) == (Cause.NON_FINITE, True)


@pytest.mark.slow
def test_function_is_pruned_by_logged_values(slot: SlotDriver) -> None:
    assignment = slot.assignment(code=CODE, program=_function("logs_for_ever"), prunable=True)
    events = slot.exchange(run(assignment))
    while not isinstance(events[-1], Ended):
        events = slot.exchange(*[prune_answer(e, e.step >= 2) for e in events if isinstance(e, Reported)])
    assert events[-1].state is PRUNED
