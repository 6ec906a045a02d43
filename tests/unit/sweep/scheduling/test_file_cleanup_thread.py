"""Files of attempts whose slot died are removed, except kept files and those of running attempts."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from podium.sweep.runtime.attempt_directory import AttemptDirectory
from podium.sweep.runtime.layout import DataDirectory
from podium.sweep.scheduling.file_cleanup_thread import clean_up_attempt, clean_up_before
from podium.sweep.values.failure_causes import Cause
from tests.rig import DATA, Rig

BEFORE, START, AFTER = 1000.0, 2000.0, 3000.0


@pytest.fixture
def data(tmp_path: Path) -> DataDirectory:
    found = DataDirectory(tmp_path / "data")
    found.prepare()
    return found


def attempt(data: DataDirectory, number: int, touched_at: float) -> AttemptDirectory:
    """The folder of an interrupted attempt."""
    directory = AttemptDirectory(data.attempt(1, number, 1, f"{number:08x}"))
    directory.prepare()
    (directory.work / "big").write_text("x")
    directory.log.write_text("printed")
    (directory.root / ".model.safetensors.5.tmp").write_text("half")
    os.utime(directory.root, (touched_at, touched_at))
    return directory


def remaining(directory: AttemptDirectory) -> set[str]:
    return {path.name for path in directory.root.iterdir()}


def test_cleanup_keeps_the_log(data: DataDirectory) -> None:
    directory = attempt(data, 0, BEFORE)
    clean_up_attempt(directory.root)
    assert remaining(directory) == {"log"}


def test_cleanup_of_missing_folder_does_nothing(tmp_path: Path) -> None:
    clean_up_attempt(tmp_path / "nothing")


def test_cleanup_skips_running_and_later_attempts(data: DataDirectory) -> None:
    old, running, new = (attempt(data, number, at) for number, at in enumerate((BEFORE, BEFORE, AFTER)))
    clean_up_before(data.trials, START, frozenset({running.root}))
    assert remaining(old) == {"log"}
    assert remaining(running) == remaining(new) == {"log", "work", "tmp", ".model.safetensors.5.tmp"}


def test_scheduler_cleans_up_lost_attempts_and_lists_folders_in_use(rig: Rig) -> None:
    rig.submit(run_cap=3)
    first = rig.scheduler.folders_in_use()
    rig.pool.lose("cpu-0")
    rig.settle()
    assert rig.cleaned_up == list(first)
    running = rig.pool["cpu-0"].running
    assert running is not None and running.attempt == 2
    assert rig.scheduler.folders_in_use() == {DATA.root / running.directory}
    rig.pool.fail("cpu-0", Cause.USER_ERROR)
    rig.settle()
    assert rig.cleaned_up == list(first), "the slot has already cleaned up"
