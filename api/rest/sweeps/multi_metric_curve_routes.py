"""Several metrics of the trials of a sweep in one request, as curves or bands, for a grid of charts; api."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import numpy as np
from fastapi import APIRouter, Header, Query, Response
from numpy.typing import NDArray

from podium.api.http.authentication import viewer
from podium.api.http.route_dependencies import RowId, context
from podium.api.http.service_context import ServiceContext
from podium.api.rest.schemas.base_schema import View
from podium.api.rest.schemas.plain_value_response import compressed, json_response
from podium.api.rest.schemas.query_parameters import Filter
from podium.db.queries import learning_curves, multi_metric_curves
from podium.db.queries.curve_downsampling import XRange
from podium.db.queries.full_resolution_curves import BY_METRIC, X_AXES
from podium.db.queries.multi_metric_curves import MAX_BAND_TRIALS, Grid, Panel, Request
from podium.db.queries.trial_filter import WITHIN_S, filter_condition
from podium.db.stores import metric_summaries, metrics, sweeps
from podium.sweep.values.errors import BadRequestError

router = APIRouter(prefix="/api/v1/sweeps/{sweep_id}", tags=["charts"])
MAX_METRICS = 30  # in one request
_LARGEST = 1e37  # a float32 beyond it, or closer to 0 than its inverse, loses digits
Name = Annotated[str, Query(max_length=200)]


class MetricNameView(View):
    """A metric that trials of a sweep have reported; `goal` is null if it is not an objective."""

    name: str
    goal: Literal["maximize", "minimize"] | None


class ShownTrialView(View):
    """A trial of the charts, and the index of its group."""

    id: int
    number: int
    state: str
    group: int


class LineView(View):
    """A trial's curve; it may be thinned from `points` points, where the extremes are kept."""

    trial: int  # the index in `trials`
    points: int
    x: list[float]
    y: list[float]


class BandView(View):
    """Mean and extremes of the curves of a group; at each x, of `curves` trials."""

    group: int  # the index in `groups`
    trials: int
    x: list[float]
    mean: list[float]
    low: list[float]
    high: list[float]
    curves: list[int]


class MarkView(View):
    """A report that is not finite, at its place on the x axis."""

    trial: int  # the index in `trials`
    x: float
    value: Literal["nan", "inf", "-inf"]


class PanelView(View):
    """One metric: `lines`, or `bands`; and reports of NaN and infinities."""

    name: str
    goal: Literal["maximize", "minimize"] | None
    lines: list[LineView]
    bands: list[BandView]
    marks: list[MarkView]
    without_x: int  # points omitted because the metric of the x axis has no value at their step


class CurveGridView(View):
    """Metrics of the same trials: running ones first, then finished ones, best first, then the newest of the others."""

    x: str
    matching: int  # trials that reported one of the metrics
    max_points: int  # of each curve: as requested, or fewer so that the response is at most about 200 kB
    groups: list[str]
    trials: list[ShownTrialView]
    panels: list[PanelView]


@router.get("/metrics", dependencies=[viewer])
def list_metric_names(
    sweep_id: RowId, filter: Filter = None, service: ServiceContext = context
) -> list[MetricNameView]:
    """The metrics that matching trials have reported: the objectives, then the others by name."""
    with service.database.read(within_s=WITHIN_S) as connection:
        sweep = sweeps.without_counts(connection, sweep_id)
        if (filter or "").strip():
            names = learning_curves.metric_names(connection, sweep, filter_condition(connection, filter, sweep))
        else:
            names = learning_curves.objectives_first(sweep, metric_summaries.names_of(connection, sweep_id))
    goals = dict(sweep.objectives)
    return [MetricNameView.model_validate({"name": name, "goal": goals.get(name)}) for name in names]


@router.get("/curve-grid", dependencies=[viewer], response_model=CurveGridView)
def show_curve_grid(
    sweep_id: RowId,
    metric: Annotated[list[Name], Query(min_length=1, max_length=MAX_METRICS, description="repeat it for several")],
    filter: Filter = None,
    x: Annotated[
        str, Query(max_length=210, description="`step`, `time`, `runtime` (seconds) or `metric:NAME`")
    ] = "step",
    x_min: Annotated[float | None, Query(allow_inf_nan=False, description="only this part of the x axis")] = None,
    x_max: Annotated[float | None, Query(allow_inf_nan=False)] = None,
    x_scale: Annotated[Literal["linear", "log"], Query(description="thin for such an axis")] = "linear",
    max_points: Annotated[int, Query(ge=metrics.MIN_POINTS, le=5_000, description="per curve")] = 800,
    limit: Annotated[int, Query(ge=1, le=MAX_BAND_TRIALS, description="trials")] = 50,
    group: Annotated[str | None, Query(max_length=210, description="`params.NAME`, `tag` or `state`")] = None,
    show: Annotated[
        Literal["lines", "bands"], Query(description="each curve, or mean, minimum and maximum per group")
    ] = "lines",
    accept_encoding: Annotated[str, Header(include_in_schema=False)] = "",
    service: ServiceContext = context,
) -> Response:
    """Curves of several metrics, thinned to what a chart can show, or combined by group."""
    request = Request(
        tuple(dict.fromkeys(metric)),
        _x_axis(x),
        XRange(x_min, x_max, log=x_scale == "log"),
        max_points,
        limit,
        group,
        show == "bands",
    )
    with service.database.read(within_s=WITHIN_S) as connection:
        sweep = sweeps.without_counts(connection, sweep_id)
        found = multi_metric_curves.grid(connection, sweep, filter_condition(connection, filter, sweep), request)
    return compressed(json_response(_content(found, request, dict(sweep.objectives))), accept_encoding)


def _x_axis(x: str) -> str:
    if x in X_AXES or x.removeprefix(BY_METRIC) not in ("", x):
        return x
    raise BadRequestError(f"x={x!r}: write {', '.join(X_AXES)} or {BY_METRIC}NAME")


def _content(found: Grid, request: Request, goals: dict[str, str]) -> dict[str, Any]:
    return {
        "x": request.x_axis,
        "matching": found.matching,
        "max_points": found.max_points,
        "groups": found.groups,
        "trials": [
            {"id": row.id, "number": row.number, "state": row.state, "group": group}
            for row, group in zip(found.trials, found.group_of, strict=True)
        ],
        "panels": [_panel(panel, request.x_axis, goals.get(panel.name)) for panel in found.panels],
    }


def _panel(panel: Panel, x_axis: str, goal: str | None) -> dict[str, Any]:
    return {
        "name": panel.name,
        "goal": goal,
        "lines": [
            {"trial": line.trial, "points": line.points, "x": _places(line.x, x_axis), "y": _short(line.y)}
            for line in panel.lines
        ],
        "bands": [
            {
                "group": group,
                "trials": count,
                "x": _places(band.x, x_axis),
                "mean": _short(band.mean),
                "low": _short(band.low),
                "high": _short(band.high),
                "curves": band.curves,
            }
            for group, count, band in panel.bands
        ],
        "marks": [{"trial": trial, "x": x, "value": value} for trial, x, value in panel.marks],
        "without_x": panel.without_x,
    }


def _places(x: NDArray[np.float64], x_axis: str) -> NDArray[Any]:
    if x_axis in ("time", "runtime"):
        return np.round(x, 3)
    return x.astype(np.int64) if x.size and np.all(x == np.floor(x)) and np.abs(x).max() < 2**53 else x


def _short(values: NDArray[np.float64]) -> NDArray[Any]:
    """With the seven digits of a float32, which are more than a chart shows and half the size."""
    sizes = np.abs(values[values != 0])
    if sizes.size and (sizes.max() > _LARGEST or sizes.min() < 1 / _LARGEST):
        return values
    return values.astype(np.float32)
