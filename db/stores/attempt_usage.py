"""What attempts used, as samples that become coarser with age; scheduler and api.

Of each rank, the last two minutes have a row per second, an hour one per 10 s, a day one per minute, a week one per 10
minutes, and everything before one per hour: at most 3,000 rows in a week. Trials with many attempts, as those of
populations, have a row per minute of all but the last attempts.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, select

from podium.db.schema.tables import attempt_usage, attempts
from podium.db.stores.precompiled_sql_statements import DriverText, RowInsert
from podium.sweep.lifecycle.database_changes import UsageSampled
from podium.sweep.values.slot_events import Sampled
from podium.sweep.values.usage_samples import FIELDS, UsageSample, merged_by

LEVELS = ((10.0, 120.0), (60.0, 3600.0), (600.0, 86_400.0), (3600.0, 604_800.0))  # width of rows, from which age on
DETAILED_ATTEMPTS = 8  # of a trial: the last ones
COARSE_S = 60.0  # width of the rows of earlier ones

_COLUMNS = ", ".join(FIELDS)
# Executed for each attempt every few seconds.
_MINE = "trial_id = ? AND number = ? AND rank = ?"
_NEWEST = DriverText(f"SELECT max(at) FROM attempt_usage WHERE {_MINE}")  # noqa: S608 - constants
_ADD = RowInsert(attempt_usage, ("trial_id", "number", "rank", *FIELDS))
_FINE = DriverText(f"SELECT {_COLUMNS} FROM attempt_usage WHERE {_MINE} AND at < ? AND span_s <= ? ORDER BY at")  # noqa: S608
_REMOVE = DriverText(f"DELETE FROM attempt_usage WHERE {_MINE} AND at < ? AND span_s <= ?")  # noqa: S608
_PEAK = (
    "UPDATE {} SET peak_memory_bytes = max(coalesce(peak_memory_bytes, 0), ?), peak_gpu_memory_bytes ="
    " coalesce(max(coalesce(peak_gpu_memory_bytes, 0), ?), peak_gpu_memory_bytes)"
)
_RANK_PEAK = DriverText(_PEAK.format("attempt_ranks") + f" WHERE {_MINE}")
_ATTEMPT_PEAK = DriverText(_PEAK.format("attempts") + " WHERE trial_id = ? AND number = ?")
_SUM_OF_PEAKS = DriverText(
    "UPDATE attempts SET (peak_memory_bytes, peak_gpu_memory_bytes) = (SELECT sum(peak_memory_bytes),"
    " sum(peak_gpu_memory_bytes) FROM attempt_ranks r WHERE r.trial_id = attempts.trial_id"
    " AND r.number = attempts.number) WHERE trial_id = ? AND number = ?"
)
_LIMITS = DriverText(
    "UPDATE attempts SET memory_limit_bytes = ?, gpu_memory_limit_bytes = coalesce(?, gpu_memory_limit_bytes)"
    " WHERE trial_id = ? AND number = ?"
)


def add(connection: Connection, sampled: Sequence[UsageSampled]) -> None:
    """Add samples. Those that are there already, as after a restart of the scheduler, have no effect."""
    for item in sampled:
        _add(connection, item.event)


def _add(connection: Connection, event: Sampled) -> None:
    mine = (event.key.trial_id, event.key.attempt, event.rank)
    newest: float | None = _NEWEST.execute(connection, mine).scalar_one()
    new = [sample for sample in event.samples if newest is None or sample.at > newest]
    if not new:
        return
    _insert(connection, mine, new)
    _record_peaks(connection, event, new)
    if newest is None:
        if event.key.attempt > DETAILED_ATTEMPTS:
            _merge(connection, (mine[0], mine[1] - DETAILED_ATTEMPTS, mine[2]), new[-1].at, COARSE_S)
        return
    for width_s, age_s in LEVELS:
        if new[-1].at // width_s > newest // width_s:
            _merge(connection, mine, (new[-1].at - age_s) // width_s * width_s, width_s)


def _insert(connection: Connection, mine: tuple[int, int, int], samples: Sequence[UsageSample]) -> None:
    _ADD.execute(connection, [(*mine, *sample.row) for sample in samples])


def _merge(connection: Connection, mine: tuple[int, int, int], before: float, width_s: float) -> None:
    """Merge the rows before a time that are narrower than `width_s`."""
    which = (*mine, before, width_s / 2)
    fine = [UsageSample(*row) for row in _FINE.execute(connection, which)]
    coarse = merged_by(fine, width_s)
    if len(coarse) < len(fine):
        _REMOVE.execute(connection, which)
        _insert(connection, mine, coarse)


def _record_peaks(connection: Connection, event: Sampled, new: Sequence[UsageSample]) -> None:
    attempt = (event.key.trial_id, event.key.attempt)
    gpu = max((sample.gpu_memory_bytes for sample in new if sample.gpu_memory_bytes is not None), default=None)
    peaks = (max(sample.memory_bytes for sample in new), gpu)
    if _RANK_PEAK.execute(connection, (*peaks, *attempt, event.rank)).rowcount:
        _SUM_OF_PEAKS.execute(connection, attempt)
    else:
        _ATTEMPT_PEAK.execute(connection, (*peaks, *attempt))
    _LIMITS.execute(connection, (event.memory_limit_bytes, event.gpu_memory_limit_bytes, *attempt))


def of_attempt(connection: Connection, trial_id: int, number: int) -> dict[int, list[UsageSample]]:
    """The samples of an attempt by rank, oldest first."""
    columns = [attempt_usage.c[name] for name in FIELDS]
    mine = (attempt_usage.c.trial_id == trial_id) & (attempt_usage.c.number == number)
    statement = select(attempt_usage.c.rank, *columns).where(mine).order_by(attempt_usage.c.rank, attempt_usage.c.at)
    found: dict[int, list[UsageSample]] = {}
    for rank, *values in connection.execute(statement):
        found.setdefault(rank, []).append(UsageSample(*values))
    return found


def limits_of(connection: Connection, trial_id: int, number: int) -> tuple[int | None, int | None]:
    """The limits of host memory and of GPU memory of each rank of an attempt, in bytes."""
    mine = (attempts.c.trial_id == trial_id) & (attempts.c.number == number)
    columns: Any = select(attempts.c.memory_limit_bytes, attempts.c.gpu_memory_limit_bytes)
    row = connection.execute(columns.where(mine)).one_or_none()
    return (None, None) if row is None else (row[0], row[1])
