"""The data of an earlier version that failed or was stopped while a sweep ran: nothing is lost, the sweep finishes."""

from __future__ import annotations

import contextlib
import json
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from podium.api.serve.supervised_components import MODULES
from podium.db.schema.schema_version import newest_schema
from podium.sweep.runtime.layout import DataDirectory
from podium.sweep.runtime.runtime_directory import RuntimeDirectory
from podium.sweep.runtime.service_settings import ServiceSettings
from tests.recorded_schemas import restore_directory, stopped
from tests.running_service import AuditedService, podium, wait_for

ENDED = """
SELECT sweeps.name, trials.number, trials.state, trials.value, trials.ended_at,
    (SELECT group_concat(name || '=' || step || '=' || value) FROM metrics WHERE trial_id = trials.id)
FROM trials JOIN sweeps ON sweeps.id = sweep_id
WHERE trials.state IN ('finished', 'pruned', 'failed', 'cancelled') ORDER BY trials.id
"""


def query(data: DataDirectory, statement: str) -> list[tuple[Any, ...]]:
    with contextlib.closing(sqlite3.connect(data.database)) as connection:
        return connection.execute(statement).fetchall()


@pytest.mark.parametrize(
    ("recording", "files_of", "by_hand", "running"),
    [
        ("0014", "", False, 2),
        pytest.param(stopped("0014"), "", True, 0, marks=pytest.mark.slow),
        pytest.param("0012", "0013", True, 2, marks=pytest.mark.slow),
        pytest.param("0011", "", False, 2, marks=pytest.mark.slow),
    ],
)
def test_sweep_that_ran_is_finished_after_the_upgrade(
    tmp_path: Path, recording: str, files_of: str, by_hand: bool, running: int
) -> None:
    schema = recording.partition("-")[0]
    data = restore_directory(recording, tmp_path / "data", files_of=files_of)
    ended = query(data, ENDED)
    open_attempts = query(data, "SELECT trial_id, number FROM attempts WHERE ended_at IS NULL")
    assert len(ended) > 10 and len(open_attempts) == running
    state = "running" if running else "queued"  # a sweep that was started, without a trial that runs
    assert query(data, "SELECT state FROM sweeps WHERE name = 'running'") == [(state,)]
    if by_hand:
        done = podium("db", "upgrade", "--data-dir", str(data.root), "--json")
        assert done.returncode == 0, done.stderr
        result = json.loads(done.stdout)
        assert (result["before"], result["now"]) == (schema, newest_schema())
    with AuditedService(data.root) as service:
        client = service.client
        sweeps = {sweep["name"]: sweep for sweep in client.sweeps()}
        assert client.wait(sweeps["running"]["id"], 120)["state"] == "finished"
        assert client.sweep(sweeps["paused"]["id"])["state"] == "paused"
        assert client.sweep(sweeps["successor"]["id"])["state"] == "queued", "its predecessor is paused"
        serving = client.wait_ensemble("serving", 120)
        assert client.predict(serving["id"], [[0.0] * 64])["outcome"] == "ok"
        wait_for("the service is ready", lambda: client.ready()["ready"])
        assert service.stop() == 0
    (copy,) = data.backups.glob(f"before-upgrade-from-{schema}-*.sqlite3")
    assert copy.stat().st_size > 0
    now = query(data, ENDED)
    assert [row for row in now if row in ended] == ended, "what had ended is as it was"
    assert [row[2] for row in now if row[0] == "running"] == ["finished"] * 4
    for trial_id, number in open_attempts:
        attempts = query(data, f"SELECT number, state FROM attempts WHERE trial_id = {trial_id} ORDER BY number")
        assert attempts[0][0] == number and attempts[0][1] != "finished", "the attempt that was lost"
        assert attempts[-1][1] == "finished"


@pytest.fixture
def newer(tmp_path: Path) -> DataDirectory:
    """A data directory that a newer version has upgraded, with the copy that it made before."""
    data = restore_directory("0013", tmp_path / "data")
    data.backups.mkdir(exist_ok=True)
    shutil.copy(data.database, data.backups / f"before-upgrade-from-{newest_schema()}-2030-01-01.sqlite3")
    with contextlib.closing(sqlite3.connect(data.database)) as connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
        connection.commit()
    return data


def assert_newer(message: str) -> None:
    """Assert that the message says what is wrong, and what to do."""
    assert "was written by a newer Podium (schema 9999;" in message
    assert "install the version of Podium that wrote it, or restore the copy made before its upgrade: rm -f " in message


SERVE = pytest.param(("serve", "--port", "0", "--gateway-port", "0"), marks=pytest.mark.slow)


@pytest.mark.parametrize("command", [SERVE, ("db", "upgrade"), pytest.param(("doctor",), marks=pytest.mark.slow)])
def test_database_of_a_newer_version_is_refused_unchanged(newer: DataDirectory, command: tuple[str, ...]) -> None:
    before = newer.database.read_bytes()
    done = podium(*command, "--data-dir", str(newer.root))
    assert done.returncode not in (0, 1)
    assert_newer(done.stderr)
    assert newer.database.read_bytes() == before


@pytest.mark.slow
@pytest.mark.parametrize(
    "kind",
    [pytest.param(kind, marks=() if kind == "api" else pytest.mark.slow) for kind in MODULES if kind != "ray"],
)
def test_component_refuses_the_database_of_a_newer_version(newer: DataDirectory, tmp_path: Path, kind: str) -> None:
    runtime = RuntimeDirectory(tmp_path / "run")
    runtime.prepare()
    newer.admin_token.write_text("podium_token")
    file = ServiceSettings(str(newer.root), str(runtime.root), cluster="127.0.0.1").save()
    done = subprocess.run(
        [sys.executable, "-P", "-m", MODULES[kind], str(file)],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 1
    assert_newer(done.stderr)
