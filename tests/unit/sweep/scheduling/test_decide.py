"""Decisions are pure functions of state, message and time, and only its owner changes a state."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import pytest

from podium.sweep.lifecycle.database_changes import (
    AttemptEnded,
    AttemptPlaced,
    DeviceChanged,
    MetricPoint,
    TrialPlanned,
)
from podium.sweep.lifecycle.scheduler_inbox_messages import (
    Message,
    SlotEvents,
    SlotLost,
    SlotOpened,
    Stop,
    TrialProposed,
    Wake,
)
from podium.sweep.lifecycle.stored_sweeps import StoredSweep
from podium.sweep.protocol.slot_commands import StartAttempt, StopAttempt
from podium.sweep.runtime.layout import DataDirectory
from podium.sweep.scheduling.attempt_event_handler import EVENT_HANDLERS
from podium.sweep.scheduling.changes_and_actions import Decision, Instant
from podium.sweep.scheduling.command_handler import CommandHandler
from podium.sweep.scheduling.decide import MESSAGE_HANDLERS, decide, resolve_orphans, suspend
from podium.sweep.scheduling.disk_space_gate import FULL_S, JUST_FULL, reports_full_disk
from podium.sweep.scheduling.scheduler_state import SchedulerState
from podium.sweep.scheduling.search_and_cleanup_actions import (
    AskTrial,
    CleanUpAttempt,
    OpenSearch,
    ReportValue,
    TellTrial,
)
from podium.sweep.scheduling.trial_placement import place_trials, plan_asks
from podium.sweep.values.attempt_assignment import AttemptKey
from podium.sweep.values.device import Device
from podium.sweep.values.failure_causes import Cause
from podium.sweep.values.search_messages import TrialPlan
from podium.sweep.values.slot_events import Ended, Event, Reported
from podium.sweep.values.states import SweepState, TrialState
from tests.pure_modules import pure_modules
from tests.repository import ROOT
from tests.specs import spec

SCHEDULING = ROOT / "sweep" / "scheduling"
NOW = Instant(wall_s=1000.0, monotonic_s=50.0)
DEVICE = Device("cpu-0", "cpu", 0, "node", "", None, 100)
KEY = AttemptKey(8, 1)  # trials get ids from 8 on
DATA = DataDirectory(Path("data"))


def _state(salt: str = "salt", device: Device = DEVICE) -> SchedulerState:
    """One slot, and one sweep whose search was opened and asked for two trials."""
    state = SchedulerState(DATA, last_trial_id=7, salt=salt)
    stored = StoredSweep(1, SweepState.QUEUED, spec(run_cap=2).to_json(), 900.0, ())
    CommandHandler(state).activate(stored, NOW)
    decide(state, SlotOpened(device), NOW)
    plan_asks(state, NOW)
    return state


def _proposal(number: int = 0) -> TrialProposed:
    return TrialProposed(1, TrialPlan(number, {"lr": 0.01}, "random", {}), 0.1, None, 1)


def _running(device: Device = DEVICE) -> SchedulerState:
    """Its first trial runs on the slot."""
    state = _state(device=device)
    decide(state, _proposal(), NOW)
    place_trials(state, NOW)
    return state


def _event(number: int, event: Reported | Ended) -> SlotEvents:
    return SlotEvents("cpu-0", ((number, event),))


def _ended(state: TrialState = TrialState.FINISHED, cause: Cause | None = None) -> Ended:
    return Ended(KEY, state, 1000.0, 1001.0, value=0.5 if state is TrialState.FINISHED else None, cause=cause)


def test_new_sweep_opens_its_search_and_asks_ahead() -> None:
    state = SchedulerState(DATA, last_trial_id=7, salt="salt")
    stored = StoredSweep(1, SweepState.QUEUED, spec().to_json(), 900.0, ())
    decision = CommandHandler(state).activate(stored, NOW)
    assert decision.changes == [] and [type(action) for action in decision.actions] == [OpenSearch]
    decide(state, SlotOpened(DEVICE), NOW)
    assert [type(action) for action in plan_asks(state, NOW).actions] == [
        AskTrial,
        AskTrial,
    ]  # one for the slot, one ahead
    assert plan_asks(state, NOW).actions == [], "pending asks were sent again"


def test_proposal_becomes_trial_and_gets_free_slot() -> None:
    state = _state()
    (planned,) = decide(state, _proposal(), NOW).changes
    assert isinstance(planned, TrialPlanned) and (planned.trial_id, planned.at) == (8, NOW.wall_s)
    decision = place_trials(state, NOW)
    assert [type(change) for change in decision.changes][-1] is AttemptPlaced
    assert decision.actions == []
    assert [type(command) for command in state.ledger["cpu-0"].commands] == [StartAttempt]


def _placed(salt: str) -> tuple[AttemptPlaced, str]:
    """The first attempt of a scheduler with this salt, and the directory of its assignment."""
    state = _state(salt)
    decide(state, _proposal(), NOW)
    *_, placed = place_trials(state, NOW).changes
    (command,) = state.ledger["cpu-0"].commands
    assert isinstance(placed, AttemptPlaced) and isinstance(command, StartAttempt)
    return placed, command.assignment.directory


def test_folder_of_an_attempt_has_the_nonce_that_is_written() -> None:
    placed, directory = _placed("salt")
    assert re.fullmatch("[0-9a-f]{8}", placed.nonce)
    assert directory == DATA.relative(DATA.attempt(1, 0, 1, placed.nonce))


def test_same_numbers_after_a_restored_backup_get_another_folder() -> None:
    before, after = _placed("before"), _placed("after")
    assert before[0].key == after[0].key and before[1] != after[1]


def test_report_is_written_and_reaches_search_once() -> None:
    state = _running()
    report = _event(1, Reported(KEY, 3, 0.25, 1000.5))
    decision = decide(state, report, NOW)
    assert decision == Decision([MetricPoint(KEY, "score", 3, 0.25, 1000.5)], [ReportValue(1, 0, KEY, 3, 0.25)])
    assert decide(state, report, NOW) == Decision(), "an event that was not acknowledged was handled twice"


def test_end_is_written_and_told_to_search() -> None:
    state = _running()
    decision = decide(state, _event(1, _ended()), NOW)
    assert [change.state for change in decision.changes if isinstance(change, AttemptEnded)] == [TrialState.FINISHED]
    assert [(action.number, action.values) for action in decision.actions if isinstance(action, TellTrial)] == [
        (0, (0.5,))
    ]
    assert state.ledger["cpu-0"].free


def test_lost_slot_is_written_with_end_of_its_attempt() -> None:
    state = _running()
    decision = decide(state, SlotLost("cpu-0", "its process died"), NOW)
    device, attempt = decision.changes
    assert isinstance(device, DeviceChanged) and device.state == "lost"
    assert isinstance(attempt, AttemptEnded) and attempt.state is TrialState.WAITING, "it is repeated"
    assert decision.actions == [CleanUpAttempt(DATA.root / _placed("salt")[1])]
    assert decide(state, SlotLost("cpu-0", "its process died"), NOW) == Decision()


def test_stop_becomes_a_command_to_each_busy_slot() -> None:
    state = _running()
    assert decide(state, Stop(), NOW) == Decision()
    assert state.stopping
    assert [type(command) for command in state.ledger["cpu-0"].commands] == [StartAttempt, StopAttempt]
    suspended = suspend(state, NOW)
    assert [change.state for change in suspended.changes if isinstance(change, AttemptEnded)] == [TrialState.WAITING]


@pytest.mark.parametrize(
    ("state_of_end", "shortage", "reason", "later"),
    [
        (TrialState.CANCELLED, "", JUST_FULL, ""),
        (TrialState.CANCELLED, "3 MB left", "3 MB left", ""),
        (TrialState.FAILED, "3 MB left", "3 MB left", ""),
        (TrialState.FAILED, "", "", ""),
    ],
)
def test_full_data_disk_pauses_placement(state_of_end: TrialState, shortage: str, reason: str, later: str) -> None:
    state, message = _running(), _event(1, _ended(state_of_end, Cause.DISK_FULL))
    assert reports_full_disk(message)
    decide(state, message, Instant(NOW.wall_s, NOW.monotonic_s, shortage))
    assert state.disk.reason == reason
    state.disk.update(Instant(NOW.wall_s, NOW.monotonic_s + FULL_S))
    assert state.disk.reason == later
    assert not reports_full_disk(_event(2, _ended()))


def test_full_disk_of_another_machine_fails_the_attempt_and_stops_no_other() -> None:
    state = _running(Device("b:cpu-0", "cpu", 0, "node of b", "", None, 100))
    ended = _ended(TrialState.CANCELLED, Cause.DISK_FULL)
    decision = decide(state, SlotEvents("b:cpu-0", ((1, ended),)), NOW)
    (change,) = [change for change in decision.changes if isinstance(change, AttemptEnded)]
    assert change.event.state is TrialState.FAILED and change.event.cause is Cause.DISK_FULL
    assert state.disk.reason == ""
    (trial,) = state.sweeps.trials
    assert trial.avoided_node == "node of b"


def test_same_messages_give_same_decisions() -> None:
    messages: list[Message] = [
        _proposal(), Wake(), _proposal(1), _event(1, Reported(KEY, 3, 0.25, 1000.5)), _event(2, _ended()), Stop(),
    ]  # fmt: skip

    def replay() -> list[Decision]:
        state = _state()
        decisions: list[Decision] = []
        for message in messages:
            decisions += [decide(state, message, NOW), place_trials(state, NOW), plan_asks(state, NOW)]
        return [*decisions, resolve_orphans(state, lambda _: True, NOW), suspend(state, NOW)]

    assert replay() == replay()


def test_every_message_and_event_has_a_handler() -> None:
    assert MESSAGE_HANDLERS.keys() == set(get_args(Message))
    assert EVENT_HANDLERS.keys() == set(get_args(Event))


# Structure of the code.

OWNERS = [
    *pure_modules(SCHEDULING),
    *(SCHEDULING / f"{name}.py" for name in ("scheduler", "action_dispatcher", "change_buffer")),
]


@pytest.mark.parametrize("path", OWNERS, ids=lambda path: path.stem)
def test_only_owner_assigns_its_attributes(path: Path) -> None:
    """No assignment to attributes of anything but `self`; a class method may set up what it has just constructed."""
    assert list(_foreign_assignments(ast.parse(path.read_text()))) == []


def test_decisions_are_pure() -> None:
    pure = {path.stem for path in pure_modules(SCHEDULING)}
    assert {
        "decide",
        "changes_and_actions",
        "scheduler_state",
        "attempt_event_handler",
        "command_handler",
        "trial_placement",
    } <= pure
    assert not pure & {"scheduler", "action_dispatcher", "change_buffer"}


def test_scheduler_loop_is_under_300_lines() -> None:
    assert len((SCHEDULING / "scheduler.py").read_text().splitlines()) < 300


def _foreign_assignments(tree: ast.Module) -> Iterator[str]:
    for function in ast.walk(tree):
        if not isinstance(function, ast.FunctionDef):
            continue
        constructs = any(isinstance(d, ast.Name) and d.id == "classmethod" for d in function.decorator_list)
        for node in ast.walk(function):
            targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
            for target in targets if isinstance(node, ast.Assign | ast.AugAssign | ast.AnnAssign) else []:
                for attribute in ast.walk(target) if target is not None else ():
                    if isinstance(attribute, ast.Attribute) and isinstance(attribute.ctx, ast.Store):
                        owner = ast.unparse(attribute.value)
                        if owner != "self" and not constructs:
                            yield f"{function.name}: {ast.unparse(attribute)}"
