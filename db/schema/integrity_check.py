"""Checks the database for damage, and its file system; read-only; a separate process.

`python -P -m podium.db.schema.integrity_check FILE` prints one line of JSON, or an error message and exits 3.
"""

from __future__ import annotations

import contextlib
import json
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from podium.db.schema.error_exit import exit_with_message
from podium.db.schema.migrate import how_to_restore
from podium.db.schema.schema_version import newest_schema
from podium.db.schema.sqlite_database import WAL_SAFE, connect_read_only, sqlite_module
from podium.db.schema.sqlite_errors import INACCESSIBLE, code_of, refusal
from podium.db.schema.unfinished_copy import refuse_unfinished
from podium.sweep.runtime.disk_space_check import disk_space
from podium.sweep.runtime.filesystem_type import filesystem_type_of, is_network, is_unreliable
from podium.sweep.values.errors import DatabaseError

MAX_FINDINGS = 20
_OURS = {"alembic_version", "sweeps"}


@dataclass(frozen=True, slots=True)
class CheckResult:
    """The result. `problems` must be fixed; `advice` is optional."""

    path: str
    bytes: int
    schema: str | None
    journal_mode: str | None
    sqlite: str
    file_system: str
    free_bytes: int
    problems: tuple[str, ...]
    advice: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _DatabaseState:
    """SQLite's findings about the file."""

    schema: str | None = None
    journal_mode: str | None = None
    problems: tuple[str, ...] = ()


def check(path: Path) -> CheckResult:
    """Check the database at `path`. Raises `DatabaseError` if there is none, or if it is locked."""
    if not path.is_file():
        raise DatabaseError(f"there is no database at {path}; give its folder with --data-dir")
    inside = _read_state(path)
    free = disk_space(path.parent)
    kind = filesystem_type_of(path)
    problems = list(inside.problems)
    if is_network(kind):
        problems.append(f"it is on a network file system ({kind}), which does not support SQLite's locks; move it")
    return CheckResult(
        path=str(path),
        bytes=path.stat().st_size,
        schema=inside.schema,
        journal_mode=inside.journal_mode,
        sqlite=sqlite_module().sqlite_version,
        file_system=kind,
        free_bytes=free.free_bytes,
        problems=tuple(problems),
        advice=(*_advice(inside, kind), *([] if free.is_sufficient else [str(free)])),
    )


def _read_state(path: Path) -> _DatabaseState:
    try:
        with contextlib.closing(connect_read_only(path)) as connection:
            return _read(connection, path)
    except sqlite_module().Error as error:
        if code_of(error) in INACCESSIBLE:
            raise refusal(path, "check", error) from error
        return _DatabaseState(problems=(f"damaged: {error}; {how_to_restore(path)}",))


def _read(connection: Any, path: Path) -> _DatabaseState:
    problems = [
        f"damaged: {line}" for (line,) in connection.execute(f"PRAGMA integrity_check({MAX_FINDINGS})") if line != "ok"
    ]
    if problems:
        problems.append(how_to_restore(path))
    loose: dict[tuple[str, str], int] = {}
    for table, _row, parent, _key in connection.execute("PRAGMA foreign_key_check"):
        loose[table, parent] = loose.get((table, parent), 0) + 1
    problems += [
        f"references of {table} to missing rows of {parent}: {count}" for (table, parent), count in loose.items()
    ]
    tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    found = connection.execute("SELECT version_num FROM alembic_version").fetchone() if tables >= _OURS else None
    if found is None:
        problems.append("not a Podium database, or empty; choose another data directory")
    else:
        refuse_unfinished(str(path), found[0])
    (mode,) = connection.execute("PRAGMA journal_mode").fetchone()
    return _DatabaseState(None if found is None else found[0], mode, tuple(problems))


def _advice(inside: _DatabaseState, kind: str) -> list[str]:
    advice = []
    if inside.schema is not None and inside.schema != newest_schema():
        advice.append(f"schema {inside.schema} is older than {newest_schema()}; run `podium db upgrade`")
    module = sqlite_module()
    if module.sqlite_version_info < WAL_SAFE:
        wanted = ".".join(map(str, WAL_SAFE))
        advice.append(
            f"SQLite {module.sqlite_version} is older than {wanted}, which fixes a bug in write-ahead logging; Podium "
            "runs without it, but slower; install the package pysqlite3"
        )
    if is_unreliable(kind):
        advice.append(f"it is on {kind}, where locks may be unreliable; use a local disk")
    return advice


def main() -> None:
    """Check the file named on the command line."""
    with exit_with_message():
        print(json.dumps(asdict(check(Path(sys.argv[1])))))


if __name__ == "__main__":
    main()
