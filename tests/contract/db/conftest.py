"""Gives each test an SQLite and a PostgreSQL database."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from podium.db.schema.database import Database
from tests.databases import EACH_DATABASE, open_postgres, open_sqlite


@pytest.fixture(params=EACH_DATABASE)
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Database]:
    """A migrated database."""
    opened = open_sqlite(tmp_path / "podium.sqlite3") if request.param == "sqlite" else open_postgres()
    yield opened
    opened.close()
