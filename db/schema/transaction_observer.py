"""Tells when the parts of transactions begin and end: connections, statements, commits; every process with a loop."""

from __future__ import annotations

from collections.abc import Callable

from sqlalchemy import Engine, event

OnProgress = Callable[[], None]  # in the thread of the transaction

# Each part waits for one thing only: a connection, a lock, a statement, or the disk of a commit.
_PARTS = ("connect", "checkout", "before_cursor_execute", "after_cursor_execute", "commit", "checkin")


def report_progress(engine: Engine, on_progress: OnProgress) -> None:
    """Call `on_progress` between the parts of each transaction of an engine."""

    def on_part(*_: object) -> None:
        on_progress()

    for part in _PARTS:
        event.listen(engine, part, on_part)
