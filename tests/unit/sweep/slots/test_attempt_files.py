"""Whether an attempt on a node has left something to send."""

from __future__ import annotations

from pathlib import Path

import pytest

from podium.sweep.runtime.attempt_directory import AttemptDirectory
from podium.sweep.slots.attempt_files import AgentFiles
from podium.sweep.values.attempt_assignment import Assignment


@pytest.fixture
def directory(tmp_path: Path) -> AttemptDirectory:
    made = AttemptDirectory(tmp_path / "1-0123abcd")
    made.prepare()
    made.log.touch()
    return made


def sends(directory: AttemptDirectory) -> bool:
    assignment = Assignment(
        sweep_id=1, trial_id=1, number=0, attempt=1, params={}, seed=0, metric="value", program={}, split={},
        directory=str(directory.root), data_cache="",
    )  # fmt: skip
    return AgentFiles(directory.root / "agent.sock").sends(assignment)


def test_attempt_without_output_and_files_sends_nothing(directory: AttemptDirectory) -> None:
    (directory.work / "large").touch()  # large folders are removed in the background
    assert not sends(directory)


@pytest.mark.parametrize("name", ["log", "model.safetensors", "checkpoint.safetensors"])
def test_output_and_files_are_sent(directory: AttemptDirectory, name: str) -> None:
    (directory.root / name).write_text("x")
    assert sends(directory)


def test_folder_that_cannot_be_read_is_left_to_the_agent(tmp_path: Path) -> None:
    assert sends(AttemptDirectory(tmp_path / "removed"))
