"""Sweeps and code bundles over REST: submit, read, pause, resume, stop, cancel, extend; api."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from typing import Annotated, Any

from fastapi import APIRouter, Body, Header, Query, Request, Response
from pydantic import BaseModel, ConfigDict, Field, model_validator
from sqlalchemy import Connection

from podium.api.http.authentication import submitter, viewer
from podium.api.http.problem_schema import again
from podium.api.http.route_context import After, RowId, ServiceContext, body_within, context, has_room
from podium.api.rest.models.response_models import (
    BestView,
    BudgetView,
    Page,
    SweepView,
    TrialPage,
    TrialView,
    best_view,
)
from podium.api.rest.sweeps.time_left import eta_s
from podium.api.rest.trials.trial_table_routes import Filter, Sort, TrialsAfter
from podium.db.queries import sweep_activity, trial_pages
from podium.db.queries.sweep_activity import Going
from podium.db.queries.trial_cursor import cursor_of, position_of
from podium.db.queries.trial_filter import WITHIN_S, where_of
from podium.db.queries.trial_order import order_of
from podium.db.stores import devices, environments, requests, spending, sweeps, warm_starts
from podium.db.stores.sweeps import SweepRow
from podium.db.stores.trial_rows import TrialRow
from podium.sweep.lifecycle.budget_usage import Terms
from podium.sweep.lifecycle.commands import SweepCommand
from podium.sweep.runtime.component import wake
from podium.sweep.runtime.git_provenance import MAX_HEADER, Provenance
from podium.sweep.runtime.package_versions import environment, versions
from podium.sweep.runtime.user_environment import user_environment
from podium.sweep.spec.budget import Budget
from podium.sweep.spec.program import FunctionProgram, ImportedProgram, OwnCode
from podium.sweep.spec.sweep_spec import MAX_PRIORITY, MAX_RUN_CAP, MIN_PRIORITY, SweepSpec, parse_spec
from podium.sweep.specfile import code_bundles
from podium.sweep.specfile.class_check_client import check_classes
from podium.sweep.specfile.code_check import check_preload
from podium.sweep.specfile.data_check import as_found
from podium.sweep.values.errors import InvalidSpecError, Problem
from podium.sweep.values.trial import SWEEP_OVER, SweepState, TrialState

router = APIRouter(prefix="/api/v1", tags=["sweeps"])


class Extension(BaseModel):
    """What a sweep is to have from now on."""

    model_config = ConfigDict(extra="forbid", strict=True)

    run_cap: int | None = Field(None, ge=1, le=MAX_RUN_CAP, description="trials that count, in all; it only goes up")
    priority: float | None = Field(None, ge=MIN_PRIORITY, le=MAX_PRIORITY, description="its share of the devices' time")
    budget: Budget | None = Field(None, description="what is given takes the place of what there is; null: no bound")
    target: float | None = Field(None, allow_inf_nan=False, description="of the metric; null: none")

    @property
    def terms(self) -> Terms | None:
        """The budget and target that are given; None where none are."""
        budget = self.budget or Budget()
        given = {name: getattr(budget, name) for name in budget.model_fields_set}
        if "target" in self.model_fields_set:
            given["target"] = self.target
        return Terms(**given) if given else None

    @model_validator(mode="after")
    def _says_something(self) -> Extension:
        if self.run_cap is None and self.priority is None and self.terms is None:
            raise ValueError("give run_cap, priority, budget or target")
        return self


@router.post("/bundles", status_code=201, dependencies=[submitter, has_room])
async def upload_bundle(request: Request, service: ServiceContext = context) -> dict[str, str]:
    """Store user code: a zip as the raw body. Answers its SHA-256, for `program.bundle`."""
    content = await body_within(request, code_bundles.MAX_BYTES, "leave data and results out of the code folder")
    sha256 = code_bundles.digest(content)
    folder = service.settings.data.bundle(sha256)
    if not folder.exists():
        await asyncio.to_thread(code_bundles.unpack, content, folder)
    return {"sha256": sha256}


@router.post("/sweeps", status_code=201, dependencies=[submitter, has_room], responses=again(SweepView))
def submit_sweep(
    response: Response,
    document: Annotated[dict[str, Any], Body(openapi_examples={})],
    idempotency_key: Annotated[str | None, Header(max_length=200)] = None,
    podium_provenance: Annotated[str | None, Header(max_length=MAX_HEADER)] = None,
    service: ServiceContext = context,
) -> SweepView:
    """Accept a sweep: when this answers 201, it survives a power failure. The same key gives the same sweep.

    `Podium-Provenance` is JSON that says where it comes from: git_commit, git_dirty, command.
    """
    said = Provenance.from_header(podium_provenance)
    sweep_id, new = accepted(parse_spec(document), service, idempotency_key, provenance=said)
    if not new:
        response.status_code = 200
    response.headers["Location"] = f"/api/v1/sweeps/{sweep_id}"
    return view_of(service, sweep_id)


def accepted(
    spec: SweepSpec,
    service: ServiceContext,
    idempotency_key: str | None,
    file: str | None = None,
    provenance: Provenance | None = None,
) -> tuple[int, bool]:
    """Check what only the server knows, and store the sweep, with the text of its file: its id, and whether it is new.

    Raises `InvalidSpecError`.
    """
    spec = checked_program(spec, service)
    installed = environment()
    with service.database.read() as connection:
        warm_start = warm_starts.choose_for(connection, spec)
    at = time.time()
    with service.database.write() as connection:
        environments.add(connection, installed.sha256, installed.packages, at)
        sweep_id, new = sweeps.accept(
            connection,
            spec,
            at,
            idempotency_key,
            versions=versions(),
            file=file,
            environment=installed.sha256,
            provenance=None if provenance is None else provenance.model_dump_json(),
        )
        if new and warm_start is not None:
            warm_starts.add(connection, sweep_id, warm_start)
    wake(service.settings.runtime.wake_socket("scheduler"))
    return sweep_id, new


@router.get("/sweeps", dependencies=[viewer])
def list_sweeps(
    after: After = None,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
    state: Annotated[list[SweepState], Query(description="one, or several: state=queued&state=running")] = [],  # noqa: B006
    search: Annotated[str, Query(max_length=120, description="a part of the name")] = "",
    service: ServiceContext = context,
) -> Page[SweepView]:
    """Sweeps, newest first."""
    with service.database.read() as connection:
        rows = sweeps.page(connection, after=after, limit=limit + 1, states=state, search=search)
        items = _listed(connection, rows[:limit])
    return Page(items=items, next=items[-1].id if len(rows) > limit else None)


@router.get("/sweeps/{sweep_id}", dependencies=[viewer])
def show_sweep(sweep_id: RowId, service: ServiceContext = context) -> SweepView:
    """One sweep, with its best trial so far."""
    return view_of(service, sweep_id)


@router.get("/sweeps/{sweep_id}/trials", dependencies=[viewer])
def list_trials(
    sweep_id: RowId,
    after: TrialsAfter = None,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
    state: TrialState | None = None,
    sort: Sort = "number",
    filter: Filter = None,
    service: ServiceContext = context,
) -> TrialPage:
    """Trials of a sweep by number, `value`, `params.NAME` or another column; falling with - before it.

    Trials that have nothing there come last.
    """
    with service.database.read(within_s=WITHIN_S) as connection:
        sweep = sweeps.get(connection, sweep_id)
        order = order_of(sort, sweep)
        where = where_of(connection, filter, sweep)
        position = None if after is None else position_of(after, sort, order)
        page = trial_pages.page(
            connection, sweep_id, after=position, limit=limit + 1, state=state, order=order, among=where
        )
    following = cursor_of(sort, order, page.positions[limit - 1]) if len(page.rows) > limit else None
    return TrialPage(items=[TrialView.of(row) for row in page.rows[:limit]], next=following)


@router.get("/sweeps/{sweep_id}/best", dependencies=[viewer])
def best_trials(
    sweep_id: RowId, k: Annotated[int | None, Query(ge=1, le=1000)] = None, service: ServiceContext = context
) -> list[BestView]:
    """The best finished trials (1, or `k`), best first; ties go to the earlier one.

    Of several objectives: the Pareto front, or `k` trials, that front first. One that violates a constraint is none.
    """
    with service.database.read() as connection:
        sweep = sweeps.get(connection, sweep_id)
        goals = [goal for _, goal in sweep.objectives]
        if len(goals) == 1:
            return [best_view(row) for row in trial_pages.best(connection, sweep_id, sweep.goal, k or 1)]
        return [best_view(row, rank == 0) for rank, row in trial_pages.pareto(connection, sweep_id, goals, k)]


@router.patch("/sweeps/{sweep_id}", dependencies=[submitter])
def extend_sweep(sweep_id: RowId, body: Extension, service: ServiceContext = context) -> SweepView:
    """Let more trials count, or change priority, budget or target.

    One that is finished or stopping goes on with all it knows; 409 where its budget is spent.
    """
    with service.database.write() as connection:
        requests.extend(connection, sweep_id, body.run_cap, body.priority, time.time(), body.terms)
    return _woken(service, sweep_id)


@router.post("/sweeps/{sweep_id}/pause", dependencies=[submitter])
def pause_sweep(sweep_id: RowId, service: ServiceContext = context) -> SweepView:
    """Start nothing new; what runs goes on to its end."""
    return _tell(service, sweep_id, SweepCommand.PAUSE)


@router.post("/sweeps/{sweep_id}/resume", dependencies=[submitter])
def resume_sweep(sweep_id: RowId, service: ServiceContext = context) -> SweepView:
    """Go on with a paused sweep."""
    return _tell(service, sweep_id, SweepCommand.RESUME)


@router.post("/sweeps/{sweep_id}/stop", dependencies=[submitter])
def stop_sweep(sweep_id: RowId, service: ServiceContext = context) -> SweepView:
    """Let what runs end, then finish."""
    return _tell(service, sweep_id, SweepCommand.STOP)


@router.post("/sweeps/{sweep_id}/cancel", dependencies=[submitter])
def cancel_sweep(sweep_id: RowId, service: ServiceContext = context) -> SweepView:
    """End a sweep now; what runs is killed. One that is over already: 409, unless it was cancelled."""
    return _tell(service, sweep_id, SweepCommand.CANCEL)


def _tell(service: ServiceContext, sweep_id: int, command: SweepCommand) -> SweepView:
    with service.database.write() as connection:
        requests.tell_sweep(connection, sweep_id, command, time.time())
    return _woken(service, sweep_id)


def _woken(service: ServiceContext, sweep_id: int) -> SweepView:
    wake(service.settings.runtime.wake_socket("scheduler"))
    return view_of(service, sweep_id)


def view_of(service: ServiceContext, sweep_id: int) -> SweepView:
    """A sweep as clients see it. Raises `NotFoundError`."""
    with service.database.read() as connection:
        row = sweeps.get(connection, sweep_id)
        now = sweep_activity.of(connection, [sweep_id]).get(sweep_id, Going())
        budget = _budget(connection, row)
        return SweepView.of(
            row,
            _best(connection, row),
            busy_share=trial_pages.busy_share(connection, sweep_id, len(devices.all_of(connection))),
            budget=budget,
            devices=now.devices,
            eta_s=eta_s(row, now, budget),
        )


def _listed(connection: Connection, rows: Sequence[SweepRow]) -> list[SweepView]:
    """Many sweeps; what costs a look at all their trials is left out of those that are over."""
    found = sweep_activity.of(connection, [row.id for row in rows])
    views = []
    for row in rows:
        now = found.get(row.id, Going())
        bounded = row.state not in SWEEP_OVER and Terms.read(row.terms) != Terms()
        budget = _budget(connection, row) if bounded else None
        best, left = _best(connection, row), eta_s(row, now, budget)
        views.append(SweepView.of(row, best, budget=budget, devices=now.devices, eta_s=left))
    return views


def _budget(connection: Connection, row: SweepRow) -> BudgetView:
    terms = Terms.read(row.terms)
    return BudgetView.of(terms, spending.used(connection, row, terms, time.time()))


def _best(connection: Connection, row: SweepRow) -> TrialRow | None:
    further = [goal for _, goal in row.objectives[1:]]
    found = trial_pages.best(connection, row.id, row.goal, 1, further=further)
    return found[0] if found else None


def checked_program(spec: SweepSpec, service: ServiceContext) -> SweepSpec:
    """What only the server can know: are the data files there, is the code here? Raises `InvalidSpecError`.

    Where the sweep file leaves open what is to be learned, it is found out from the data and written down.
    """
    program = spec.program
    if isinstance(program, OwnCode):
        _check_bundle(program, service)
        program.check_variables(user_environment())
    if isinstance(program, FunctionProgram):
        check_preload(program.preload)
    if isinstance(program, ImportedProgram):
        raise program.refusal()
    bundle = program.bundle if isinstance(program, OwnCode) else None
    check_classes(spec, None if bundle is None else service.settings.data.bundle(bundle))
    return as_found(spec)


def _check_bundle(program: OwnCode, service: ServiceContext) -> None:
    if program.bundle is None:
        message = (
            "the code was not uploaded; upload its folder in the form for a new sweep, or use `podium sweep submit`"
        )
        raise InvalidSpecError([Problem(("program", "bundle"), message)])
    if not service.settings.data.bundle(program.bundle).is_dir():
        raise InvalidSpecError([Problem(("program", "bundle"), "there is no such bundle here; upload it first")])
