"""Entry point of `podium doctor`: checks the invariants of rows, files and processes; a separate process.

`python -P -m podium.db.integrity.main DIRECTORY [--no-artifacts] [--url-file FILE]` prints the report as JSON, or
prints an error message and exits 3. It is read-only and works with or without a running service. See
`docs/reference/doctor.md` for each invariant.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from alembic.migration import MigrationContext
from sqlalchemy import Connection, text

from podium.db.integrity import file_and_process_checks, node_checks, row_checks, undelivered_notifications
from podium.db.integrity.invariant import ALWAYS, NO_ROOM, WHILE_STOPPED, Breach
from podium.db.integrity.services_in_use import services_in_use
from podium.db.schema.database import Database
from podium.db.schema.open_database import open_database_of
from podium.db.schema.schema_version import known_schema, newest_schema
from podium.db.schema.sqlite_database import SqliteDatabase
from podium.sweep.runtime.disk_space_check import disk_space
from podium.sweep.runtime.layout import DataDirectory
from podium.sweep.values.errors import DatabaseError

_OF_A_RUNNING_SERVICE = ("alive", "nodes")
INVARIANTS = (
    "database", "attempts", "results", "counts", "sweeps", "devices", "alive", "nodes", "best", "ensembles",
    "references", "requests", "stray", "usage", "notifications", "artifacts",
)  # fmt: skip
SETTLE_S = 10.0
RECHECK_S = 2.0
MAX_WAIT_S = 60.0


@dataclass(frozen=True, slots=True)
class Report:
    """The checked invariants and the breaches."""

    running: bool  # a service uses the data directory
    invariants: tuple[str, ...]
    sweeps: int
    trials: int
    attempts: int
    breaches: tuple[Breach, ...]
    notes: tuple[str, ...]


def audit(
    data: DataDirectory,
    database: Database | None = None,
    *,
    artifacts: bool = True,
    settle_s: float = SETTLE_S,
    say: Callable[[str], None] = lambda _: None,
    sleep: Callable[[float], None] = time.sleep,
) -> Report:
    """Check everything. A transient condition is a breach only if it lasts for `settle_s` seconds.

    Only seconds during which every component of the service is ready count. `database` is that of the service, if it is
    not the one that the data directory names. Raises `DatabaseError` if there is none, or its schema is not the current
    one.
    """
    with contextlib.ExitStack() as closing:
        if database is None:
            database = open_database_of(data)
            closing.callback(database.close)
        found = _find_breaches(database, data, artifacts, say)
        waited = in_all = 0.0
        while any(breach.passing for breach in found) and waited < settle_s and in_all < MAX_WAIT_S:
            sleep(RECHECK_S)
            in_all += RECHECK_S
            waited = waited + RECHECK_S if _is_settled(database, data) else 0.0
            again = {_key(breach) for breach in _find_breaches(database, data, False, say)}
            found = [breach for breach in found if not breach.passing or _key(breach) in again]
        return _report(database, data, found, artifacts)


def _key(breach: Breach) -> tuple[object, ...]:
    return (breach.invariant, *breach.rows.items())


def _is_settled(database: Database, data: DataDirectory) -> bool:
    """Whether no service runs, or all components of those that do are ready."""
    with database.read() as connection:
        return services_in_use(connection, data).settled


def _find_breaches(
    database: Database, data: DataDirectory, artifacts: bool, say: Callable[[str], None]
) -> list[Breach]:
    with database.read() as connection:
        _check_schema(connection, database)
        found = [*row_checks.integrity_problems(connection), *row_checks.breaches(connection)]
        found += file_and_process_checks.leftovers(connection, data)
        found += undelivered_notifications.failing_targets(connection)
        found += undelivered_notifications.cursor_problems(connection)
        services = services_in_use(connection, data)
        if services.running:
            found += file_and_process_checks.dead_attempts(connection, leads_here=services.leads_here)
            found += node_checks.nodes_in_use(connection, time.time())
            found += node_checks.left_on_nodes(connection, data, time.time())
        saved = file_and_process_checks.saved_artifacts(connection) if artifacts else []
    return [*found, *file_and_process_checks.artifacts(saved, data, say)]


def _check_schema(connection: Connection, database: Database) -> None:
    found, newest = MigrationContext.configure(connection).get_current_revision(), newest_schema()
    if found == newest:
        return
    if found is not None:
        known_schema(database.name, found, database.path if isinstance(database, SqliteDatabase) else None)
    raise DatabaseError(
        f"{database.name} has schema {found}, not {newest}; `podium db upgrade` and `podium serve` upgrade it"
    )


def _report(database: Database, data: DataDirectory, found: list[Breach], artifacts: bool) -> Report:
    with database.read() as connection:
        sweeps, trials, attempts, open_trials = connection.execute(
            text(
                "SELECT (SELECT count(*) FROM sweeps), (SELECT count(*) FROM trials), (SELECT count(*) FROM attempts),"
                " (SELECT count(*) FROM trials WHERE state = 'running')"
            )
        ).one()
        running = services_in_use(connection, data).running
    found_room = disk_space(data.root)
    excused = {ALWAYS: "", **({} if running else {WHILE_STOPPED: "; fixed at the next start"})}
    if running and not found_room.is_sufficient:
        excused[NO_ROOM] = "; will be written when there is disk space"
    notes = [
        f"{breach.wrong} ({_named(breach)}){excused[when]}"
        for breach in found
        for when in [reason for reason in breach.note_when if reason in excused][:1]
    ]
    found = [breach for breach in found if not excused.keys() & set(breach.note_when)]
    if running and not found_room.is_sufficient:
        notes.append(str(found_room))
    if open_trials and not running:
        notes.append(f"no service runs: {open_trials} running trials will be retried at the next start")
    left_out = (*(() if artifacts else ("artifacts",)), *(() if running else _OF_A_RUNNING_SERVICE))
    looked = tuple(name for name in INVARIANTS if name not in left_out)
    return Report(
        running=running,
        invariants=looked,
        sweeps=sweeps,
        trials=trials,
        attempts=attempts,
        breaches=tuple(found),
        notes=tuple(notes),
    )


def _named(breach: Breach) -> str:
    return ", ".join(f"{name} {value}" for name, value in breach.rows.items())


def main() -> None:
    """Audit the directory named on the command line."""
    parser = argparse.ArgumentParser()
    parser.add_argument("directory", type=Path)
    parser.add_argument("--no-artifacts", action="store_true")
    parser.add_argument("--url-file", type=Path)
    arguments = parser.parse_args()
    data = DataDirectory(arguments.directory)
    try:
        report = audit(
            data,
            open_database_of(data, arguments.url_file),
            artifacts=not arguments.no_artifacts,
            say=lambda line: print(line, file=sys.stderr, flush=True),
        )
    except DatabaseError as error:
        print(error, file=sys.stderr)
        sys.exit(3)
    print(json.dumps(asdict(report)))


if __name__ == "__main__":
    main()
