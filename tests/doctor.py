"""The final check of every fault test: the invariants of the data directory hold."""

from __future__ import annotations

from podium.db.integrity.main import Report, audit
from podium.db.schema.database import Database
from podium.sweep.runtime.layout import DataDirectory


def assert_no_breaches(data: DataDirectory, database: Database | None = None, *, artifacts: bool = True) -> Report:
    """Raises `AssertionError` naming every violation; returns the report."""
    report = audit(data, database, artifacts=artifacts)
    said = "\n".join(f"{breach.invariant} {breach.rows}: {breach.wrong}" for breach in report.breaches)
    assert not report.breaches, f"{data.root} is not sound:\n{said}"
    return report
