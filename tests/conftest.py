"""Fixtures shared by several kinds of tests."""

from __future__ import annotations

import contextlib
import gc
import os
import sys
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from hypothesis import settings

from podium.db.schema.database import Database
from tests.databases import CHOSEN, open_database
from tests.rig import Rig
from tests.running_service import AuditedService
from tests.shared_service import SharedService

MEMORY = Path("/dev/shm")  # a file system in memory on Linux
NEEDED_BYTES = 8 << 30
COLLECT_AFTER = (20_000, 20, 100)  # objects, and collections of the younger generations: 5% less time than by default
# Folders whose tests share one service.
SHARING = ("tests/browser/", "tests/cluster/", "tests/integration/third_party/")

# New examples in each run; in CI always the same ones, so that a result depends only on the change.
for name, examples in (("podium", 20), ("thorough", 200)):  # `make test-all` uses `thorough`
    settings.register_profile(name, max_examples=examples, deadline=None, database=None, derandomize="CI" in os.environ)
settings.load_profile("podium")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--postgres`."""
    parser.addoption("--postgres", action="store_true", help="give tests PostgreSQL databases instead of SQLite's")


def pytest_configure(config: pytest.Config) -> None:
    """Choose the kind of databases, and put temporary folders in memory if there is room."""
    CHOSEN.postgres = config.getoption("postgres")
    _use_memory()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip, with `--postgres`, tests that are only about SQLite."""
    for item in items:
        if CHOSEN.postgres and item.get_closest_marker("sqlite"):
            item.add_marker(pytest.mark.skip(reason="only with SQLite"))


def _use_memory() -> None:
    """Put temporary folders in memory, if there is room and programs may run from there: a fifth of the unit tests."""
    if not os.access(MEMORY, os.W_OK | os.X_OK):
        return
    found = os.statvfs(MEMORY)
    free_bytes = min(found.f_bavail * found.f_frsize, psutil.virtual_memory().available)
    with contextlib.suppress(OSError, ValueError):  # of a container; "max" is no limit
        free_bytes = min(free_bytes, int(Path("/sys/fs/cgroup/memory.max").read_text()))
    if free_bytes >= NEEDED_BYTES and not found.f_flag & os.ST_NOEXEC:
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(MEMORY))


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Freeze the half million objects that exist after collection: scanning them took a fifth of the run."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.collect()
        gc.freeze()
        gc.set_threshold(*COLLECT_AFTER)
        gc.enable()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup() -> None:
    """Use one thread for torch: threads of several workers wait for each other in busy loops, 3 to 6 times as long."""
    torch = sys.modules.get("torch")
    if torch is not None and torch.get_num_threads() > 1:
        torch.set_num_threads(1)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Assign whole files to workers, and folders that share one service as a unit."""
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


@pytest.fixture(scope="session")
def service_of_worker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SharedService]:
    """The service of all modules of this worker; the tests in `tests/unit`, which are the last ones, stop it."""
    made = SharedService(tmp_path_factory.mktemp("shared"))
    yield made
    made.close()


@pytest.fixture(scope="module")
def shared_service(service_of_worker: SharedService) -> Iterator[AuditedService]:
    """That service, idle before and after. Each module looks at its own sweeps; the audit at all of them."""
    opened = service_of_worker.open()
    yield opened
    opened.reset()


@pytest.fixture(scope="session")
def service_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of each test's service rig in turn."""
    return tmp_path_factory.mktemp("service")


@pytest.fixture(scope="session")
def database_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of each test's database in turn."""
    return tmp_path_factory.mktemp("database")


@pytest.fixture
def database(database_folder: Path) -> Iterator[Database]:
    """A migrated database: SQLite's, or PostgreSQL's with `--postgres`."""
    for file in database_folder.iterdir():
        file.unlink()
    opened = open_database(database_folder / "podium.sqlite3")
    yield opened
    opened.close()
