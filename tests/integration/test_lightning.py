"""Lightning's Trainer in a trial: reports, pruning, and missing metrics."""

from __future__ import annotations

from typing import Any

import pytest

from podium.sweep.values.failure_causes import Cause
from podium.sweep.values.slot_events import Ended, Logged, Reported
from podium.sweep.values.states import TrialState
from tests.driver import SlotDriver, prune_answer, run

pytest.importorskip("lightning")


def _program(function: str = "objective") -> dict[str, Any]:
    return {"function": f"with_lightning:{function}", "preload": ["lightning"]}


def test_every_epoch_and_other_logged_metrics_are_reported(slot: SlotDriver) -> None:
    events = slot.events(_program())
    ended = events[-1]
    assert isinstance(ended, Ended)
    assert (ended.state, ended.message) == (TrialState.FINISHED, "")
    reports = [event for event in events if isinstance(event, Reported)]
    assert [report.step for report in reports] == [0, 1, 2, 3]
    assert reports[-1].value == ended.value
    assert [set(event.values) for event in events if isinstance(event, Logged)] == [{"error"}] * 4


def test_training_is_pruned(slot: SlotDriver) -> None:
    events = slot.exchange(run(slot.assignment(_program(), prunable=True)))
    steps: list[int] = []
    while not isinstance(events[-1], Ended):
        asked = [event for event in events if isinstance(event, Reported)]
        steps += [event.step for event in asked]
        events = slot.exchange(*[prune_answer(event, event.step == 1) for event in asked])
    assert (events[-1].state, steps) == (TrialState.PRUNED, [0, 1])


def test_monitor_that_is_never_logged_is_named(slot: SlotDriver) -> None:
    ended = slot.result(_program("monitors_nothing"))
    assert (ended.state, ended.cause) == (TrialState.FAILED, Cause.USER_ERROR)
    assert "monitor='accuracy': not among the logged metrics (error, score)" in ended.message
