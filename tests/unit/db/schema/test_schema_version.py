"""A component starts on a database of its own schema only; any other is refused with what to do."""

from __future__ import annotations

from pathlib import Path

import pytest
from alembic.script import ScriptDirectory

from podium.db.schema.database import Database
from podium.db.schema.migrate import alembic_config
from podium.db.schema.schema_version import known_schema, known_schemas, require_current
from podium.sweep.runtime.layout import DataDirectory
from podium.sweep.values.errors import DatabaseError


def test_known_schemas_are_those_of_the_migrations() -> None:
    script = ScriptDirectory.from_config(alembic_config())
    assert known_schemas() == tuple(sorted(each.revision for each in script.walk_revisions()))
    assert known_schemas()[-1] == script.get_current_head()


def test_current_schema_is_accepted(database: Database) -> None:
    require_current(database)


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        ("0003", r"has schema 0003, and this version of Podium needs \d{4}; stop the service, and start it again"),
        (
            "9999",
            r"was written by a newer Podium \(schema 9999; .*\); install the version of Podium that wrote it",
        ),
    ],
    ids=["older", "newer"],
)
def test_other_schema_is_refused(database: Database, schema: str, message: str) -> None:
    with database.write() as connection:
        connection.exec_driver_sql(f"UPDATE alembic_version SET version_num = '{schema}'")
    with pytest.raises(DatabaseError, match=message):
        require_current(database)


def test_copy_that_this_version_can_use_is_named(tmp_path: Path) -> None:
    path = tmp_path / "podium.sqlite3"
    backups = DataDirectory(tmp_path).backups
    backups.mkdir()
    names = ("before-upgrade-from-0013-2026-01-02.sqlite3", "before-upgrade-from-9998-2026-01-03.sqlite3")
    for name in (*names, "podium-2026-01-04.sqlite3"):
        (backups / name).touch()
    named = r"or restore the copy made before its upgrade: rm -f '.*'-\* && cp '.*-0013-2026-01-02.sqlite3' "
    with pytest.raises(DatabaseError, match=named):
        known_schema(str(path), "9999", path)
