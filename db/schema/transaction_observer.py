"""Tells when the parts of transactions begin and end: connections, statements, commits; every process with a loop."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from sqlalchemy import Engine, event

OnProgress = Callable[[], None]  # in the thread of the transaction

# Each part waits for one thing only: a connection, a lock, a statement, or the disk of a commit. `report_part` reports
# what SQLAlchemy does not see: statements of the driver, SQLite's BEGIN, and the end of its commits.
_PARTS = ("connect", "checkout", "before_cursor_execute", "after_cursor_execute", "commit", "checkin")
_ON_PROGRESS = "podium.on_progress"  # in the information about a connection


def report_progress(engine: Engine, on_progress: OnProgress) -> None:
    """Call `on_progress` between the parts of each transaction of an engine, whose connections know it."""

    def on_part(*_: object) -> None:
        on_progress()

    def on_connect(_: object, record: Any) -> None:
        record.info[_ON_PROGRESS] = on_progress

    for part in _PARTS:
        event.listen(engine, part, on_part)
    event.listen(engine, "connect", on_connect)


def report_part(info: Mapping[Any, Any]) -> None:
    """Report the start or the end of a part that SQLAlchemy does not see. `info`: of the connection in the pool."""
    if on_progress := info.get(_ON_PROGRESS):
        on_progress()
