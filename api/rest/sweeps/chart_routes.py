"""Chart data of a sweep over REST: trials as points, and learning curves; api."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Literal

from fastapi import APIRouter, Header, Query, Response

from podium.api.http.authentication import viewer
from podium.api.http.route_dependencies import RowId, context
from podium.api.http.service_context import ServiceContext
from podium.api.rest.schemas.base_schema import View
from podium.api.rest.schemas.plain_value_response import compressed, json_response
from podium.api.rest.schemas.query_parameters import Filter, MetricFigures
from podium.api.rest.sweeps.chart_axes import AxisView, axes_of
from podium.db.queries import chart_points, learning_curves
from podium.db.queries.chart_points import Part
from podium.db.queries.metric_column_expressions import parse_figures
from podium.db.queries.trial_filter import WITHIN_S, filter_condition
from podium.db.stores import metrics as metric_points
from podium.db.stores import sweeps
from podium.sweep.spec.metric import Metric
from podium.sweep.spec.sweep_spec import spec_from_json
from podium.sweep.values.attempt_assignment import Scalar

router = APIRouter(prefix="/api/v1/sweeps/{sweep_id}", tags=["charts"])
MAX_POINTS = 20_000
MAX_CURVES = 300


class PointsView(View):
    """Trials as columns: each list has one entry per trial, in order of their numbers.

    Columns of the part `trials`: `id`, `number`, `state`, `value`, `reported` (the last report of a trial without a
    value), `duration_s`, `running_s` (without the time between attempts), `ended_at` (seconds since the epoch),
    `device`, `cause`, `feasible`; if trials were measured, `peak_memory_mb` and `peak_gpu_memory_mb`; with several
    objectives also `values.NAME` and `pareto`, which is true for the trials on the Pareto front of those that match.
    Of the part `parameters`: `params.NAME`. Of the part `metrics`: the requested figures of metrics.
    """

    matching: int
    shown: int  # at most `max`: the best 1,000 and an even sample of the others
    digest: str  # parts with the same digest have the same trials in the same order
    objectives: list[Metric]
    axes: list[AxisView]  # of the parameters; empty without the part `parameters`
    columns: dict[str, list[Scalar]]


class CurveView(View):
    """A trial's curve. It may be downsampled from `points` points; minima and maxima are kept."""

    trial_id: int
    number: int
    state: str
    points: int
    steps: list[int]
    values: list[float]


class CurvesView(View):
    """Curves of one metric: running trials, then finished ones, best first, then the newest of the others."""

    metrics: list[str]
    metric: str | None
    goal: Literal["maximize", "minimize"] | None  # null if the metric is not an objective
    matching: int  # trials that reported the metric
    curves: list[CurveView]


@router.get("/points", dependencies=[viewer], response_model=PointsView)
def show_points(
    sweep_id: RowId,
    filter: Filter = None,
    max: Annotated[int, Query(ge=100, le=MAX_POINTS, description="trials")] = 10_000,
    metrics: MetricFigures = None,
    part: Annotated[list[Part] | None, Query(description="only these columns; may be repeated")] = None,
    digits: Annotated[
        int | None, Query(ge=3, le=17, description="significant digits of parameters and figures; default: all")
    ] = None,
    accept_encoding: Annotated[str, Header()] = "",
    service: ServiceContext = context,
) -> Response:
    """Matching trials as columns; a sample with the best trials if more than `max` match."""
    figures = parse_figures(metrics or ())
    with service.database.read(within_s=WITHIN_S) as connection:
        sweep = sweeps.without_counts(connection, sweep_id)
        where = filter_condition(connection, filter, sweep)
        parts = frozenset(part or Part)
        found = chart_points.points(connection, sweep, where, max, figures=figures, parts=parts, digits=digits)
        spec = spec_from_json(sweep.spec_json)
        known = {f"params.{name}" for name in spec.parameters}
        more = any(name.startswith("params.") and name not in known for name in found.columns)
        seen = chart_points.distributions(connection, sweep_id) if more else {}
    axes = axes_of(spec.parameters, seen) if Part.PARAMETERS in parts else []
    body = {
        "matching": found.matching,
        "shown": found.shown,
        "digest": found.digest,
        "objectives": [metric.model_dump() for metric in spec.objectives],
        "axes": [axis.model_dump() for axis in axes],
        "columns": found.columns,
    }
    return compressed(json_response(body), accept_encoding)


@router.get("/curves", dependencies=[viewer], response_model=CurvesView)
def show_curves(
    sweep_id: RowId,
    filter: Filter = None,
    metric: Annotated[str | None, Query(max_length=200)] = None,
    max_points: Annotated[int, Query(ge=metric_points.MIN_POINTS, le=5_000, description="per curve")] = 400,
    limit: Annotated[int, Query(ge=1, le=MAX_CURVES, description="curves")] = 100,
    service: ServiceContext = context,
) -> Response:
    """Learning curves of one metric, by default the sweep's objective."""
    with service.database.read(within_s=WITHIN_S) as connection:
        sweep = sweeps.without_counts(connection, sweep_id)
        where = filter_condition(connection, filter, sweep)
        found = learning_curves.curves(connection, sweep, where, metric, max_points=max_points, limit=limit)
    goal = next((goal for name, goal in sweep.objectives if name == found.metric), None)
    return json_response({**asdict(found), "goal": goal})
