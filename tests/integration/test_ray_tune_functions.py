"""Unchanged functions of Ray Tune in a real trial process: their reports, checkpoints and pruning reach Podium."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from podium.sweep.runtime.attempt_directory import AttemptDirectory
from podium.sweep.values.failure_causes import Cause
from podium.sweep.values.slot_events import Ended, Logged, Reported
from podium.sweep.values.states import TrialState
from tests.driver import SlotDriver, prune_answer, run

pytest.importorskip("ray.tune", exc_type=ImportError, reason="ray[tune] is not installed")

FINISHED, FAILED, PRUNED = TrialState.FINISHED, TrialState.FAILED, TrialState.PRUNED


def _tune(function: str) -> dict[str, Any]:
    return {"function": f"with_tune:{function}", "argument": None, "preload": ["ray.tune"]}


@pytest.mark.parametrize(
    ("function", "value", "reports"),
    [
        ("reports", 2.25, [(1, 0.25), (2, 1.25), (3, 2.25)]),
        ("reports_by_a_bound_name", 0.25, [(1, 0.25)]),
        ("reports_through_train", 1.25, [(1, 0.25), (2, 1.25)]),
        ("reports_through_air", 0.25, [(1, 0.25)]),
        ("imports_late", 5.0, [(7, 4.0), (8, 5.0)]),
        ("returns_its_last_result", 2.0, [(1, 1.0)]),
    ],
)
def test_reports_are_recorded_and_last_one_is_value(
    slot: SlotDriver, function: str, value: float, reports: list[tuple[int, float]]
) -> None:
    events = slot.events(_tune(function))
    ended = events[-1]
    assert isinstance(ended, Ended)
    assert (ended.state, ended.value, ended.message) == (FINISHED, value, "")
    assert [(event.step, event.value) for event in events if isinstance(event, Reported)] == reports


@pytest.mark.parametrize(("rule", "score"), [("last", 0.5), ("max", 0.9)])
def test_missing_returned_objectives_are_completed_from_reports(slot: SlotDriver, rule: str, score: float) -> None:
    program = _tune("returns_a_part_of_its_result")
    assert slot.result(program, objectives=("score", "loss"), objective=rule).values == (score, 0.5)


def test_stop_condition_may_name_reported_epoch(slot: SlotDriver) -> None:
    ended = slot.result(_tune("reports_epochs_for_ever"), stop=(("epoch", 3),))
    assert (ended.state, ended.value, ended.message) == (FINISHED, 3.0, "stop: epoch 3 reached 3")


@pytest.mark.parametrize("function", ["reports_through_train", "continues_with_train", "looks_around"])
def test_ray_train_v1_is_supported(slot: SlotDriver, function: str) -> None:
    ended = slot.result({"function": f"with_tune_v1:{function}", "preload": ["ray.tune"]}, sweep_name="tuned")
    assert (ended.state, ended.message) == (FINISHED, "")


def test_other_metrics_are_curves_and_nested_ones_have_ray_names(slot: SlotDriver) -> None:
    logged = [event for event in slot.events(_tune("reports")) if isinstance(event, Logged)]
    assert logged[0].step == 1 and logged[0].values == {"loss": 1.0, "time/train": 0.5}


def test_several_objectives_use_last_value_of_each(slot: SlotDriver) -> None:
    ended = slot.result(_tune("returns_its_last_result"), objectives=("score", "loss"))
    assert ended.values == (2.0, 0.5)


def test_pruned_trial_ends_inside_report(slot: SlotDriver) -> None:
    new = slot.exchange(run(slot.assignment(_tune("reports"), prunable=True)))
    events = new
    while not isinstance(events[-1], Ended):
        new = slot.exchange(*[prune_answer(event, event.step == 2) for event in new if isinstance(event, Reported)])
        events = events + new
    ended = events[-1]
    assert isinstance(ended, Ended) and ended.state is PRUNED
    assert [event.step for event in events if isinstance(event, Reported)] == [1, 2]


@pytest.mark.parametrize(
    ("function", "cause", "message"),
    [
        ("reports_another_name", Cause.BAD_REPORT, "tune.report was called with 'mean_loss', but never with 'score'"),
        ("reports_nan_at_the_end", Cause.NON_FINITE, "report(value=nan): not finite"),
        ("reports_a_number", Cause.BAD_REPORT, "expected a dict of metrics by name"),
        ("asks_for_a_shard", Cause.USER_ERROR, "load the data in the function"),
    ],
)
def test_invalid_report_is_explained(slot: SlotDriver, function: str, cause: Cause, message: str) -> None:
    ended = slot.result(_tune(function))
    assert (ended.state, ended.cause) == (FAILED, cause)
    assert message in ended.message


def test_repeated_attempt_continues_from_last_reported_checkpoint(slot: SlotDriver, tmp_path: Path) -> None:
    first = slot.assignment(_tune("continues"), directory=str(tmp_path / "1"))
    ended = slot.end(run(first))
    assert (ended.state, "the first attempt ends here" in ended.message) == (FAILED, True)
    (kept,) = AttemptDirectory(tmp_path / "1").checkpoint_folders.iterdir()
    assert (kept / "data" / "deep" / "weights.bin").read_bytes() == b"x" * 1000
    second = slot.assignment(
        _tune("continues"), directory=str(tmp_path / "2"), attempt=2, trial_id=first.trial_id, keep_checkpoint=True
    )
    events = slot.until(lambda event: isinstance(event, Ended), run(second))
    last = events[-1]
    assert isinstance(last, Ended) and (last.state, last.value, last.message) == (FINISHED, 3.0, "")
    assert [(e.step, e.value) for e in events if isinstance(e, Reported)] == [(4, 3.0)]  # Ray's training_iteration
    assert AttemptDirectory(tmp_path / "2").log.read_text().endswith("began at 3\n")


def test_completed_trial_keeps_no_checkpoint_folder(slot: SlotDriver, tmp_path: Path) -> None:
    assignment = slot.assignment(_tune("continues_with_train"), directory=str(tmp_path / "1"))
    assert slot.end(run(assignment)).state is FINISHED
    directory = AttemptDirectory(tmp_path / "1")
    assert directory.log.read_text().endswith("found None new\n")
    slot.result(_tune("reports_by_a_bound_name"))  # its first call acknowledges the received events
    slot.wait(_gone(directory.checkpoint_folders))


async def _gone(path: Path) -> None:
    async with asyncio.timeout(30):
        while path.exists():
            await asyncio.sleep(0.005)


def test_context_is_of_trial_and_no_cluster_is_connected(slot: SlotDriver) -> None:
    ended = slot.result(_tune("looks_around"), sweep_name="tuned", trial_id=1)
    assert (ended.state, ended.message) == (FINISHED, "")
