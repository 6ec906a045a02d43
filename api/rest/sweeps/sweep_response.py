"""Composes the response for a sweep: its row, best trial, budget, devices and estimated time left; api."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence

from fastapi import Response
from sqlalchemy import Connection

from podium.api.http.service_context import ServiceContext
from podium.api.rest.schemas.sweep_schemas import BudgetView, SweepView
from podium.api.rest.sweeps.time_left import eta_s
from podium.api.use_cases.sweep_submission import Submitted
from podium.db.queries import best_trials, population_schedules, sweep_devices_and_durations
from podium.db.queries.sweep_devices_and_durations import SweepActivity
from podium.db.stores import budget_and_best_history, devices, sweep_metadata, sweep_predecessors, sweeps
from podium.db.stores.attempt_totals import AttemptTotals
from podium.db.stores.sweeps import SweepRow
from podium.db.stores.trial_reader import TrialRow
from podium.sweep.lifecycle.budget_usage import BudgetTerms
from podium.sweep.values.states import TERMINAL_SWEEP_STATES


def view_of(service: ServiceContext, sweep_id: int, user: str) -> SweepView:
    """One sweep as a user sees it. Raises `NotFoundError`."""
    with service.database.read() as connection:
        row = sweeps.get(connection, sweep_id)
        activity = sweep_devices_and_durations.activity_of(connection, [sweep_id]).get(sweep_id, SweepActivity())
        at = time.time()
        totals = service.ended_totals.of(connection, row, at)
        budget = _budget(connection, row, at, totals)
        return SweepView.of(
            row,
            _best(connection, row),
            sweep_predecessors.links_of(connection, [sweep_id])[sweep_id],
            sweep_metadata.labels_of(connection, [sweep_id], user)[sweep_id],
            description=row.description,
            busy_share=totals.busy_share([each.id for each in devices.all_of(connection)]),
            budget=budget,
            devices=activity.devices,
            eta_s=eta_s(row, activity, budget),
            population=population_schedules.summary(connection, sweep_id) if _has_population(row) else None,
        )


def submitted_view(response: Response, service: ServiceContext, submitted: Submitted, user: str) -> SweepView:
    """The response to a submission: 201 with `Location`, or 200 if the idempotency key was used before."""
    if not submitted.is_new:
        response.status_code = 200
    response.headers["Location"] = f"/api/v1/sweeps/{submitted.sweep_id}"
    return view_of(service, submitted.sweep_id, user)


def list_of(connection: Connection, rows: Sequence[SweepRow], user: str) -> list[SweepView]:
    """Many sweeps. The budget of ended sweeps is left out, since it needs all their trials, and so are descriptions."""
    found = sweep_devices_and_durations.activity_of(connection, [row.id for row in rows])
    links = sweep_predecessors.links_of(connection, [row.id for row in rows])
    labels = sweep_metadata.labels_of(connection, [row.id for row in rows], user)
    views, at = [], time.time()
    for row in rows:
        activity = found.get(row.id, SweepActivity())
        bounded = row.state not in TERMINAL_SWEEP_STATES and BudgetTerms.read(row.terms) != BudgetTerms()
        budget = _budget(connection, row, at) if bounded else None
        best, left_s = _best(connection, row), eta_s(row, activity, budget)
        views.append(
            SweepView.of(
                row, best, links[row.id], labels[row.id], budget=budget, devices=activity.devices, eta_s=left_s
            )
        )
    return views


def _has_population(row: SweepRow) -> bool:
    """Whether its trials train in intervals; counting those of a large sweep that has none would take long."""
    method = json.loads(row.spec_json).get("method")
    return isinstance(method, dict) and "type" in method


def _budget(connection: Connection, row: SweepRow, at: float, totals: AttemptTotals | None = None) -> BudgetView:
    terms = BudgetTerms.read(row.terms)
    return BudgetView.of(terms, budget_and_best_history.used(connection, row, terms=terms, at=at, totals=totals))


def _best(connection: Connection, row: SweepRow) -> TrialRow | None:
    further = [goal for _, goal in row.objectives[1:]]
    found = best_trials.best(connection, row.id, row.goal, 1, further=further)
    return found[0] if found else None
