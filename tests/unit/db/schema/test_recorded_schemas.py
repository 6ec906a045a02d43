"""A database of each schema that Podium has had, with data that its version wrote, becomes a current one."""

from __future__ import annotations

import contextlib
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from alembic import command
from alembic.script import ScriptDirectory

from podium.db.integrity import row_checks
from podium.db.schema.integrity_check import check
from podium.db.schema.migrate import MigrationResult, alembic_config, migrate
from podium.db.schema.schema_version import newest_schema
from podium.db.schema.sqlite_database import SqliteDatabase, sqlite_module
from tests.recorded_schemas import recorded, restore

pytestmark = pytest.mark.sqlite

SCHEMAS = sorted(each.revision for each in ScriptDirectory.from_config(alembic_config()).walk_revisions())
FAST = {SCHEMAS[0], *SCHEMAS[-3:]}
EACH = [pytest.param(schema, marks=() if schema in FAST else pytest.mark.slow) for schema in SCHEMAS]
LEFT = {"0007": {"ix_sweeps_held"}}  # an index that a version had, which its migration makes no longer
Rows = list[tuple[Any, ...]]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """The path of the database, which does not exist yet."""
    return tmp_path / "podium.sqlite3"


def query(path: Path, statement: str) -> Rows:
    with contextlib.closing(sqlite_module().connect(path)) as connection:
        return [tuple(row) for row in connection.execute(statement)]


def columns_of(path: Path) -> dict[str, list[str]]:
    """The columns of each table."""
    tables = query(path, "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")
    return {name: [row[1] for row in query(path, f"PRAGMA table_info('{name}')")] for (name,) in tables}


def content(path: Path, columns: dict[str, list[str]]) -> dict[str, Rows]:
    """All rows of these columns of each table, in a fixed order."""
    return {
        table: sorted(query(path, f"SELECT {', '.join(names)} FROM {table}"), key=repr)
        for table, names in columns.items()
        if table != "alembic_version"
    }


def statements(path: Path) -> dict[str, list[str]]:
    """The statement of each table and index, its parts in a fixed order."""
    found = query(path, "SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%'")
    return {name: sorted(re.split(r",\s+|\n\s*", sql.replace('"', ""))) for name, sql in found}


def test_a_database_of_every_schema_is_recorded() -> None:
    missing = set(SCHEMAS) - set(recorded())
    assert not missing, f"record {', '.join(missing)}: python -m tests.record_schema"


@pytest.mark.parametrize("schema", EACH)
def test_migration_still_makes_the_schema_that_its_version_had(tmp_path: Path, path: Path, schema: str) -> None:
    """A migration that databases have been upgraded by must not change: they would not get what was added to it."""
    database = SqliteDatabase(path, create=True)
    config = alembic_config()
    with database.write() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, schema)
    database.close()
    old = statements(restore(schema, tmp_path / "recorded.sqlite3"))
    assert statements(path) == {name: parts for name, parts in old.items() if name not in LEFT.get(schema, ())}


@pytest.mark.parametrize("schema", EACH)
def test_recorded_database_has_sweeps_and_trials_in_every_state(path: Path, schema: str) -> None:
    restore(schema, path)
    states = {table: {state for (state,) in query(path, f"SELECT DISTINCT state FROM {table}")}
              for table in ("sweeps", "trials", "ensembles", "evaluations")}  # fmt: skip
    assert states["sweeps"] >= {"running", "paused", "finished", "cancelled"}
    assert states["trials"] == {"waiting", "running", "finished", "pruned", "failed", "cancelled"}
    assert states["ensembles"] == {"ready", "retired"}
    assert states["evaluations"] == {"finished"}
    assert query(path, "SELECT count(*) FROM attempts WHERE ended_at IS NULL") == [(2,)]
    assert query(path, "SELECT count(*) FROM metrics")[0][0] > 20
    assert query(path, "SELECT version_num FROM alembic_version") == [(schema,)]


@dataclass(frozen=True)
class Upgraded:
    """A recorded database after its upgrade, with its columns and rows before, and the rows of these columns now."""

    path: Path
    schema: str
    result: MigrationResult
    columns: dict[str, list[str]]
    before: dict[str, Rows]
    after: dict[str, Rows]


@pytest.fixture(scope="module", params=EACH)
def upgraded(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Upgraded:
    """Each recorded database, upgraded."""
    path = restore(request.param, tmp_path_factory.mktemp("upgraded") / "podium.sqlite3")
    columns = columns_of(path)
    before = content(path, columns)
    result = migrate(path)
    return Upgraded(path, request.param, result, columns, before, content(path, columns))


@pytest.fixture(scope="module")
def new_statements(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """The tables and indexes of a new database."""
    path = tmp_path_factory.mktemp("new") / "podium.sqlite3"
    migrate(path)
    return statements(path)


def test_upgrade_keeps_every_row_and_value(upgraded: Upgraded) -> None:
    before, after = upgraded.before, upgraded.after
    assert (upgraded.result.before, upgraded.result.now) == (upgraded.schema, newest_schema())
    assert {table: len(rows) for table, rows in after.items()} == {table: len(rows) for table, rows in before.items()}
    assert after == before


def test_upgraded_database_has_the_newest_schema(upgraded: Upgraded, new_statements: dict[str, list[str]]) -> None:
    old = statements(upgraded.path)
    assert {name: old[name] for name in old.keys() - LEFT.get(upgraded.schema, set())} == new_statements


def test_upgraded_database_is_sound(upgraded: Upgraded) -> None:
    found = check(upgraded.path)
    assert (found.schema, found.problems) == (newest_schema(), ())
    database = SqliteDatabase(upgraded.path)
    with database.read() as connection:
        assert list(row_checks.breaches(connection)) == []
    database.close()


def test_backup_of_the_upgrade_is_the_database_before_it(upgraded: Upgraded) -> None:
    if upgraded.schema == newest_schema():
        assert upgraded.result.copy is None
        return
    assert upgraded.result.copy is not None
    copy = Path(upgraded.result.copy)
    assert content(copy, upgraded.columns) == upgraded.before
    assert query(copy, "SELECT version_num FROM alembic_version") == [(upgraded.schema,)]
