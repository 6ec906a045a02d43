"""`podium backup` and `podium restore` as commands: what they print, their exit codes, what they refuse."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from filelock import FileLock

from podium.sweep.runtime.layout import DataDirectory
from tests.commands import Podium
from tests.databases import sqlite_content

pytestmark = pytest.mark.sqlite


@pytest.fixture
def data(tmp_path: Path) -> DataDirectory:
    """A data directory with an empty database."""
    made = DataDirectory(tmp_path / "data")
    made.prepare()
    made.database.write_bytes(sqlite_content())
    return made


def test_snapshots_are_listed_and_restored(podium: Podium, data: DataDirectory, tmp_path: Path) -> None:
    backup, restored = tmp_path / "backup", tmp_path / "restored"
    code, out, _ = podium("backup", backup, "--data-dir", data.root, "--json")
    snapshot = json.loads(out)["snapshot"]
    assert code == 0
    assert podium("restore", backup, "--list", "--data-dir", restored)[:2] == (0, f"{snapshot}\n")
    assert not restored.exists()
    code, out, _ = podium("restore", backup, "--snapshot", snapshot, "--data-dir", restored)
    assert code == 0 and f"start it with `podium serve --data-dir {restored}`" in out
    assert DataDirectory(restored).database.stat().st_mode & 0o077 == 0
    code, _, err = podium("restore", backup, "--data-dir", restored)
    assert code == 3 and f"{restored} is not empty (it has " in err


def test_unusable_places_are_refused(podium: Podium, data: DataDirectory, tmp_path: Path) -> None:
    code, _, err = podium("backup", tmp_path / "backup", "--data-dir", tmp_path / "none")
    assert (code, err) == (3, f"there is no data directory {tmp_path / 'none'}; name another with --data-dir\n")
    code, _, err = podium("backup", "ftp://host/folder", "--data-dir", data.root)
    assert code == 3 and err.startswith("the place: write s3://BUCKET/FOLDER")
    code, _, err = podium("restore", tmp_path / "nothing", "--data-dir", tmp_path / "restored")
    assert code == 3 and err.startswith("there is no snapshot in file://")
    with FileLock(data.service_lock):
        code, _, err = podium("restore", tmp_path / "nothing", "--data-dir", data.root)
    assert code == 3 and "give a new folder with --data-dir" in err


def test_credentials_that_others_may_read_are_refused(podium: Podium, data: DataDirectory, tmp_path: Path) -> None:
    file = tmp_path / "credentials"
    file.write_text("AWS_SECRET_ACCESS_KEY=secret\n")
    file.chmod(0o644)
    code, _, err = podium("backup", "s3://bucket/folder", "--data-dir", data.root, "--credentials", file)
    assert (code, err) == (3, f"--credentials {file}: other users may read it; run `chmod 600 {file}`\n")
