"""Artifacts of functions and scripts in a real trial process: kept in the attempt's folder and reported."""

from __future__ import annotations

from pathlib import Path

from podium.sweep.runtime.attempt_directory import AttemptDirectory
from podium.sweep.values.attempt_assignment import Assignment
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


def test_function_logs_images_while_it_runs(slot: SlotDriver) -> None:
    assignment = slot.assignment({"function": "callables:logs_images", "argument": None})
    events = _events(slot, assignment)
    assert isinstance(events[-1], Ended) and events[-1].state is TrialState.FINISHED, events[-1]
    assert _saved(events) == [
        f"artifacts/_images/{name}" for name in ("val~2Fsamples.0.png", "val~2Fsamples.1.png", "tensor.0.png")
    ]
    directory = AttemptDirectory(Path(assignment.directory))
    for name in _saved(events):
        assert (directory.root / name).read_bytes().startswith(b"\x89PNG\r\n\x1a\n")
    assert "refused: log_image('bad', step=0): an array must have the shape" in directory.log.read_text()


def test_script_logs_images_while_it_runs(slot: SlotDriver) -> None:
    words = (
        'mkdir "$PODIUM_ARTIFACTS/_images"; cd "$PODIUM_ARTIFACTS/_images"; printf "GIF89a" > x.tmp; '
        "mv x.tmp seen.3.gif; sleep 1; printf '<svg>' > drawing.0.png; echo score=0.5"
    )
    program = {"command": ["sh", "-c", words], "script": None, "metrics": {"score": "score=([0-9.]+)"}, "env": {}}
    assignment = slot.assignment(program)
    events = _events(slot, assignment)
    assert isinstance(events[-1], Ended) and events[-1].state is TrialState.FINISHED, events[-1]
    assert _saved(events) == ["artifacts/_images/seen.3.gif"]
    directory = AttemptDirectory(Path(assignment.directory))
    assert (directory.artifacts / "_images" / "seen.3.gif").read_bytes() == b"GIF89a"
    assert "podium: failed to log an image: log_image('drawing', step=0): not an image" in directory.log.read_text()


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
