"""Sweeps and code bundles over REST: submit, list, show, pause, resume, stop, cancel, release, extend; api."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

from fastapi import APIRouter, Body, Header, Query, Request, Response
from pydantic import BaseModel, ConfigDict, Field, model_validator

from podium.api.http.authentication import submitter, viewer
from podium.api.http.openapi_problem_responses import idempotent
from podium.api.http.request_body import read_body, reads_own_body
from podium.api.http.route_dependencies import After, RowId, context, has_disk_space
from podium.api.http.service_context import ServiceContext
from podium.api.rest.schemas.base_schema import Page
from podium.api.rest.schemas.plain_value_response import json_response
from podium.api.rest.schemas.query_parameters import Filter, MetricFigures, Sort, TrialsAfter
from podium.api.rest.schemas.sweep_schemas import BestView, SweepView, best_view
from podium.api.rest.schemas.trial_schemas import TrialPage, trial_fields
from podium.api.rest.sweeps.sweep_response import list_of, submitted_view, view_of
from podium.api.use_cases import sweep_commands
from podium.api.use_cases.sweep_commands import command_sweep
from podium.api.use_cases.sweep_submission import Submission, submit_document
from podium.db.access.tokens import Holder
from podium.db.queries import trial_pages
from podium.db.queries.attempt_reader import running_and_queued_s
from podium.db.queries.best_trials import best, pareto
from podium.db.queries.metric_column_expressions import figures_of, parse_figures
from podium.db.queries.sweep_filter import sweep_condition
from podium.db.queries.trial_cursor import cursor_of, position_of
from podium.db.queries.trial_filter import MAX_FILTER, WITHIN_S, filter_condition
from podium.db.queries.trial_order import order_of
from podium.db.stores import sweeps
from podium.sweep.lifecycle.allowed_commands import SweepCommand
from podium.sweep.lifecycle.budget_usage import BudgetTerms
from podium.sweep.runtime.atomic_files import write_atomic
from podium.sweep.runtime.submission_provenance import MAX_HEADER, Provenance
from podium.sweep.spec.budget import Budget
from podium.sweep.spec.sweep_spec import MAX_PRIORITY, MAX_RUN_CAP, MIN_PRIORITY
from podium.sweep.specfile import code_bundles
from podium.sweep.values.states import SweepState, TrialState

router = APIRouter(prefix="/api/v1", tags=["sweeps"])


class Extension(BaseModel):
    """New limits of a sweep; fields that are left out stay unchanged."""

    model_config = ConfigDict(extra="forbid", strict=True)

    run_cap: int | None = Field(None, ge=1, le=MAX_RUN_CAP, description="total number of trials; can only be raised")
    priority: float | None = Field(
        None, ge=MIN_PRIORITY, le=MAX_PRIORITY, description="weight in the fair share of device time"
    )
    budget: Budget | None = Field(None, description="replaces the limits that are given; null: no limit")
    target: float | None = Field(None, allow_inf_nan=False, description="metric value that ends the sweep; null: none")

    @property
    def terms(self) -> BudgetTerms | None:
        """The budget and target limits that are set; None if none are."""
        budget = self.budget or Budget()
        given = {name: getattr(budget, name) for name in budget.model_fields_set}
        if "target" in self.model_fields_set:
            given["target"] = self.target
        return BudgetTerms(**given) if given else None

    @model_validator(mode="after")
    def _is_not_empty(self) -> Extension:
        if self.run_cap is None and self.priority is None and self.terms is None:
            raise ValueError("set run_cap, priority, budget or target")
        return self


@router.post("/bundles", status_code=201, dependencies=[submitter, has_disk_space])
@reads_own_body
async def upload_bundle(request: Request, service: ServiceContext = context) -> dict[str, str]:
    """Upload user code as a zip file in the raw body. Returns its SHA-256, for `program.bundle`."""
    content = await read_body(request, code_bundles.MAX_BYTES, "exclude data and results from the code folder")
    sha256 = code_bundles.digest(content)
    folder, archive = service.settings.data.bundle(sha256), service.settings.data.bundle_archive(sha256)
    if not (folder.exists() and archive.exists()):
        await asyncio.to_thread(code_bundles.unpack, content, folder)
        await asyncio.to_thread(write_atomic, archive, content)
    return {"sha256": sha256}


@router.post("/sweeps", status_code=201, dependencies=[has_disk_space], responses=idempotent(SweepView))
def submit_sweep(
    response: Response,
    document: Annotated[dict[str, Any], Body(openapi_examples={})],
    idempotency_key: Annotated[str | None, Header(max_length=200)] = None,
    podium_provenance: Annotated[str | None, Header(max_length=MAX_HEADER)] = None,
    service: ServiceContext = context,
    holder: Holder = submitter,
) -> SweepView:
    """Submit a sweep. It is stored durably before the response; a repeated idempotency key returns the same sweep.

    `Podium-Provenance` is JSON with the keys git_commit, git_dirty and command.
    """
    provenance = Provenance.from_header(podium_provenance)
    submitted = submit_document(service, document, Submission(holder.name, idempotency_key, provenance))
    return submitted_view(response, service, submitted, holder.name)


@router.get("/sweeps")
def list_sweeps(
    after: After = None,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
    state: Annotated[list[SweepState], Query(description="repeatable: state=queued&state=running")] = [],  # noqa: B006
    search: Annotated[str, Query(max_length=120, description="substring of the name")] = "",
    filter: Annotated[
        str | None, Query(max_length=MAX_FILTER, description="such as `project:vision tag:baseline is:starred`")
    ] = None,
    service: ServiceContext = context,
    holder: Holder = viewer,
) -> Page[SweepView]:
    """List sweeps, newest first. Archived sweeps are left out, unless the filter has a term `is:archived`."""
    among = sweep_condition(filter, holder.name)
    with service.database.read(within_s=WITHIN_S) as connection:
        rows = sweeps.page(connection, after=after, limit=limit + 1, states=state, search=search, among=among)
        items = list_of(connection, rows[:limit], holder.name)
    return Page(items=items, next=items[-1].id if len(rows) > limit else None)


@router.get("/sweeps/{sweep_id}")
def show_sweep(sweep_id: RowId, service: ServiceContext = context, holder: Holder = viewer) -> SweepView:
    """One sweep, with its best trial so far."""
    return view_of(service, sweep_id, holder.name)


@router.get("/sweeps/{sweep_id}/trials", dependencies=[viewer], response_model=TrialPage)
def list_trials(
    sweep_id: RowId,
    after: TrialsAfter = None,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
    state: TrialState | None = None,
    sort: Sort = "number",
    filter: Filter = None,
    metrics: MetricFigures = None,
    service: ServiceContext = context,
) -> Response:
    """List trials of a sweep, sorted by number, `value`, `params.NAME`, `min(METRIC)` or another column.

    Trials without a value in that column come last.
    """
    with service.database.read(within_s=WITHIN_S) as connection:
        sweep = sweeps.without_counts(connection, sweep_id)
        order = order_of(sort, sweep)
        where = filter_condition(connection, filter, sweep)
        position = None if after is None else position_of(after, sort, order)
        page = trial_pages.page(
            connection, sweep_id, after=position, limit=limit + 1, state=state, order=order, among=where
        )
        ids = [row.id for row in page.rows[:limit]]
        times = running_and_queued_s(connection, ids)
        figures = figures_of(connection, ids, parse_figures(metrics or ()))
    following = cursor_of(sort, order, page.positions[limit - 1]) if len(page.rows) > limit else None
    items = [trial_fields(row, times[row.id], figures[row.id]) for row in page.rows[:limit]]
    return json_response({"items": items, "next": following})


@router.get("/sweeps/{sweep_id}/best", dependencies=[viewer])
def best_trials(
    sweep_id: RowId, k: Annotated[int | None, Query(ge=1, le=1000)] = None, service: ServiceContext = context
) -> list[BestView]:
    """The best `k` finished trials (default 1), best first; of equal trials, the earlier one.

    With several objectives: the Pareto front, or `k` trials by Pareto rank. Trials that violate a constraint are
    excluded.
    """
    with service.database.read() as connection:
        sweep = sweeps.without_counts(connection, sweep_id)
        goals = [goal for _, goal in sweep.objectives]
        if len(goals) == 1:
            return [best_view(row) for row in best(connection, sweep_id, sweep.goal, k or 1)]
        return [best_view(row, rank == 0) for rank, row in pareto(connection, sweep_id, goals, k)]


@router.patch("/sweeps/{sweep_id}")
def extend_sweep(
    sweep_id: RowId, body: Extension, service: ServiceContext = context, holder: Holder = submitter
) -> SweepView:
    """Raise the trial cap, or change priority, budget or target.

    A finished or stopping sweep continues with its search state. 409 if its budget is exhausted.
    """
    sweep_commands.extend_sweep(service, sweep_id, run_cap=body.run_cap, priority=body.priority, terms=body.terms)
    return view_of(service, sweep_id, holder.name)


@router.post("/sweeps/{sweep_id}/pause")
def pause_sweep(sweep_id: RowId, service: ServiceContext = context, holder: Holder = submitter) -> SweepView:
    """Start no new trials; running trials finish."""
    return _command(service, sweep_id, SweepCommand.PAUSE, holder)


@router.post("/sweeps/{sweep_id}/resume")
def resume_sweep(sweep_id: RowId, service: ServiceContext = context, holder: Holder = submitter) -> SweepView:
    """Resume a paused sweep."""
    return _command(service, sweep_id, SweepCommand.RESUME, holder)


@router.post("/sweeps/{sweep_id}/stop")
def stop_sweep(sweep_id: RowId, service: ServiceContext = context, holder: Holder = submitter) -> SweepView:
    """Finish the sweep when its running trials have ended."""
    return _command(service, sweep_id, SweepCommand.STOP, holder)


@router.post("/sweeps/{sweep_id}/cancel")
def cancel_sweep(sweep_id: RowId, service: ServiceContext = context, holder: Holder = submitter) -> SweepView:
    """Kill running trials and end the sweep. 409 if it has ended, except by cancellation."""
    return _command(service, sweep_id, SweepCommand.CANCEL, holder)


@router.post("/sweeps/{sweep_id}/release")
def release_sweep(sweep_id: RowId, service: ServiceContext = context, holder: Holder = submitter) -> SweepView:
    """Start a sweep although not all sweeps of its `after` have finished.

    409 if it does not wait for others, or if `fix_from` has no usable values yet.
    """
    sweep_commands.release_sweep(service, sweep_id)
    return view_of(service, sweep_id, holder.name)


def _command(service: ServiceContext, sweep_id: int, command: SweepCommand, holder: Holder) -> SweepView:
    command_sweep(service, sweep_id, command)
    return view_of(service, sweep_id, holder.name)
