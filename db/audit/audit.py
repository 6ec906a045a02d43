"""Whether all that must hold does hold: rows, files and processes; run by `podium doctor` as a process of its own.

`python -P -m podium.db.audit.audit DIRECTORY [--no-artifacts]` prints the report as JSON, or prints one sentence and
exits 3. It only reads, whether a service runs or not. See `docs/doctor.md` for each invariant.
"""

from __future__ import annotations

import fcntl
import json
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, text

from podium.db.audit import audit_files, audit_rows
from podium.db.audit.audit_rows import ALWAYS, AT_REST, NO_ROOM, Breach
from podium.db.schema.engine import Database
from podium.db.schema.migrate import alembic_config
from podium.sweep.runtime.disk_space import room
from podium.sweep.runtime.layout import DataDirectory
from podium.sweep.runtime.service_state import all_ready, parts
from podium.sweep.values.errors import DatabaseError

INVARIANTS = (
    "database", "attempts", "results", "counts", "sweeps", "devices", "alive", "best", "ensembles", "references",
    "requests", "stray", "artifacts",
)  # fmt: skip
SETTLE_S = 10.0
LOOK_S = 2.0
MOST_S = 60.0


@dataclass(frozen=True, slots=True)
class Report:
    """What was looked at, and what is wrong."""

    running: bool  # a service uses the data directory
    invariants: tuple[str, ...]
    sweeps: int
    trials: int
    attempts: int
    breaches: tuple[Breach, ...]
    notes: tuple[str, ...]


def audit(
    data: DataDirectory,
    *,
    artifacts: bool = True,
    settle_s: float = SETTLE_S,
    say: Callable[[str], None] = lambda _: None,
    sleep: Callable[[float], None] = time.sleep,
) -> Report:
    """Look at everything. What may be on its way to being right is a breach only if it stays for `settle_s` seconds.

    Those count while every part of the service does its work; one that was killed may take a while to come back.
    Raises `DatabaseError` when there is no database, or one that is no Podium's of today.
    """
    if not data.database.is_file():
        raise DatabaseError(f"there is no database in {data.root}; name another with --data-dir")
    database = Database(data.database)
    try:
        found = _look(database, data, artifacts, say)
        waited = in_all = 0.0
        while any(breach.passing for breach in found) and waited < settle_s and in_all < MOST_S:
            sleep(LOOK_S)
            in_all += LOOK_S
            waited = waited + LOOK_S if _settled(data) else 0.0
            again = {_key(breach) for breach in _look(database, data, False, say)}
            found = [breach for breach in found if not breach.passing or _key(breach) in again]
        return _report(database, data, found, artifacts)
    finally:
        database.close()


def _key(breach: Breach) -> tuple[object, ...]:
    return (breach.invariant, *breach.rows.items())


def _settled(data: DataDirectory) -> bool:
    """Whether no service runs, or one whose parts are all up."""
    found = parts(data)
    return not found or all_ready(found) or not runs(data)


def _look(database: Database, data: DataDirectory, artifacts: bool, say: Callable[[str], None]) -> list[Breach]:
    with database.read() as connection:
        _check_schema(connection, data)
        found = [*audit_rows.damage(connection), *audit_rows.breaches(connection)]
        found += audit_files.stray(connection, data)
        if runs(data):
            found += audit_files.alive(connection)
        saved = audit_files.saved(connection) if artifacts else []
    return [*found, *audit_files.artifacts(saved, data, say)]


def _check_schema(connection: Connection, data: DataDirectory) -> None:
    found = MigrationContext.configure(connection).get_current_revision()
    wanted = ScriptDirectory.from_config(alembic_config()).get_current_head()
    if found != wanted:
        raise DatabaseError(f"{data.database} has schema {found}, not {wanted}; `podium serve` upgrades it")


def _report(database: Database, data: DataDirectory, found: list[Breach], artifacts: bool) -> Report:
    with database.read() as connection:
        sweeps, trials, attempts, open_trials = connection.execute(
            text(
                "SELECT (SELECT count(*) FROM sweeps), (SELECT count(*) FROM trials), (SELECT count(*) FROM attempts),"
                " (SELECT count(*) FROM trials WHERE state = 'running')"
            )
        ).one()
    running, found_room = runs(data), room(data.root)
    excused = {ALWAYS: "", **({} if running else {AT_REST: "; the next start puts it right"})}
    if running and not found_room.enough:
        excused[NO_ROOM] = "; what is known waits until there is room to write it"
    notes = [
        f"{breach.wrong} ({_named(breach)}){excused[when]}"
        for breach in found
        for when in [reason for reason in breach.note_when if reason in excused][:1]
    ]
    found = [breach for breach in found if not excused.keys() & set(breach.note_when)]
    if running and not found_room.enough:
        notes.append(str(found_room))
    if open_trials and not running:
        notes.append(f"no service runs: {open_trials} running trials will be repeated at the next start")
    looked = tuple(name for name in INVARIANTS if (artifacts or name != "artifacts") and (running or name != "alive"))
    return Report(running, looked, sweeps, trials, attempts, tuple(found), tuple(notes))


def _named(breach: Breach) -> str:
    return ", ".join(f"{name} {value}" for name, value in breach.rows.items())


def runs(data: DataDirectory) -> bool:
    """Whether a service uses the data directory: it holds the lock as long as it lives."""
    try:
        with data.service_lock.open("rb") as lock:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except FileNotFoundError:
        return False
    except BlockingIOError:
        return True
    return False


def main() -> None:
    """Audit the directory named on the command line."""
    try:
        report = audit(
            DataDirectory(Path(sys.argv[1])),
            artifacts="--no-artifacts" not in sys.argv[2:],
            say=lambda line: print(line, file=sys.stderr, flush=True),
        )
    except DatabaseError as error:
        print(error, file=sys.stderr)
        sys.exit(3)
    print(json.dumps(asdict(report)))


if __name__ == "__main__":
    main()
