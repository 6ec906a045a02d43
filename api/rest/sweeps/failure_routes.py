"""Failures of a sweep over REST: failed trials, grouped by normalized message; api."""

from __future__ import annotations

from fastapi import APIRouter

from podium.api.http.authentication import viewer
from podium.api.http.route_dependencies import RowId, context
from podium.api.http.service_context import ServiceContext
from podium.api.rest.schemas.base_schema import View
from podium.api.rest.schemas.query_parameters import Filter
from podium.db.queries.failure_groups import FailureGroup, failure_groups
from podium.db.queries.trial_filter import WITHIN_S, filter_condition
from podium.db.stores import sweeps
from podium.sweep.values.attempt_assignment import Scalar
from podium.sweep.values.failure_causes import Cause

router = APIRouter(prefix="/api/v1/sweeps/{sweep_id}", tags=["sweeps"])


class RangeOfValueView(View):
    """The range of a parameter in the failed trials with one value of another parameter."""

    value: Scalar
    min: float
    max: float
    failed: int
    finished: int  # trials with that value from `min` to `max`


class SplitRangeView(View):
    """The parameter whose values separate failed from finished trials best, with a range for each value."""

    parameter: str
    ranges: list[RangeOfValueView]


class ParameterSummaryView(View):
    """The values of a parameter in a group of trials."""

    values: list[Scalar]  # the most frequent ones, at most 4
    distinct: int
    min: float | None  # of numbers; null if another value is among them
    max: float | None
    finished: int | None = None  # finished trials from `min` to `max`, if there are more than 4 numbers
    split: SplitRangeView | None = None  # if at most 60% of them finished in its ranges


class FailureGroupView(View):
    """Failed trials with the same cause and, apart from numbers, paths and addresses, the same message."""

    cause: Cause | None
    message: str  # the first line, with `<n>`, `<path>`, `<address>`, `<url>` and `<id>` as placeholders
    count: int
    devices: dict[str, int]  # failures by device
    params: dict[str, ParameterSummaryView]  # of the trials in `trial_ids`
    trial_ids: list[int]  # at most the newest 500
    first_id: int  # the trial with the lowest number
    first_number: int
    first_message: str  # without placeholders
    location: str | None  # file, line and function of the first one
    log: str  # the last lines of the first one

    @classmethod
    def of(cls, group: FailureGroup) -> FailureGroupView:
        fields = {name: getattr(group, name) for name in cls.model_fields}
        params = {name: ParameterSummaryView.model_validate(each) for name, each in group.params.items()}
        return cls(**{**fields, "cause": group.cause or None, "devices": dict(group.devices), "params": params})


class FailuresView(View):
    """The failed trials of a sweep in groups, the largest first; at most 50 groups of the newest 10,000 failures."""

    failed: int
    examined: int
    groups: list[FailureGroupView]


@router.get("/failures", dependencies=[viewer])
def show_failures(sweep_id: RowId, filter: Filter = None, service: ServiceContext = context) -> FailuresView:
    """The failed trials that match, grouped by cause and message: how often, where, on which devices."""
    with service.database.read(within_s=WITHIN_S) as connection:
        sweep = sweeps.without_counts(connection, sweep_id)
        found = failure_groups(connection, sweep_id, filter_condition(connection, filter, sweep))
    groups = [FailureGroupView.of(group) for group in found.groups]
    return FailuresView(failed=found.failed, examined=found.examined, groups=groups)
