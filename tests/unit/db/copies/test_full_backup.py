"""`podium backup` and `podium restore`: what a snapshot has, what is copied again, what is refused."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from pathlib import Path

import pytest
from fsspec.implementations.memory import MemoryFileSystem
from sqlalchemy import select, text

from podium.db.copies.backup_repository import MARK, BackupRepository
from podium.db.copies.database_snapshot import DatabaseSnapshot, postgres_snapshot, sqlite_snapshot
from podium.db.copies.full_backup import BackupResult, full_backup
from podium.db.copies.full_restore import RestoreResult, full_restore
from podium.db.schema.database import Database
from podium.db.schema.migrate import migrate
from podium.db.schema.postgres_database import PostgresDatabase
from podium.db.schema.sqlite_database import SqliteDatabase
from podium.db.schema.tables import artifacts, removed_artifacts
from podium.db.stores import retention_plan
from podium.db.stores.retention_plan import RemovableFiles
from podium.sweep.file_store.fsspec_folder import FsspecFolder
from podium.sweep.runtime.layout import DataDirectory
from podium.sweep.runtime.safe_file_reads import sha256_of
from podium.sweep.values.errors import DatabaseError, DataDirectoryError, FileStoreError
from tests.databases import CHOSEN, EACH_DATABASE
from tests.doctor import assert_no_breaches
from tests.filled_databases import digests
from tests.postgres_databases import NAME
from tests.postgres_server import postgres_server
from tests.service_rig import ServiceRig

RESTORED = "podium_restored"  # the database of the service that is restored last
Open = Callable[[], BackupRepository]


@pytest.fixture(params=["folder", "object store"])
def opened(request: pytest.FixtureRequest, tmp_path: Path) -> Open:
    """Opens a new backup, in a folder or an object store."""
    if request.param == "folder":
        return partial(BackupRepository.open, str(tmp_path / "backup"))
    filesystem = MemoryFileSystem(skip_instance_cache=True)
    filesystem.store, filesystem.pseudo_dirs = {}, [""]
    return lambda: BackupRepository(FsspecFolder(filesystem, "/bucket", name="memory://bucket", patience_s=0.0))


@pytest.fixture
def folder(tmp_path: Path) -> Open:
    """Opens a new backup in a folder."""
    return partial(BackupRepository.open, str(tmp_path / "backup"))


@pytest.fixture(params=EACH_DATABASE)
def kind(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both kinds of databases; to be requested before the service."""
    monkeypatch.setattr(CHOSEN, "postgres", request.param == "postgres")


@pytest.fixture
def trials(service: ServiceRig) -> list[int]:
    """Three finished trials with models and logs, and code."""
    bundle = "ab" * 32
    sweep_id = service.sweep(program={"function": "a:b", "bundle": bundle})
    (service.data.bundle(bundle) / "package").mkdir(parents=True)
    (service.data.bundle(bundle) / "package" / "a.py").write_text("x = 1\n")
    service.data.bundle_archive(bundle).write_bytes(b"zip")
    made = [service.trial(sweep_id, number, 0.5 + number, log=f"line {number}\n") for number in range(3)]
    _correct_sizes(service)
    return made


def _correct_sizes(service: ServiceRig) -> None:
    with service.database.write() as connection:
        for row in connection.execute(select(artifacts)).all():
            size = service.data.root.joinpath(*_key(service, row.trial_id).split("/")).stat().st_size
            statement = text("UPDATE artifacts SET size_bytes = :size WHERE trial_id = :trial_id")
            connection.execute(statement, {"size": size, "trial_id": row.trial_id})


def _key(service: ServiceRig, trial_id: int) -> str:
    """The key of the model of a trial."""
    with service.database.read() as connection:
        statement = text("SELECT sweep_id, number FROM trials WHERE id = :id")
        sweep_id, number = connection.execute(statement, {"id": trial_id}).one()
    return service.data.relative(service.attempt(sweep_id, number).model)


def _backup(service: ServiceRig, repository: BackupRepository, *, datasets: bool = False) -> BackupResult:
    return full_backup(service.data, repository, _snapshot(service), datasets=datasets)


def _snapshot(service: ServiceRig) -> Callable[[Path], AbstractContextManager[DatabaseSnapshot]]:
    if CHOSEN.postgres:
        return partial(postgres_snapshot, postgres_server().url(NAME))
    return partial(sqlite_snapshot, service.data.database)


def _restore(repository: BackupRepository, root: Path, snapshot: str | None = None) -> RestoreResult:
    """Restore into a folder, and with PostgreSQL into an empty database."""
    root.mkdir(exist_ok=True)
    if CHOSEN.postgres:
        postgres_server().create(RESTORED)
    url = postgres_server().url(RESTORED) if CHOSEN.postgres else None
    return full_restore(repository, DataDirectory(root), snapshot=snapshot, url=url)


def _restored(data: DataDirectory) -> Database:
    """The database that was restored last."""
    return PostgresDatabase(postgres_server().url(RESTORED)) if CHOSEN.postgres else SqliteDatabase(data.database)


def _files(root: Path) -> dict[str, str]:
    left_out = ("podium.sqlite3", "database.json", "backups/", "tmp/", "work/")
    found = {str(path.relative_to(root)): sha256_of(path) for path in root.rglob("*") if path.is_file()}
    return {key: sha256 for key, sha256 in found.items() if not key.startswith(left_out)}


@pytest.mark.usefixtures("kind", "trials")
def test_restored_service_has_the_same_rows_and_files(service: ServiceRig, opened: Open, tmp_path: Path) -> None:
    done = _backup(service, opened())
    restored = _restore(opened(), tmp_path / "restored")
    data = DataDirectory(tmp_path / "restored")
    wanted = {key: sha256 for key, sha256 in _files(service.data.root).items() if key.startswith(("trials", "bundles"))}
    assert _files(data.root) == wanted
    assert len(wanted) == 3 + 3 + 2  # models, logs, code
    assert digests(_restored(data)) == digests(service.database)
    assert (done.files, done.copied_files, done.problems, done.removed) == (8, 8, (), 0)
    assert (restored.snapshot, restored.files, restored.bytes) == (done.snapshot, 8, done.bytes)
    assert [path.stat().st_mode & 0o077 for path in data.root.glob("*.sqlite3")] == ([] if CHOSEN.postgres else [0])
    database = _restored(data)
    assert_no_breaches(data, database)
    database.close()


def test_next_backup_copies_new_contents_only(
    service: ServiceRig, trials: list[int], opened: Open, tmp_path: Path
) -> None:
    first = _backup(service, opened())
    service.attempt(1, 0).log.write_text("a longer log\n")
    second = _backup(service, opened())
    assert (second.files, second.copied_files, second.copied_bytes) == (first.files, 1, 13)
    assert opened().snapshots() == [first.snapshot, second.snapshot]
    _restore(opened(), tmp_path / "first", first.snapshot)
    _restore(opened(), tmp_path / "newest")
    logs = [
        DataDirectory(tmp_path / name).root / service.data.relative(service.attempt(1, 0).log)
        for name in ("first", "newest")
    ]
    assert [log.read_text() for log in logs] == ["line 0\n", "a longer log\n"]
    assert len(trials) == 3


def test_file_that_is_removed_during_the_backup_is_recorded_as_removed(
    service: ServiceRig, trials: list[int], folder: Open, tmp_path: Path
) -> None:
    @contextmanager
    def then_remove(spool: Path) -> Iterator[DatabaseSnapshot]:
        with _snapshot(service)(spool) as taken:
            left = RemovableFiles(trials[1], 1, 1, 1)
            with service.database.write() as connection:
                retention_plan.mark_for_removal(connection, [left], "not among the best 1", 5.0)
            service.attempt(1, 1).model.unlink()
            yield taken

    done = full_backup(service.data, folder(), then_remove)
    assert (done.removed, done.problems) == (1, ())
    restored = _restore(folder(), tmp_path / "restored")
    assert restored.removed == 1
    data = DataDirectory(tmp_path / "restored")
    database = _restored(data)
    with database.read() as connection:
        assert len(connection.execute(select(artifacts)).all()) == 2
        (row,) = connection.execute(select(removed_artifacts)).all()
    assert (row.trial_id, row.name, row.reason, row.gone) == (
        trials[1],
        "model.safetensors",
        "not among the best 1",
        True,
    )
    assert_no_breaches(data, database)
    database.close()


@pytest.mark.usefixtures("trials")
def test_missing_or_damaged_file_is_a_problem_and_the_rest_is_backed_up(service: ServiceRig, folder: Open) -> None:
    service.attempt(1, 0).model.unlink()
    service.attempt(1, 1).model.write_bytes(b"something else")
    done = _backup(service, folder())
    missing, damaged = (service.data.relative(service.attempt(1, number).model) for number in (0, 1))
    assert done.problems == (
        f"{missing} is missing",
        f"{damaged} is damaged: its content has changed since it was saved",
    )
    assert done.files == 7  # the damaged one as it is


@pytest.mark.usefixtures("trials")
def test_damaged_or_missing_content_of_a_backup_is_found(service: ServiceRig, folder: Open, tmp_path: Path) -> None:
    _backup(service, folder())
    model = sha256_of(service.attempt(1, 0).model)
    stored = tmp_path / "backup" / "objects" / model[:2] / model
    stored.write_bytes(b"x" * stored.stat().st_size)
    with pytest.raises(FileStoreError, match=r"model.safetensors is damaged"):
        _restore(folder(), tmp_path / "restored")
    stored.unlink()
    with pytest.raises(FileStoreError, match=r"the content of trials/1/0/.*model.safetensors is missing"):
        _restore(folder(), tmp_path / "restored")
    if not CHOSEN.postgres:
        with pytest.raises(DatabaseError, match="is not completely restored; run the same `podium restore` again"):
            migrate(tmp_path / "restored" / "podium.sqlite3")
    service.attempt(1, 0).log.write_text("new\n")
    _backup(service, folder())  # stores the content again
    with pytest.raises(DataDirectoryError, match="has a part of another snapshot"):
        _restore(folder(), tmp_path / "restored")
    assert _restore(folder(), tmp_path / "restored", folder().snapshots()[0]).files == 8


@pytest.mark.usefixtures("trials")
def test_folder_with_other_files_or_of_another_service_is_refused(
    service: ServiceRig, folder: Open, tmp_path: Path
) -> None:
    (tmp_path / "backup" / "inner").mkdir(parents=True)
    with pytest.raises(DatabaseError, match="has other files; give an empty folder"):
        _backup(service, folder())
    (tmp_path / "backup" / "inner").rmdir()
    (tmp_path / "backup" / MARK).write_text('{"service": "another"}')
    with pytest.raises(DatabaseError, match="has the backups of another service"):
        _backup(service, folder())
    assert folder().snapshots() == []


@pytest.mark.usefixtures("trials")
def test_restore_into_a_used_folder_or_of_nothing_is_refused(service: ServiceRig, folder: Open, tmp_path: Path) -> None:
    with pytest.raises(DatabaseError, match="there is no snapshot in"):
        _restore(folder(), tmp_path / "restored")
    _backup(service, folder())
    with pytest.raises(DatabaseError, match="has no snapshot 'other'"):
        _restore(folder(), tmp_path / "restored", "other")
    (tmp_path / "restored" / "mine").write_text("")
    with pytest.raises(DataDirectoryError, match="is not empty"):
        _restore(folder(), tmp_path / "restored")


def test_data_is_named_and_prepared_arrays_are_included_on_request(
    service: ServiceRig, trials: list[int], folder: Open, tmp_path: Path
) -> None:
    service.sweep()
    (service.data.data_cache / "digits-1234").mkdir(parents=True)
    (service.data.data_cache / "digits-1234" / "inputs.npy").write_bytes(b"array")
    without = _backup(service, folder())
    assert "digits" in str(folder().manifest(without.snapshot)[1].data)
    with_them = _backup(service, folder(), datasets=True)
    assert with_them.files == without.files + 1
    _restore(folder(), tmp_path / "restored")
    assert (DataDirectory(tmp_path / "restored").data_cache / "digits-1234" / "inputs.npy").read_bytes() == b"array"


def test_manifest_of_a_later_version_is_refused(service: ServiceRig, folder: Open, tmp_path: Path) -> None:
    done = _backup(service, folder())
    manifest = tmp_path / "backup" / "snapshots" / f"{done.snapshot}.json"
    content = manifest.read_text()
    manifest.write_text(content.replace('"format": 1', '"format": 2'))
    with pytest.raises(DatabaseError, match="was written by a newer Podium"):
        _restore(folder(), tmp_path / "restored")
    manifest.write_text(content[:-9])
    with pytest.raises(DatabaseError, match="is damaged"):
        _restore(folder(), tmp_path / "restored")


def test_manifest_that_names_a_file_elsewhere_is_refused(service: ServiceRig, folder: Open, tmp_path: Path) -> None:
    service.trial(service.sweep(), 0, 0.5, log="line\n", model=False)
    done = _backup(service, folder())
    manifest = tmp_path / "backup" / "snapshots" / f"{done.snapshot}.json"
    manifest.write_text(manifest.read_text().replace('"trials/', '"../trials/'))
    with pytest.raises(DatabaseError, match="which is not in a data directory"):
        _restore(folder(), tmp_path / "restored")
