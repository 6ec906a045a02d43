"""The folder of an attempt: its paths, those of its ranks, and the folders of earlier attempts."""

from __future__ import annotations

import os
from pathlib import Path

from podium.sweep.runtime.attempt_directory import AttemptDirectory


def test_attempt_folder_contains_all_paths_of_its_process(tmp_path: Path) -> None:
    attempt = AttemptDirectory(tmp_path / "1" / "2" / "3")
    attempt.prepare()
    attempt.prepare()
    assert attempt.work.is_dir() and attempt.temporary.is_dir()
    files = [attempt.log, attempt.model, attempt.checkpoint, attempt.checkpoint_folders, attempt.predictions]
    files.append(attempt.artifacts)
    assert {file.parent for file in files} == {attempt.root} and len(set(files)) == 6


def test_folders_of_earlier_attempts_are_found_with_and_without_nonce(tmp_path: Path) -> None:
    for name in ("2", "10-00000000", "9-fedcba98", "1", "9-01234567", "11-00000000", "12"):
        (tmp_path / name).mkdir()
    for name in ("3-short", "4-0123456789", "5-ABCDEF01", "-00000000", "07", "0", "6-", "x", "٣", ".8.tmp"):
        (tmp_path / name).mkdir()
    os.utime(tmp_path / "9-fedcba98", (1, 1))  # of the same number, but older
    earlier = AttemptDirectory(tmp_path / "11-00000000").earlier(11)
    assert [folder.root.name for folder in earlier] == ["10-00000000", "9-01234567", "9-fedcba98", "2", "1"]
    assert AttemptDirectory(tmp_path / "1").earlier(1) == []
    assert AttemptDirectory(tmp_path / "missing" / "3").earlier(3) == []


def test_folders_of_each_rank_are_its_own_and_checkpoints_are_shared(tmp_path: Path) -> None:
    lead, other = AttemptDirectory(tmp_path), AttemptDirectory(tmp_path, 2)
    lead.prepare()
    other.prepare()
    assert [path.name for path in (other.log, other.work, other.temporary)] == ["log-2", "work-2", "tmp-2"]
    assert (other.checkpoint, other.shared) == (lead.checkpoint, lead.work)
    assert {path.name for path in lead.leftovers()} == {"work", "tmp", "work-2", "tmp-2"}
