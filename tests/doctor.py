"""What every fault test ends with: nothing that must hold is broken."""

from __future__ import annotations

from podium.db.audit.audit import Report, audit
from podium.sweep.runtime.layout import DataDirectory


def assert_sound(data: DataDirectory, *, artifacts: bool = True) -> Report:
    """Raises `AssertionError` naming every breach; gives the report."""
    report = audit(data, artifacts=artifacts)
    said = "\n".join(f"{breach.invariant} {breach.rows}: {breach.wrong}" for breach in report.breaches)
    assert not report.breaches, f"{data.root} is not sound:\n{said}"
    return report
