"""Fixtures that more than one tier uses."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from db.engine import Database
from db.migrate import migrate
from tests.rig import Rig

settings.register_profile("podium", deadline=None, database=None)
settings.load_profile("podium")


@pytest.fixture
def make_rig() -> Callable[..., Rig]:
    """Makes a scheduler on fakes: `make_rig(slots=2)`."""
    return Rig


@pytest.fixture
def rig() -> Rig:
    """A scheduler on fakes, with one slot."""
    return Rig()


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    """A migrated SQLite database."""
    path = tmp_path / "podium.sqlite3"
    migrate(path)
    opened = Database(path)
    yield opened
    opened.close()
