"""Checkpoint folders: complete or not found, of the same trial, the newest first."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from podium.sweep.runtime.attempt_directory import AttemptDirectory
from podium.sweep.trial_process import directory_checkpoints


@pytest.fixture
def attempts(tmp_path: Path) -> list[AttemptDirectory]:
    found = [AttemptDirectory(tmp_path / "trial" / str(number)) for number in (1, 2, 3)]
    for attempt in found:
        attempt.prepare()
    return found


def _source(tmp_path: Path, text: str) -> Path:
    folder = tmp_path / f"source {text}"
    (folder / "deep").mkdir(parents=True)
    (folder / "deep" / "state").write_text(text)
    return folder


def _text(found: directory_checkpoints.CheckpointFolder | None) -> str:
    assert found is not None
    return (found.path / "deep" / "state").read_text()


def test_last_checkpoint_of_newest_attempt_is_found(tmp_path: Path, attempts: list[AttemptDirectory]) -> None:
    first, second, third = attempts
    assert directory_checkpoints.newest(third, 3, "me") is None
    directory_checkpoints.save(_source(tmp_path, "a"), first, 1, "me")
    for iteration in range(12):  # 9 precedes 10, although not alphabetically
        directory_checkpoints.save(_source(tmp_path, f"b{iteration}"), second, iteration, "me")
    assert len(list(second.checkpoint_folders.iterdir())) == 1
    found = directory_checkpoints.newest(third, 3, "me")
    assert (_text(found), found and found.iteration) == ("b11", 11)
    assert _text(directory_checkpoints.newest(second, 2, "me")) == "a"


def test_checkpoint_of_another_trial_is_skipped(tmp_path: Path, attempts: list[AttemptDirectory]) -> None:
    directory_checkpoints.save(_source(tmp_path, "a"), attempts[0], 1, "me")
    directory_checkpoints.save(_source(tmp_path, "b"), attempts[1], 1, "another")
    assert _text(directory_checkpoints.newest(attempts[2], 3, "me")) == "a"


def test_checkpoint_of_another_owner_with_the_same_number_is_skipped(tmp_path: Path) -> None:
    """A restored backup of the database repeats the numbers of attempts: their folders differ by nonce."""
    before, after, second = (AttemptDirectory(tmp_path / name) for name in ("1-bbbbbbbb", "1-aaaaaaaa", "2-cccccccc"))
    for attempt in (after, before, second):
        attempt.prepare()
    directory_checkpoints.save(_source(tmp_path, "after"), after, 1, "me")
    directory_checkpoints.save(_source(tmp_path, "before"), before, 1, "another")
    assert _text(directory_checkpoints.newest(second, 2, "me")) == "after"


def test_interrupted_copy_is_never_found(
    tmp_path: Path, attempts: list[AttemptDirectory], monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second, _ = attempts
    directory_checkpoints.save(_source(tmp_path, "a"), first, 1, "me")

    def cut(source: Path, target: Path) -> None:
        target.mkdir(parents=True)
        (target / "part").touch()
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(shutil, "copytree", cut)
        with pytest.raises(OSError, match="No space left"):
            directory_checkpoints.save(_source(tmp_path, "b"), first, 2, "me")
    assert _text(directory_checkpoints.newest(second, 2, "me")) == "a"
    assert len(list(first.checkpoint_folders.iterdir())) == 1


@pytest.mark.parametrize("facts", ["", "[]", '{"iteration": "x", "owner": "me"}'])
def test_checkpoint_without_metadata_is_skipped_and_logged(
    tmp_path: Path, attempts: list[AttemptDirectory], capsys: pytest.CaptureFixture[str], facts: str
) -> None:
    kept = directory_checkpoints.save(_source(tmp_path, "a"), attempts[0], 1, "me")
    (kept.path.parent / "podium.json").write_text(facts)
    assert directory_checkpoints.newest(attempts[1], 2, "me") is None
    assert "podium: skipping the checkpoint of attempt 1" in capsys.readouterr().err
