"""A full file system: if it is the data disk, the attempt is interrupted; otherwise the trial fails."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from podium.sweep.runtime import disk_full_cause
from podium.sweep.runtime.attempt_directory import AttemptDirectory
from podium.sweep.runtime.disk_space_check import DiskSpace
from podium.sweep.slots.outcome_classification import attempt_outcome
from podium.sweep.values.attempt_assignment import Assignment, Limits
from podium.sweep.values.attempt_outcomes import ReportedOutcome
from podium.sweep.values.failure_causes import Cause
from podium.sweep.values.states import TrialState

MB = 1 << 20
FULL = OSError(errno.ENOSPC, "No space left on device", "/dev/shm/torch_1")


def _assignment(folder: Path, work_dir_mb: float | None = 1024.0) -> Assignment:
    AttemptDirectory(folder).prepare()
    return Assignment(
        1, 1, 0, 1, {}, 0, "loss", {}, {}, str(folder), "cache", limits=Limits(work_dir_mb=work_dir_mb)
    )  # fmt: skip


def _room(free_bytes: int, needed_bytes: int = 64 * MB) -> Callable[[Path], DiskSpace]:
    """A data disk with this free space."""
    return lambda path: DiskSpace(str(path), free_bytes, needed_bytes)


def test_full_data_disk_interrupts_attempt(tmp_path: Path) -> None:
    cause, message, interrupted = disk_full_cause.classify_full_disk(
        FULL, "OSError: x", _assignment(tmp_path), room_of=_room(0)
    )
    assert (cause, interrupted) == (Cause.DISK_FULL, True)
    assert message == "no space left on the disk of the data directory: OSError: x"


def test_other_full_file_system_fails_trial_and_is_named(tmp_path: Path) -> None:
    cause, message, interrupted = disk_full_cause.classify_full_disk(
        FULL, "OSError: x", _assignment(tmp_path), room_of=_room(500 * MB)
    )
    assert (cause, interrupted) == (Cause.DISK_FULL, False)
    assert message == "no space left on the file system of /dev/shm (the data disk is not full): OSError: x"


def test_unknown_full_file_system_fails_trial(tmp_path: Path) -> None:
    error = RuntimeError("No space left on device")
    _, message, _ = disk_full_cause.classify_full_disk(
        error, "RuntimeError: x", _assignment(tmp_path), room_of=_room(500 * MB), local_mounts=list
    )
    assert message.startswith("no space left on an unknown file system (the data disk is not full)")


def test_data_disk_filled_by_trial_fails_it(tmp_path: Path) -> None:
    assignment = _assignment(tmp_path)
    (tmp_path / "work" / "big").write_bytes(bytes(2 * MB))
    cause, message, interrupted = disk_full_cause.classify_full_disk(
        FULL, "OSError: x", assignment, room_of=_room(0, MB)
    )
    assert (cause, interrupted) == (Cause.DISK_FULL, False)
    assert "where this trial's own files use 2 MB" in message


def test_exceeded_quota_is_reported_on_full_disk(tmp_path: Path) -> None:
    assignment = _assignment(tmp_path, work_dir_mb=1)
    (tmp_path / "work" / "big").write_bytes(bytes(2 * MB))
    cause, _, interrupted = disk_full_cause.classify_full_disk(FULL, "OSError: x", assignment, room_of=_room(0))
    assert (cause, interrupted) == (Cause.DISK_QUOTA, False)


@pytest.mark.parametrize(("interrupted", "state"), [(True, TrialState.CANCELLED), (False, TrialState.FAILED)])
def test_interrupted_attempt_is_not_a_failure(interrupted: bool, state: TrialState) -> None:
    report = ReportedOutcome(TrialState.FAILED, cause=Cause.DISK_FULL, message="x", interrupted=interrupted)
    verdict = attempt_outcome(report, 0, None)
    assert (verdict["state"], verdict["cause"]) == (state, Cause.DISK_FULL)


def test_file_system_without_free_inodes_has_no_room(monkeypatch: pytest.MonkeyPatch) -> None:
    from podium.sweep.runtime.disk_space_check import disk_space

    found = os.statvfs_result((4096, 4096, 1 << 20, 1 << 19, 1 << 19, 100_000, 10, 10, 0, 255))
    monkeypatch.setattr(os, "statvfs", lambda _: found)
    assert not disk_space(Path("/data")).is_sufficient
    assert "10 inodes are free, but 1,000 are required" in str(disk_space(Path("/data")))
