"""Several metrics of the trials of a sweep, small enough for one response: each curve, or a band per group; api."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, Row, exists, func, select

from podium.db.queries import full_resolution_curves, trial_group_labels
from podium.db.queries.curve_downsampling import Band, XRange, band, thinned
from podium.db.queries.full_resolution_curves import CurvePoints
from podium.db.queries.learning_curves import Condition, first_trials
from podium.db.queries.trial_filter import IN_NUMBER_ORDER
from podium.db.schema.tables import metric_summaries, trials
from podium.db.stores.metrics import MIN_POINTS
from podium.db.stores.sweeps import SweepRow

MAX_VALUES = 20_000  # points of a response: about 200 kB compressed
MAX_LINES = 300  # trials with a curve each
MAX_BAND_TRIALS = 1_000  # trials that are combined into bands


@dataclass(frozen=True, slots=True)
class Request:
    """What a chart shows of the trials that match a filter."""

    metrics: tuple[str, ...]
    x_axis: str  # see `full_resolution_curves.read`
    within: XRange
    max_points: int = 800  # per curve
    limit: int = 50  # trials
    group: str | None = None  # params.NAME, tag or state
    bands: bool = False  # mean, minimum and maximum per group, instead of each curve


@dataclass(frozen=True, slots=True)
class Line:
    """One trial's curve of a metric."""

    trial: int  # its index in `Grid.trials`
    points: int  # before thinning
    x: NDArray[np.float64]
    y: NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Panel:
    """One metric: lines, or bands with the index of their group."""

    name: str
    lines: list[Line]
    bands: list[tuple[int, int, Band]]  # group, number of its trials, band
    marks: list[tuple[int, float, str]]  # trial, x, and nan, inf or -inf
    without_x: int  # points without a value of the metric that is the x axis


@dataclass(frozen=True, slots=True)
class Grid:
    """Several metrics of the same trials."""

    matching: int  # trials that have reported one of the metrics
    trials: list[Row[int, int, str]]  # the most relevant first
    groups: list[str]
    group_of: list[int]  # of each trial
    max_points: int  # of each curve, so that the response is small
    panels: list[Panel]


def grid(connection: Connection, sweep: SweepRow, where: Condition, request: Request) -> Grid:
    """Up to `limit` trials that match `where`: running ones, then finished ones by value, then the newest."""
    reported = where & _reported(request.metrics)
    matching = connection.execute(
        select(func.count()).select_from(trials).where(where, IN_NUMBER_ORDER, reported)
    ).scalar_one()
    most = MAX_BAND_TRIALS if request.bands else MAX_LINES
    shown = first_trials(connection, sweep, reported, min(request.limit, most))
    ids = [row.id for row in shown]
    labels, group_of = (
        trial_group_labels.groups(connection, ids, request.group) if request.group else (["all trials"], [])
    )
    group_of = group_of or [0] * len(ids)
    curves = len(request.metrics) * (3 * len(labels) if request.bands else len(ids))
    max_points = max(MIN_POINTS, min(request.max_points, MAX_VALUES // max(1, curves)))
    panels = []
    for name in request.metrics:
        found = full_resolution_curves.read(connection, ids, name, request.x_axis)
        panels.append(_panel(name, ids, found=found, group_of=group_of, request=request, max_points=max_points))
    return Grid(matching, shown, labels, group_of, max_points, panels)


def _reported(names: Sequence[str]) -> Condition:
    """Trials that have reported one of the metrics; one that was never finite also counts."""
    return exists().where(metric_summaries.c.trial_id == trials.c.id, metric_summaries.c.name.in_(names))


def _panel(
    name: str,
    ids: Sequence[int],
    found: Mapping[int, CurvePoints],
    group_of: Sequence[int],
    request: Request,
    max_points: int,
) -> Panel:
    index = {trial_id: position for position, trial_id in enumerate(ids)}
    marks = [(index[trial_id], x, value) for trial_id, curve in found.items() for x, value in curve.marks]
    without_x = sum(curve.without_x for curve in found.values())
    if request.bands:
        return Panel(
            name, [], _bands(index, found, group_of=group_of, request=request, max_points=max_points), marks, without_x
        )
    lines = [
        Line(index[trial_id], curve.x.size, *thinned(curve.x, curve.y, max_points, request.within))
        for trial_id, curve in found.items()
        if curve.x.size
    ]
    return Panel(name, lines, [], marks, without_x)


def _bands(
    index: Mapping[int, int],
    found: Mapping[int, CurvePoints],
    group_of: Sequence[int],
    request: Request,
    max_points: int,
) -> list[tuple[int, int, Band]]:
    members: dict[int, list[CurvePoints]] = {}
    for trial_id, curve in found.items():
        if curve.x.size:
            members.setdefault(group_of[index[trial_id]], []).append(curve)
    bands = []
    for group, curves in sorted(members.items()):
        combined = band([(curve.x, curve.y) for curve in curves], max(2, max_points // 2), request.within)
        if combined is not None:
            bands.append((group, len(curves), combined))
    return bands
