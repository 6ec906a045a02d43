"""Artifacts of a trial: atomic copies, valid names, limits."""

from __future__ import annotations

import os
import zipfile
from pathlib import Path

import pytest

from podium.sweep.runtime.attempt_directory import AttemptDirectory
from podium.sweep.trial_process import artifacts
from podium.sweep.values.errors import UserCodeError


@pytest.fixture
def directory(tmp_path: Path) -> AttemptDirectory:
    found = AttemptDirectory(tmp_path / "attempt")
    found.prepare()
    return found


def _file(tmp_path: Path, name: str = "plot.png", content: bytes = b"png") -> Path:
    path = tmp_path / name
    path.write_bytes(content)
    return path


def test_file_is_copied_and_replaces_one_of_same_name(tmp_path: Path, directory: AttemptDirectory) -> None:
    source = _file(tmp_path)
    assert artifacts.save(directory, source) == directory.artifacts / "plot.png"
    source.write_bytes(b"changed")
    assert (directory.artifacts / "plot.png").read_bytes() == b"png"
    artifacts.save(directory, source)
    artifacts.save(directory, source, "other.png")
    assert {path.name: path.read_bytes() for path in directory.artifacts.iterdir()} == {
        "plot.png": b"changed",
        "other.png": b"changed",
    }
    assert not [path for path in directory.root.iterdir() if path.name.endswith(".tmp")]


def test_folder_becomes_an_archive_without_links(tmp_path: Path, directory: AttemptDirectory) -> None:
    folder = tmp_path / "report"
    (folder / "deep").mkdir(parents=True)
    _file(folder, "index.html", b"<p>")
    _file(folder / "deep", "data.csv", b"1,2")
    (folder / "link").symlink_to("/etc/passwd")
    kept = artifacts.save(directory, folder)
    assert kept.name == "report.zip"
    with zipfile.ZipFile(kept) as archive:
        assert archive.namelist() == ["index.html", "deep/data.csv"]
        assert archive.read("deep/data.csv") == b"1,2"


@pytest.mark.parametrize("name", ["", ".hidden", "a/b", "../up", "a b", "ä.png", "x" * 201, "-o"])
def test_invalid_name_is_rejected(tmp_path: Path, directory: AttemptDirectory, name: str) -> None:
    with pytest.raises(UserCodeError, match=r"invalid artifact name .*; pass name= with"):
        artifacts.save(directory, _file(tmp_path, "a b" if name == "" else "plot.png"), name or None)
    assert not directory.artifacts.exists()


@pytest.mark.parametrize(("what", "message"), [("nothing", "no such file"), ("pipe", "not a regular file or a folder")])
def test_missing_or_special_file_is_rejected(
    tmp_path: Path, directory: AttemptDirectory, what: str, message: str
) -> None:
    path = tmp_path / "source"
    if what == "pipe":
        os.mkfifo(path)
    with pytest.raises(UserCodeError, match=message):
        artifacts.save(directory, path)


def test_number_of_artifacts_is_limited_but_replacement_is_allowed(tmp_path: Path, directory: AttemptDirectory) -> None:
    limits = artifacts.ArtifactLimits(files=2)
    source = _file(tmp_path)
    for name in ("a", "b", "a"):
        artifacts.save(directory, source, name, limits=limits)
    with pytest.raises(UserCodeError, match="a trial can save at most 2 artifacts; save a folder as one archive"):
        artifacts.save(directory, source, "c", limits=limits)


def test_size_of_artifacts_is_limited(tmp_path: Path, directory: AttemptDirectory) -> None:
    limits = artifacts.ArtifactLimits(bytes=3 << 20)
    large = _file(tmp_path, "large", os.urandom(2 << 20))
    artifacts.save(directory, large, limits=limits)
    artifacts.save(directory, large, limits=limits)
    with pytest.raises(UserCodeError, match="the artifacts of this trial would take 4 MB; the limit is 3 MB"):
        artifacts.save(directory, large, "again", limits=limits)
    assert [path.name for path in directory.artifacts.iterdir()] == ["large"]


def test_failed_artifact_of_script_is_logged_and_others_are_saved(
    tmp_path: Path, directory: AttemptDirectory, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = artifacts.folder_of_script(directory)
    for name in ("good.txt", "not good.txt", "zoo.txt"):
        _file(folder, name)
    kept: list[Path] = []
    artifacts.collect(folder, lambda path: kept.append(artifacts.save(directory, path)))
    assert [path.name for path in kept] == ["good.txt", "zoo.txt"]
    assert "podium: failed to save an artifact: " in capsys.readouterr().err
    artifacts.collect(tmp_path / "nowhere", kept.append)
