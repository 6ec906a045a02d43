"""Migrations of a new, current and older file; any other file is refused and left unchanged."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, create_engine, text

from podium.db.integrity import row_checks
from podium.db.schema import migrate as migration
from podium.db.schema.database import Database
from podium.db.schema.migrate import MigrationResult, alembic_config, migrate
from podium.db.schema.online_backup import backup
from podium.db.schema.schema_version import newest_schema
from podium.db.schema.sqlite_database import SqliteDatabase, sqlite_module
from podium.db.schema.tables import metadata
from podium.db.stores import ensemble_reader, event_outbox, metric_summaries
from podium.db.stores.event_outbox import NewEvent
from podium.db.stores.metric_summaries import MetricSummary
from podium.ensemble.values.ensemble_spec import Precision
from podium.sweep.runtime.layout import DataDirectory
from podium.sweep.values.errors import DatabaseError
from tests import drains_of_0015
from tests.service_rig import ServiceRig

pytestmark = pytest.mark.sqlite


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """The path of the database, which does not exist yet."""
    return tmp_path / "podium.sqlite3"


def _execute(path: Path, *statements: str) -> None:
    with contextlib.closing(sqlite_module().connect(path)) as connection:
        for statement in statements:
            connection.execute(statement)
        connection.commit()


def _podium_database(path: Path) -> None:
    """A closed Podium database with one event."""
    migrate(path)
    database = SqliteDatabase(path)
    with database.write() as connection:
        event_outbox.add(connection, [NewEvent(1.0, "kept")])
    database.close()


def test_migrations_create_exactly_the_tables_of_the_code(database: Database) -> None:
    with database.read() as connection:
        assert compare_metadata(MigrationContext.configure(connection), metadata) == []


def test_migrations_have_the_same_statements_as_the_code(database: Database) -> None:
    """Covers what Alembic does not compare: defaults, AUTOINCREMENT, WITHOUT ROWID, the names of constraints."""
    fresh = create_engine("sqlite://", module=sqlite_module())
    with fresh.begin() as described, database.read() as migrated:
        metadata.create_all(described)
        assert _schema(migrated) == _schema(described)
    fresh.dispose()


def _schema(connection: Connection) -> dict[str, list[str]]:
    """The statement of each table and index, its parts in a fixed order. Only migrations make triggers."""
    statement = "SELECT name, sql FROM sqlite_master WHERE type <> 'trigger' AND name <> 'alembic_version'"
    statement += " AND sql IS NOT NULL"
    return {
        name: sorted(re.split(r",\s+|\n\s*", sql.replace('"', ""))) for name, sql in connection.execute(text(statement))
    }


def test_there_is_one_newest_migration() -> None:
    assert len(ScriptDirectory.from_config(alembic_config()).get_heads()) == 1


def test_second_migration_changes_nothing(path: Path) -> None:
    _podium_database(path)
    before = path.read_bytes()
    migrate(path)
    assert path.read_bytes() == before
    assert not DataDirectory(path.parent).backups.exists()


def test_empty_file_is_migrated(path: Path) -> None:
    path.touch()
    migrate(path)
    migrate(path)


def test_failed_migration_leaves_no_partial_schema(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def upgrade(config: Config, revision: str) -> None:
        real_upgrade(config, revision)
        raise RuntimeError("simulated")

    real_upgrade = command.upgrade
    with monkeypatch.context() as patch, pytest.raises(RuntimeError, match="simulated"):
        patch.setattr(command, "upgrade", upgrade)
        migrate(path)
    database = SqliteDatabase(path)
    with database.read() as connection:
        assert connection.execute(text("SELECT name FROM sqlite_master")).all() == []
    database.close()
    migrate(path)


# Refused files.


def _text_file(path: Path) -> None:
    path.write_text("this file is not a database")


def _foreign(path: Path) -> None:
    _execute(path, "CREATE TABLE customers (id INTEGER)", "CREATE TABLE orders (id INTEGER)")


def _newer(path: Path) -> None:
    _podium_database(path)
    _execute(path, "UPDATE alembic_version SET version_num = '9999'")


def _damaged(path: Path) -> None:
    _podium_database(path)
    content = bytearray(path.read_bytes())
    content[4096:12288] = b"\xa5" * 8192
    path.write_bytes(content)


def _cut_short(path: Path) -> None:
    _podium_database(path)
    path.write_bytes(path.read_bytes()[:10_000])


def _empty_next_to_results(path: Path) -> None:
    path.touch()
    DataDirectory(path.parent).attempt(1, 1, 1, "").mkdir(parents=True)


REFUSED = [
    (
        _empty_next_to_results,
        r"is empty, but .*trials holds results of its trials; restore a backup: .+ with an empty database$",
    ),
    (_text_file, r"is not a database; if it was one, restore a backup: .+; or move it away, or choose another"),
    (_foreign, r"is a database, but not Podium's \(it has customers, orders\); choose another data directory"),
    (
        _newer,
        r"was written by a newer Podium \(schema 9999; this version knows \d{4} and older\); install the version of "
        r"Podium that wrote it, or choose another data directory$",
    ),
    (_damaged, r"is damaged \(.+\) and was not changed; restore a backup: rm -f .+ && cp 'BACKUP' '.+'$"),
    (_cut_short, r"is damaged \(.+\) and was not changed; restore a backup: rm -f .+ && cp 'BACKUP' '.+'$"),
]
IDS = [make.__name__.strip("_") for make, _ in REFUSED]


@pytest.mark.parametrize(("make", "message"), REFUSED, ids=IDS)
def test_unusable_file_is_refused_and_left_unchanged(path: Path, make: Callable[[Path], None], message: str) -> None:
    make(path)
    before = hashlib.sha256(path.read_bytes()).hexdigest()
    with pytest.raises(DatabaseError, match=message) as caught:
        migrate(path)
    assert str(path) in str(caught.value)
    assert hashlib.sha256(path.read_bytes()).hexdigest() == before


def test_missing_database_is_not_recreated_next_to_results(path: Path) -> None:
    _empty_next_to_results(path)
    path.unlink()
    with pytest.raises(DatabaseError, match=r"is missing, but .*trials holds results"):
        migrate(path)
    assert not path.exists()


def test_newest_backup_is_named_when_one_is_needed(path: Path) -> None:
    _podium_database(path)
    copy = DataDirectory(path.parent).backups / "podium-2026.sqlite3"
    backup(path, copy)
    _text_file(path)
    with pytest.raises(DatabaseError) as caught:
        migrate(path)
    command = str(caught.value).split("restore a backup: ")[1].split("; or move")[0]
    subprocess.run(["/bin/sh", "-c", command], check=True)
    database = SqliteDatabase(path)
    with database.read() as connection:
        assert [event["kind"] for event in event_outbox.after(connection, 0)] == ["kept"]
    database.close()


@pytest.mark.parametrize("make", [Path.mkdir, lambda path: path.symlink_to("elsewhere")], ids=["a folder", "a link"])
def test_path_that_is_not_a_regular_file_is_refused(path: Path, make: Callable[[Path], None]) -> None:
    make(path)
    with pytest.raises(
        DatabaseError, match=r"podium\.sqlite3 is (not a file; move it away|a symbolic link; use the folder)"
    ):
        migrate(path)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read every file")
def test_unreadable_file_is_refused(path: Path) -> None:
    _podium_database(path)
    path.chmod(0)
    with pytest.raises(DatabaseError, match=r"cannot read .*: Permission denied; run as its owner"):
        migrate(path)


def test_older_database_is_copied_before_the_upgrade(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _podium_database(path)
    before = newest_schema()
    monkeypatch.setattr(migration, "newest_schema", lambda: "a newer one")
    done = migrate(path)
    (copy,) = DataDirectory(path.parent).backups.glob(f"before-upgrade-from-{before}-*.sqlite3")
    assert done == MigrationResult(str(path), before, "a newer one", str(copy))
    assert copy.stat().st_mode & 0o077 == 0
    database = SqliteDatabase(copy)
    with database.read() as connection:
        assert [event["kind"] for event in event_outbox.after(connection, 0)] == ["kept"]
    database.close()


def test_each_migration_can_be_undone_and_repeated(path: Path) -> None:
    _podium_database(path)
    database = SqliteDatabase(path)
    with database.read() as connection:
        newest = _schema(connection)
    revisions = [each.revision for each in ScriptDirectory.from_config(alembic_config()).walk_revisions()]
    for older in revisions[1:]:
        config = alembic_config()
        with database.write() as connection:
            config.attributes["connection"] = connection
            command.downgrade(config, older)
        assert migrate(path).before == older
        with database.read() as connection:
            assert _schema(connection) == newest
            assert [event["kind"] for event in event_outbox.after(connection, 0)] == ["kept"]
    database.close()


def test_members_that_were_built_in_bfloat16_stay_in_it(tmp_path: Path) -> None:
    rig = ServiceRig(tmp_path)
    sweep_id = rig.sweep()
    members = [rig.trial(sweep_id, number, 0.9) for number in range(2)]
    low = rig.ensemble(sweep_id, members, precisions=(Precision.BFLOAT16,) * 2)
    whole = rig.ensemble(sweep_id, members, name="whole")
    config = alembic_config()
    before = ScriptDirectory.from_config(config).get_revision("0010").down_revision
    assert isinstance(before, str)
    with rig.database.write() as connection:
        config.attributes["connection"] = connection
        command.downgrade(config, before)
    migrate(rig.data.database)
    with rig.database.read() as connection:
        used = [[m.precision for m in ensemble_reader.get(connection, one).active.members] for one in (low, whole)]
    assert used == [[Precision.BFLOAT16] * 2, [Precision.FLOAT32] * 2]
    rig.close()


def test_migration_fills_the_summaries_from_existing_points(tmp_path: Path) -> None:
    rig = ServiceRig(tmp_path)
    trial_id = rig.trial(rig.sweep(), 0, 0.9)
    config = alembic_config()
    rows = [(trial_id, "val/loss", step, value) for step, value in enumerate([0.5, 0.1, 0.1, 0.9, 0.9, 0.3])]
    with rig.database.write() as connection:
        config.attributes["connection"] = connection
        command.downgrade(config, "0010")
        connection.exec_driver_sql(
            "INSERT INTO metrics (trial_id, name, step, value, attempt, at) VALUES (?, ?, ?, ?, 1, 1.0)",
            [*rows, (trial_id, "odd", 0, float("inf")), (trial_id, "odd", 1, 0.5), (trial_id, "odd", 2, -float("inf"))],
        )
    migrate(rig.data.database)
    with rig.database.read() as connection:
        found = {each.name: each for each in metric_summaries.of_trial(connection, trial_id)}
        assert found["val/loss"] == MetricSummary("val/loss", 0.3, 5, 0.1, 1, 0.9, 3, 0, None)
        assert found["odd"] == MetricSummary("odd", 0.5, 1, 0.5, 1, 0.5, 1, 2, 0)
        assert [breach for breach in row_checks.breaches(connection) if breach.invariant == "metrics"] == []
    rig.close()


def test_drains_get_the_uuids_of_their_devices(path: Path) -> None:
    _podium_database(path)
    database = SqliteDatabase(path)
    drains_of_0015.assert_kept(database, lambda: migrate(path))
    database.close()


def test_command_prints_one_line_and_exits_with_3(path: Path) -> None:
    _text_file(path)
    done = subprocess.run(
        [sys.executable, "-P", "-m", "podium.db.schema.migrate", str(path)], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (3, "")
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"{path} is not a database; if it was one, restore a backup: ")
