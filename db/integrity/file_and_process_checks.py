"""Invariants of files and processes against the database; the process of `podium doctor`."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Row, text

from podium.db.integrity.invariant import ALWAYS, NO_ROOM, WHILE_STOPPED, Breach
from podium.db.stores import retention_plan
from podium.sweep.file_store import object_store_fetch_client
from podium.sweep.runtime.attempt_directory import AttemptDirectory
from podium.sweep.runtime.layout import DataDirectory
from podium.sweep.runtime.process_liveness import is_running
from podium.sweep.runtime.processes_using_attempt_directory import attempt_processes
from podium.sweep.runtime.safe_file_reads import sha256_of
from podium.sweep.values.device import is_remote
from podium.sweep.values.device_state import DeviceState
from podium.sweep.values.errors import FileStoreError

Say = Callable[[str], None]
# The files of a cancelled attempt must be removed within this time after the grace period of its sweep.
RECENT_S = 25.0
OLD_S = 60.0
_TEMPORARY = re.compile(r"\.tmp(-\w+)?$")  # the second: SQLite's files next to a copy in progress
_SAY_EVERY_S = 2.0


def leftovers(connection: Connection, data: DataDirectory) -> Iterator[Breach]:
    """Leftover folders, processes and files."""
    open_keys, lost_keys = open_attempts(connection, data), _lost_attempts(connection, data)
    for path in data.trials.glob("*/*/*/"):
        key = str(path.relative_to(data.trials))
        if key in open_keys:
            continue
        folder = AttemptDirectory(path)
        for left in folder.leftovers():
            if left.is_dir():
                wrong = "the attempt has ended, but its folder exists"
                yield Breach(
                    invariant="stray",
                    rows={"path": str(left)},
                    wrong=wrong,
                    passing=True,
                    note_when=(WHILE_STOPPED,) if key in lost_keys else (),
                )
        yield from _temporary(path)
    for path in (data.root, data.bundles, data.data_cache, data.evaluations, data.backups):
        yield from _temporary(path)
    yield from _processes(data, open_keys)
    yield from _rows_of_evaluations(connection, data)
    yield from _not_kept(connection, data)


def open_attempts(connection: Connection, data: DataDirectory) -> set[str]:
    """The folders of attempts that are running or have just ended."""
    query = (
        "SELECT t.sweep_id, t.number, a.number AS attempt, a.nonce FROM attempts a JOIN trials t ON t.id = a.trial_id"
        " JOIN sweeps s ON s.id = t.sweep_id"
        " WHERE a.ended_at IS NULL OR (a.state = 'cancelled' AND"
        " a.ended_at + coalesce(CAST(json_extract(s.spec, '$.limits.grace_s') AS DOUBLE PRECISION), 5) > :going)"
    )
    rows = connection.execute(text(query), {"going": time.time() - RECENT_S})
    return {data.attempt_key(*row) for row in rows}


def _lost_attempts(connection: Connection, data: DataDirectory) -> set[str]:
    """The folders of attempts that were lost with their slot: only the start of a scheduler removes these."""
    query = (
        "SELECT t.sweep_id, t.number, a.number AS attempt, a.nonce FROM attempts a JOIN trials t ON t.id = a.trial_id"
        " WHERE a.cause IN ('infrastructure', 'node_lost')"
    )
    return {data.attempt_key(*row) for row in connection.execute(text(query))}


def _temporary(folder: Path) -> Iterator[Breach]:
    if not folder.is_dir():
        return
    with os.scandir(folder) as entries:
        for entry in entries:
            try:
                if _TEMPORARY.search(entry.name) and time.time() - entry.stat().st_mtime > OLD_S:
                    yield Breach("stray", {"path": entry.path}, "a leftover temporary file")
            except FileNotFoundError:
                continue


def _processes(data: DataDirectory, open_keys: set[str]) -> Iterator[Breach]:
    """Processes that use the folder of an attempt that has ended."""
    for pid, key in attempt_processes(data.trials):
        if key not in open_keys:
            yield Breach("stray", {"pid": pid, "path": key}, "a process of an attempt that has ended", True)


def _rows_of_evaluations(connection: Connection, data: DataDirectory) -> Iterator[Breach]:
    query = "SELECT id, state FROM evaluations WHERE state IN ('finished', 'failed')"
    for row in connection.execute(text(query)):
        path = data.posted_rows(row.id)
        if path.exists():
            wrong = f"the evaluation is {row.state}, but its posted rows exist"
            yield Breach(
                invariant="stray",
                rows={"evaluation_id": row.id, "path": str(path)},
                wrong=wrong,
                passing=True,
                note_when=(WHILE_STOPPED, NO_ROOM),
            )


def _not_kept(connection: Connection, data: DataDirectory) -> Iterator[Breach]:
    """Weights and artifacts that exist although they are not kept."""
    for left, folder in _marked(connection, data, retention_plan.MODEL):
        if folder.model.exists():
            yield _remaining_files(left, folder.model, "the model is not retained, but its file exists")
    for left, folder in _marked(connection, data, retention_plan.FILES):
        if folder.artifacts.exists():
            yield _remaining_files(left, folder.artifacts, "the artifacts are not retained, but their folder exists")


def _marked(
    connection: Connection, data: DataDirectory, files: str
) -> Iterator[tuple[retention_plan.RemovableFiles, AttemptDirectory]]:
    """The trials with files marked for removal, with each of their attempts."""
    marked = retention_plan.marked_for_removal(connection, files=files)
    folders = retention_plan.folders_of(connection, marked)
    return ((left, AttemptDirectory(data.trials / folder)) for left in marked for folder in folders[left.trial_id])


def _remaining_files(left: retention_plan.RemovableFiles, path: Path, wrong: str) -> Breach:
    return Breach(
        invariant="stray",
        rows={"trial_id": left.trial_id, "path": str(path)},
        wrong=wrong,
        passing=True,
        note_when=(WHILE_STOPPED, NO_ROOM),
    )


def saved_artifacts(connection: Connection) -> Sequence[Row[Any]]:
    """The files of finished trials. Files of other trials may be removed, or newer than their rows."""
    query = (
        "SELECT f.trial_id, f.name, f.attempt, f.sha256, f.size_bytes, t.sweep_id, t.number,"
        " coalesce(a.nonce, '') AS nonce FROM artifacts f JOIN trials t ON t.id = f.trial_id"
        " LEFT JOIN attempts a ON a.trial_id = f.trial_id AND a.number = f.attempt"
        " WHERE t.state = 'finished' ORDER BY f.trial_id"
    )
    return connection.execute(text(query)).all()


def artifacts(rows: Sequence[Row[Any]], data: DataDirectory, say: Say) -> Iterator[Breach]:
    """Checks that `saved_artifacts` files exist, with the recorded size and content.

    Uses no connection: hashing takes long, and a long transaction blocks a service that runs without a write-ahead log.
    """
    said_s = time.monotonic()
    for index, row in enumerate(rows):
        if time.monotonic() - said_s > _SAY_EVERY_S:
            said_s = time.monotonic()
            say(f"{index} of {len(rows)} artifacts hashed")
        folder = data.attempt(row.sweep_id, row.number, row.attempt, row.nonce)
        which = {"trial_id": row.trial_id, "attempt": row.attempt, "name": row.name}
        try:
            wrong = _artifact_problem(row, folder / row.name, data)
        except FileStoreError as error:
            yield Breach("artifacts", which, f"not checked: {error}", note_when=(ALWAYS,))
            continue
        if wrong:
            yield Breach("artifacts", which, wrong)


def _artifact_problem(row: Row[Any], path: Path, data: DataDirectory) -> str:
    """ "" for a sound file. Raises `FileStoreError` if it is in an object store that cannot be used."""
    try:
        size = path.stat().st_size
        if size != row.size_bytes:
            return f"{path} has {size} bytes instead of {row.size_bytes}"
        return "" if sha256_of(path) == row.sha256 else f"the content of {path} has changed since it was saved"
    except FileNotFoundError:
        return _stored_problem(row, path, data)
    except OSError as error:
        return f"{path} cannot be read: {error.strerror}"


def _stored_problem(row: Row[Any], path: Path, data: DataDirectory) -> str:
    """Compares a file that is not on the disk with size and hash in the object store; the content is not read."""
    found = object_store_fetch_client.stored(data, path)
    if found is None:
        return f"{path} is missing"
    return "" if found == (row.size_bytes, row.sha256) else f"{path} has another content in the object store"


def dead_attempts(connection: Connection, *, leads_here: bool) -> Iterator[Breach]:
    """Checks that the processes of running trials exist on this machine; for a database whose service runs.

    `leads_here`: whether this is the machine of its scheduler.
    """
    query = (
        "SELECT t.id AS trial_id, a.number AS attempt, a.pid, a.device_id AS device, d.state FROM trials t"
        " JOIN attempts a ON a.trial_id = t.id AND a.number = t.attempt LEFT JOIN devices d ON d.id = a.device_id"
        " WHERE t.state = 'running' AND a.ended_at IS NULL"
    )
    looks_up = leads_here and connection.execute(text("SELECT count(DISTINCT node) FROM devices")).scalar_one() == 1
    for row in connection.execute(text(query)):
        which = {"trial_id": row.trial_id, "attempt": row.attempt}
        if row.state is None or row.state == DeviceState.LOST:
            wrong = f"it runs on device {row.device}, which is {row.state or 'not there'}"
            yield Breach("alive", which, wrong, passing=True)
        elif looks_up and row.pid is not None and not is_remote(row.device) and not is_running(row.pid):
            yield Breach(
                invariant="alive",
                rows={**which, "pid": row.pid},
                wrong="it is running, but its process does not exist",
                passing=True,
                note_when=(NO_ROOM,),
            )
    holder = connection.execute(text("SELECT holder FROM scheduler_lease")).scalar_one_or_none()
    if holder is None:
        yield Breach("alive", {}, "no scheduler holds the lease", passing=True)
    elif leads_here and (pid := holder.removeprefix("process ")).isdigit() and not is_running(int(pid)):
        yield Breach("alive", {"pid": int(pid)}, f"the scheduler that holds the lease, {holder}, is dead", passing=True)
