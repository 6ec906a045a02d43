"""Fixtures that more than one tier uses."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from podium.db.schema.engine import Database
from podium.db.schema.migrate import migrate
from tests.rig import Rig

SHARING = ("tests/browser/", "tests/integration/third_party/")  # folders whose tests share one service

# Everywhere new examples each time; in CI always the same ones, so that a run says something about the change alone.
settings.register_profile("podium", deadline=None, database=None, derandomize="CI" in os.environ)
settings.load_profile("podium")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Half a million objects are there for good once all is collected: looking through them took a fifth of the run."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.collect()
        gc.freeze()
        gc.enable()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """How files are handed to workers: whole, and those of a folder together that share one service."""
    from xdist.scheduler import LoadFileScheduling

    class Files(LoadFileScheduling):  # type: ignore[misc]
        def _split_scope(self, nodeid: str) -> str:
            return next((folder for folder in SHARING if nodeid.startswith(folder)), nodeid.partition("::")[0])

    return Files(config, log) if config.getvalue("dist") == "loadfile" else None


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
