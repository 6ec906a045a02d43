"""Query parameters of all routes that filter, sort or page through trials, or read the files of an attempt; api."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query

from podium.db.queries.metric_column_expressions import MAX_FIGURES
from podium.db.queries.trial_cursor import MAX_CURSOR
from podium.db.queries.trial_filter import MAX_FILTER
from podium.sweep.spec.resources import MAX_DEVICES

Filter = Annotated[
    str | None,
    Query(max_length=MAX_FILTER, description="conditions that must all hold, such as `state:failed lr<0.01 -tag:bad`"),
]
MetricFigures = Annotated[
    list[str] | None,
    Query(
        max_length=MAX_FIGURES,
        description="figures of metrics, such as `min(val/loss)`: last, min, max, last_step, min_step, max_step or "
        "non_finite; may be repeated",
    ),
]
TrialsAfter = Annotated[str | None, Query(max_length=MAX_CURSOR, description="`next` of the previous page")]
Sort = Annotated[str, Query(max_length=250, description="`best`, or a column; descending with a leading `-`")]
AttemptNumber = Annotated[int | None, Query(ge=1, le=1_000_000)]
Rank = Annotated[int, Query(ge=0, lt=MAX_DEVICES, description="of a trial with a process on each of several devices")]
