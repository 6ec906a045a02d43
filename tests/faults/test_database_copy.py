"""`podium db copy` killed with SIGKILL between and within tables, again and again: it continues and is complete."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from pathlib import Path

import pytest
from sqlalchemy import insert

from podium.db.copies.table_copy import BATCH
from podium.db.schema.migrate import migrate
from podium.db.schema.postgres_database import PostgresDatabase
from podium.db.schema.sqlite_database import SqliteDatabase
from podium.db.schema.tables import metrics
from podium.sweep.runtime.fail_points import POINTS, VARIABLE
from podium.sweep.runtime.layout import DataDirectory
from tests.filled_databases import digests, fill
from tests.postgres_databases import NAME
from tests.postgres_server import postgres_server
from tests.running_service import PODIUM

POINTS_OF_A_COPY = [name for name in POINTS if name.startswith("copy.")]
BATCHES = 4  # of the largest table


@pytest.fixture
def data(tmp_path: Path) -> DataDirectory:
    """A data directory with rows in each table, and several batches of points."""
    made = DataDirectory(tmp_path / "data")
    made.prepare()
    migrate(made.database)
    database = SqliteDatabase(made.database)
    points = [
        {"trial_id": 3, "name": "loss", "step": step, "value": 1 / (step + 1), "attempt": 1, "at": step / 7}
        for step in range(100, 100 + BATCHES * BATCH)
    ]
    with database.write() as connection:
        fill(connection)
        connection.execute(insert(metrics), points)
    database.close()
    return made


@pytest.mark.slow
def test_copy_goes_on_after_each_kill(data: DataDirectory, tmp_path: Path) -> None:
    postgres_server().create(NAME)
    url = tmp_path / "url"
    url.write_text(postgres_server().url(NAME))
    url.chmod(0o600)
    points = tmp_path / "points"
    points.mkdir()
    there = ["db", "copy", "to-postgres", "--json", "--data-dir", str(data.root), "--database-url-file", str(url)]
    there_kills = _copied_despite_kills([*PODIUM, *there], points)
    assert digests(PostgresDatabase(url.read_text())) == digests(SqliteDatabase(data.database))

    back = DataDirectory(tmp_path / "back")
    back.prepare()
    command = ["db", "copy", "from-postgres", "--json", "--data-dir", str(back.root), "--database-url-file", str(url)]
    back_kills = _copied_despite_kills([*PODIUM, *command], points)
    assert digests(SqliteDatabase(back.database)) == digests(SqliteDatabase(data.database))
    assert min(there_kills, back_kills) >= BATCHES


def _copied_despite_kills(command: list[str], points: Path) -> int:
    """The number of kills: the copy gets a little further each time, until no fail point is reached."""
    kills = 0
    while True:
        point = points / POINTS_OF_A_COPY[kills % len(POINTS_OF_A_COPY)]
        point.write_text(str(6 + kills % 7))
        done = subprocess.run(command, env={**os.environ, VARIABLE: str(points)}, capture_output=True, check=False)
        if done.returncode == 0:
            point.unlink()
            assert json.loads(done.stdout)["rows"] > BATCHES * BATCH
            return kills
        assert f"exited with status {-signal.SIGKILL}".encode() in done.stderr, done.stderr.decode()
        kills += 1
