"""The database of a service is opened by its settings; `podium serve` prepares it before."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from sqlalchemy import text

from podium.db.queries import stored_service_name
from podium.db.schema.database import Database
from podium.db.schema.open_database import open_database, open_database_of
from podium.db.schema.prepare_database import prepare
from podium.sweep.runtime.layout import DataDirectory
from podium.sweep.runtime.service_settings import ServiceSettings
from podium.sweep.values.errors import DatabaseError
from tests.postgres_server import postgres_server

NAME = "podium_opened"


def _name(database: Database) -> str:
    with database.read() as connection:
        found = stored_service_name.read(connection)
    database.close()
    return found


def _settings(data: DataDirectory, url_file: Path | None = None) -> ServiceSettings:
    return ServiceSettings(str(data.root), str(data.root / "run"), database_url_file=str(url_file or ""))


@pytest.fixture
def data(tmp_path: Path) -> DataDirectory:
    made = DataDirectory(tmp_path / "data")
    made.prepare()
    return made


@pytest.fixture
def url_file(tmp_path: Path) -> Path:
    """With the URL of an empty PostgreSQL database."""
    server = postgres_server()
    server.create(NAME)
    file = tmp_path / "database.url"
    file.touch(mode=0o600)
    file.write_text(f"{server.url(NAME)}\n")
    return file


@pytest.mark.sqlite
def test_sqlite_is_in_the_data_directory(data: DataDirectory) -> None:
    prepare(data, None)

    database = open_database(_settings(data))

    assert (database.name, len(_name(database))) == (str(data.database), 12)


@pytest.mark.postgres
def test_postgres_is_where_its_url_says(data: DataDirectory, url_file: Path) -> None:
    program = [sys.executable, "-P", "-m", "podium.db.schema.prepare_database", str(data.root), str(url_file), ""]
    done = json.loads(subprocess.run(program, capture_output=True, check=True).stdout)

    database = open_database(_settings(data, url_file))

    assert done["before"] is None and NAME in done["path"]
    assert (NAME in database.name, len(_name(database))) == (True, 12)
    assert not data.database.exists()


@pytest.mark.postgres
@pytest.mark.parametrize(("sends_heartbeats", "of_readers", "of_writers"), [(False, "1min", "0"), (True, "20s", "20s")])
def test_statements_of_components_have_time_limits_and_those_of_programs_none(
    data: DataDirectory, url_file: Path, sends_heartbeats: bool, of_readers: str, of_writers: str
) -> None:
    prepare(data, url_file)
    component = open_database(_settings(data, url_file), (lambda: None) if sends_heartbeats else None)
    assert _limits(component) == (of_readers, of_writers)
    assert _limits(open_database_of(data, url_file)) == ("0", "0")


def _limits(database: Database) -> tuple[str, str]:
    """The time limits of statements of readers and of writers."""
    show = text("SHOW statement_timeout")
    with database.read() as reader, database.write() as writer:
        found = reader.execute(show).scalar_one(), writer.execute(show).scalar_one()
    database.close()
    return found


@pytest.mark.postgres
def test_component_does_not_open_another_schema(data: DataDirectory, url_file: Path) -> None:
    prepare(data, url_file)
    postgres_server().execute("UPDATE alembic_version SET version_num = '0099'", NAME)

    with pytest.raises(DatabaseError, match="was written by a newer Podium"):
        open_database(_settings(data, url_file))
    with pytest.raises(DatabaseError, match="was written by a newer Podium"):
        prepare(data, url_file)
