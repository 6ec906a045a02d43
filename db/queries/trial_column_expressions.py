"""SQL expressions for trial columns from other tables, for filters and sorting; api."""

from __future__ import annotations

from typing import Any

from sqlalchemy import ColumnElement, case, func, select

from podium.db.schema.dialect import json_number
from podium.db.schema.tables import attempts, trial_attrs, trials
from podium.db.stores.current_attempt_condition import CURRENT_ATTEMPT
from podium.sweep.values.megabytes import MB

NOW = (func.julianday("now") - 2440587.5) * 86400.0
# From the first start to the end, or until now, which is constant within a statement.
DURATION_S = func.coalesce(trials.c.ended_at, NOW) - trials.c.started_at
# Only while an attempt held its device: without the queue before the first one and between two of them. Imported trials
# have no attempts.
HELD_S = func.coalesce(
    attempts.c.device_s / attempts.c.devices, func.coalesce(attempts.c.ended_at, NOW) - attempts.c.started_at
)
_ATTEMPTS_S = select(func.sum(HELD_S)).where(attempts.c.trial_id == trials.c.id).correlate(trials).scalar_subquery()
RUNNING_S = case((trials.c.attempt == 0, DURATION_S), else_=_ATTEMPTS_S)
# From the creation to the end, or until now, without the running time.
QUEUED_S = func.max(0.0, func.coalesce(trials.c.ended_at, NOW) - trials.c.created_at - func.coalesce(RUNNING_S, 0.0))

DEVICE = select(attempts.c.device_id).where(CURRENT_ATTEMPT).correlate(trials).scalar_subquery()
CAUSE = select(attempts.c.cause).where(CURRENT_ATTEMPT).correlate(trials).scalar_subquery()


_OF_CURRENT = {
    "peak_memory_mb": attempts.c.peak_memory_bytes,
    "peak_gpu_memory_mb": attempts.c.peak_gpu_memory_bytes,
}
PEAKS_MB = {
    name: select(column / float(MB)).where(CURRENT_ATTEMPT).correlate(trials).scalar_subquery()
    for name, column in _OF_CURRENT.items()
}


def number_in(value: ColumnElement[Any]) -> ColumnElement[Any]:
    """The number in a JSON column; NULL for other values."""
    return case((func.json_type(value).in_(("integer", "real")), json_number(value)))


ATTR_NUMBER = number_in(trial_attrs.c.value)
