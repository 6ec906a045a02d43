"""Artifacts of functions and scripts in a real trial process: kept in the attempt's folder and reported."""

from __future__ import annotations

from pathlib import Path

from podium.sweep.runtime.layout import AttemptDirectory
from podium.sweep.values.assignment import Assignment
from podium.sweep.values.failure_causes import Cause
from podium.sweep.values.slot_events import Ended, Event, Saved
from podium.sweep.values.states import TrialState
from tests.driver import SlotDriver, run


def _events(slot: SlotDriver, assignment: Assignment) -> list[Event]:
    return slot.until(lambda event: isinstance(event, Ended), run(assignment))


def _saved(events: list[Event]) -> list[str]:
    return [event.name for event in events if isinstance(event, Saved)]


def test_function_saves_files_and_folders(slot: SlotDriver) -> None:
    assignment = slot.assignment({"function": "callables:saves_artifacts", "argument": None})
    events = _events(slot, assignment)
    assert isinstance(events[-1], Ended) and events[-1].state is TrialState.FINISHED, events[-1]
    assert _saved(events) == ["artifacts/plot.png", "artifacts/table.csv", "artifacts/figures.zip"]
    folder = AttemptDirectory(Path(assignment.directory)).artifacts
    assert (folder / "table.csv").read_bytes() == b"\x89PNG"
    assert not AttemptDirectory(Path(assignment.directory)).work.exists()


def test_missing_file_fails_trial(slot: SlotDriver) -> None:
    ended = slot.result({"function": "callables:saves_nothing_there", "argument": None})
    assert (ended.state, ended.cause) == (TrialState.FAILED, Cause.USER_ERROR)
    assert "save_artifact('nowhere.png'): no such file" in ended.message


def test_script_artifacts_are_kept_even_when_it_fails(slot: SlotDriver) -> None:
    words = 'printf png > "$PODIUM_ARTIFACTS/plot.png"; printf x > "$PODIUM_ARTIFACTS/not good"; echo score=0.5; exit '
    for status, state in ((0, TrialState.FINISHED), (3, TrialState.FAILED)):
        command = ["sh", "-c", f"{words}{status}"]
        program = {"command": command, "script": None, "metrics": {"score": "score=([0-9.]+)"}, "env": {}}
        assignment = slot.assignment(program)
        events = _events(slot, assignment)
        assert isinstance(events[-1], Ended) and events[-1].state is state, events[-1]
        assert _saved(events) == ["artifacts/plot.png"]
        directory = AttemptDirectory(Path(assignment.directory))
        assert (directory.artifacts / "plot.png").read_text() == "png"
        assert "podium: failed to save an artifact: save_artifact(" in directory.log.read_text()
