"""SQL expressions for trial columns from other tables, for filters and sorting; api."""

from __future__ import annotations

from typing import Any

from sqlalchemy import ColumnElement, and_, case, func, select

from podium.db.schema.tables import attempts, trial_attrs, trials

NOW = (func.julianday("now") - 2440587.5) * 86400.0
# From the first start to the end, or until now, which is constant within a statement.
DURATION_S = func.coalesce(trials.c.ended_at, NOW) - trials.c.started_at

_CURRENT = and_(attempts.c.trial_id == trials.c.id, attempts.c.number == trials.c.attempt)
DEVICE = select(attempts.c.device_id).where(_CURRENT).correlate(trials).scalar_subquery()
CAUSE = select(attempts.c.cause).where(_CURRENT).correlate(trials).scalar_subquery()


def number_in(value: ColumnElement[Any]) -> ColumnElement[Any]:
    """The number in a JSON column; NULL for other values."""
    return case((func.json_type(value).in_(("integer", "real")), func.json_extract(value, "$")))


ATTR_NUMBER = number_in(trial_attrs.c.value)
