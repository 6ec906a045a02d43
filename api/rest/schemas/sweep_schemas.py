"""Response models for sweeps, their budgets, warnings and provenance; api."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from podium.api.rest.schemas.base_schema import View, time_of
from podium.api.rest.schemas.population_schemas import PopulationView
from podium.db.queries.population_schedules import PopulationSummary
from podium.db.stores.sweep_metadata import Labels
from podium.db.stores.sweep_predecessors import SweepLinks
from podium.db.stores.sweeps import SweepRow
from podium.db.stores.trial_reader import TrialRow
from podium.sweep.lifecycle.budget_usage import BudgetTerms, BudgetUsage
from podium.sweep.spec.trial_stop_conditions import ValueRule, value_rule
from podium.sweep.values.attempt_assignment import Scalar
from podium.sweep.values.states import TERMINAL_SWEEP_STATES
from podium.sweep.values.sweep_wait_reason import WaitReason


class BestView(View):
    """A sweep's best trial so far; with several objectives, by the first one."""

    trial_id: int
    number: int
    value: float
    values: dict[str, float] | None  # by metric, with several objectives
    pareto: bool | None  # with several objectives: on the Pareto front
    params: dict[str, Scalar]


class WarmStartView(View):
    """Trials of earlier sweeps that a sweep's search started from."""

    trials: int  # given to the search
    dropped: int  # incompatible with the sweep's parameters
    why: list[str]  # the first reasons
    left_out: int = 0  # beyond the limit: the best and the newest trials are used


class SpendingView(View):
    """Usage and limit of a resource; null: no limit."""

    used: float
    allowed: float | None


class PlateauView(View):
    """The number of trials without improvement, and its limit."""

    used: int
    allowed: int
    min_delta: float


class TargetView(View):
    """The metric value that ends the sweep, and the number of the trial that reached it."""

    value: float
    reached_by: int | None


class BudgetView(View):
    """Usage and limits of a sweep."""

    wall_s: SpendingView
    device_s: SpendingView
    plateau: PlateauView | None
    target: TargetView | None

    @classmethod
    def of(cls, terms: BudgetTerms, used: BudgetUsage) -> BudgetView:
        plateau, reached = terms.plateau, used.reached_by
        return cls(
            wall_s=SpendingView(used=round(used.wall_s, 3), allowed=terms.wall_s),
            device_s=SpendingView(used=round(used.device_s, 3), allowed=terms.device_s),
            plateau=None
            if plateau is None
            else PlateauView(used=used.trials_without_improvement, allowed=plateau.trials, min_delta=plateau.min_delta),
            target=None
            if terms.target is None
            else TargetView(value=terms.target, reached_by=None if reached is None else reached.number),
        )


class WarningView(View):
    """A warning; it does not affect the sweep."""

    code: str  # identical_results
    message: str
    at: datetime | None


class ProvenanceView(View):
    """Provenance of a sweep; null: unknown."""

    git_commit: str | None
    git_dirty: bool | None  # uncommitted changes
    command: list[str]  # that submitted the sweep, without secrets
    packages_sha256: str | None  # of the service's package list: GET /sweeps/{id}/packages

    @classmethod
    def of(cls, row: SweepRow) -> ProvenanceView:
        stored = {} if row.provenance is None else json.loads(row.provenance)
        return cls(
            git_commit=stored.get("git_commit"),
            git_dirty=stored.get("git_dirty"),
            command=stored.get("command", []),
            packages_sha256=row.environment,
        )


class LinkedSweepView(View):
    """A sweep that runs before or after another one."""

    id: int
    name: str
    state: str


class FixedView(View):
    """Values that `fix_from` took from the best trial of an earlier sweep."""

    sweep_id: int
    trial_id: int
    number: int
    params: dict[str, Scalar]


class SweepView(View):
    """A sweep."""

    id: int
    name: str
    description: str | None  # Markdown; null in lists
    project: str  # "": none
    tags: list[str]
    owner: str  # name of the token that submitted it; "": unknown
    starred: bool  # by the user who asks
    archived: bool  # not in the list, unless the filter has is:archived
    state: str
    reason: str  # of the state
    wait_reason: WaitReason | None  # why it waits; null: it does not wait
    wait_message: str  # the same for people, with the devices or sweeps in question
    spec: dict[str, Any]  # with the values that `fix_from` took as constants
    value_rule: ValueRule  # which report is the value of a trial, if its program returns none
    held: bool  # it waits for its predecessors to finish
    predecessors: list[LinkedSweepView]  # of `after` and `fix_from`
    successors: list[LinkedSweepView]  # sweeps that wait or waited for this one
    fixed: FixedView | None  # null: no `fix_from`, or its values are not known yet
    run_cap: int  # as submitted or extended
    priority: float
    counts: dict[str, int]
    best: BestView | None
    ensembles: list[int]  # ids of ensembles built from its trials
    ensemble_id: int | None  # built for its `ensemble:` block
    ensemble_error: str | None  # why the ensemble of its `ensemble:` block could not be built
    warm_start: WarmStartView | None  # null: no warm start
    device_busy_share: float | None
    budget: BudgetView | None  # in lists, only of active sweeps with limits
    devices: list[str]  # of its running trials
    eta_s: float | None  # estimated time left, at most; null: unknown
    population: PopulationView | None  # of a sweep that trains in intervals; null in lists
    versions: dict[str, str] | None  # of Python and packages at submission
    provenance: ProvenanceView
    warnings: list[WarningView]
    created_at: datetime | None
    started_at: datetime | None
    ended_at: datetime | None

    @classmethod
    def of(
        cls,
        row: SweepRow,
        best: TrialRow | None,
        links: SweepLinks,
        labels: Labels,
        *,
        description: str | None = None,
        busy_share: float | None = None,
        budget: BudgetView | None = None,
        devices: Sequence[str] = (),
        eta_s: float | None = None,
        population: PopulationSummary | None = None,
    ) -> SweepView:
        spec = json.loads(row.spec_json)
        return cls(
            id=row.id,
            name=row.name,
            description=description,
            project=row.project,
            tags=list(labels.tags),
            owner=row.owner,
            starred=labels.starred,
            archived=row.archived_at is not None,
            state=row.state,
            reason=row.reason,
            wait_reason=None if row.wait is None else row.wait.reason,
            wait_message="" if row.wait is None else row.wait.message,
            spec=spec,
            value_rule=_value_rule(spec),
            held=row.held and row.state not in TERMINAL_SWEEP_STATES,
            predecessors=[LinkedSweepView.model_validate(each) for each in links.predecessors],
            successors=[LinkedSweepView.model_validate(each) for each in links.successors],
            fixed=None if row.fixed is None else FixedView(**json.loads(row.fixed)),
            run_cap=row.run_cap,
            priority=row.priority,
            counts={state.value: count for state, count in sorted(row.counts.items())},
            best=None if best is None else best_view(best, None if best.values is None else True),
            ensembles=list(row.built.ensemble_ids),
            ensemble_id=row.built.requested_id,
            ensemble_error=row.ensemble_error,
            warm_start=None if row.warm_start is None else WarmStartView(**json.loads(row.warm_start)),
            device_busy_share=busy_share,
            budget=budget,
            devices=list(devices),
            eta_s=eta_s,
            population=None if population is None else PopulationView.of(population),
            versions=None if row.versions is None else json.loads(row.versions),
            provenance=ProvenanceView.of(row),
            warnings=[WarningView(code=one.code, message=one.message, at=time_of(one.at)) for one in row.warnings],
            created_at=time_of(row.created_at),
            started_at=time_of(row.started_at),
            ended_at=time_of(row.ended_at),
        )


def _value_rule(spec: dict[str, Any]) -> ValueRule:
    """As `SweepSpec.reported_rule`, without parsing the spec of each sweep in a list."""
    first = (spec.get("metrics") or [spec["metric"]])[0]
    method = spec.get("method")
    return value_rule(
        spec.get("objective", "last"),
        first["goal"],
        is_builtin="model" in spec["program"],
        has_population=isinstance(method, dict) and "type" in method,
    )


def best_view(row: TrialRow, pareto: bool | None = None) -> BestView:
    """A finished trial as one of the best."""
    assert row.value is not None
    return BestView(
        trial_id=row.id, number=row.number, value=row.value, values=row.values, pareto=pareto, params=row.params
    )
