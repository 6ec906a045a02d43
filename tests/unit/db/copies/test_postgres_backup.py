"""`podium backup` and `podium restore` of a service on PostgreSQL."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest
from sqlalchemy import insert

from podium.db.copies.backup_repository import BackupRepository
from podium.db.copies.database_snapshot import postgres_snapshot
from podium.db.copies.full_backup import full_backup
from podium.db.copies.full_restore import full_restore
from podium.db.schema.postgres_database import PostgresDatabase
from podium.db.schema.tables import events
from podium.sweep.runtime.layout import DataDirectory
from podium.sweep.values.errors import DatabaseError
from tests.databases import open_postgres
from tests.filled_databases import digests, fill
from tests.postgres_databases import NAME
from tests.postgres_server import postgres_server

pytestmark = pytest.mark.postgres


def test_service_on_postgres_is_backed_up_and_restored(tmp_path: Path) -> None:
    server = postgres_server()
    database, data = open_postgres(), DataDirectory(tmp_path / "data")
    data.prepare()
    with database.write() as connection:
        fill(connection, 3)
        connection.exec_driver_sql("DELETE FROM artifacts")
        connection.exec_driver_sql("UPDATE sweeps SET spec = '{}'")
    wanted = digests(database)
    repository = BackupRepository.open(str(tmp_path / "backup"))
    done = full_backup(data, repository, partial(postgres_snapshot, server.url(NAME)))
    with database.write() as connection:
        connection.execute(insert(events).values(id=9, at=1.0, kind="later"))
    database.close()

    restored = DataDirectory(tmp_path / "restored")
    restored.root.mkdir()
    with pytest.raises(DatabaseError, match="has a PostgreSQL database: give the URL of an empty one"):
        full_restore(repository, restored)
    with pytest.raises(DatabaseError, match="is not empty: it has"):
        full_restore(repository, restored, url=server.url(NAME))
    server.create(NAME)
    found = full_restore(repository, restored, url=server.url(NAME))
    assert (found.snapshot, found.files) == (done.snapshot, done.files)
    assert digests(PostgresDatabase(server.url(NAME))) == wanted
    assert not restored.unfinished_restore.exists()
