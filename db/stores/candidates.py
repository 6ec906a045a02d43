"""Trials that can be ensemble members, with their saved files; api and ensemble host."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, select

from podium.db.schema.tables import (
    artifacts,
    removed_artifacts,
    sweeps,
    trials,
)
from podium.db.stores.retention_plan import MODEL
from podium.db.stores.trial_feasibility import FEASIBLE
from podium.ensemble.values.candidates import TrialFiles
from podium.sweep.values.errors import NotFoundError
from podium.sweep.values.states import TrialState

PREDICTIONS = "predictions.safetensors"


def of_sweep(connection: Connection, sweep_id: int) -> list[TrialFiles]:
    """The finished trials of a sweep that violate no constraint, by number."""
    finished = trials.c.state == TrialState.FINISHED.value
    return candidates_where(connection, (trials.c.sweep_id == sweep_id) & finished & FEASIBLE)


def named(connection: Connection, trial_ids: Sequence[int]) -> list[TrialFiles]:
    """These trials in the given order, in any state. Raises `NotFoundError` for an unknown id."""
    found = {row.trial_id: row for row in candidates_where(connection, trials.c.id.in_(trial_ids))}
    for trial_id in trial_ids:
        if trial_id not in found:
            raise NotFoundError(f"trial_ids: there is no trial {trial_id}")
    return [found[trial_id] for trial_id in trial_ids]


def candidates_where(connection: Connection, condition: Any) -> list[TrialFiles]:
    """The trials that meet a condition, with their saved files."""
    model, predictions = artifacts.alias("model"), artifacts.alias("predictions")
    statement = (
        select(
            trials.c.id, trials.c.number, trials.c.sweep_id, trials.c.state, trials.c.value, sweeps.c.goal,
            model.c.attempt.label("model_attempt"), model.c.sha256, predictions.c.attempt.label("predictions_attempt"),
            removed_artifacts.c.reason.label("not_kept"),
        )
        .join(sweeps, sweeps.c.id == trials.c.sweep_id)
        .outerjoin(model, (model.c.trial_id == trials.c.id) & (model.c.name == MODEL))
        .outerjoin(predictions, (predictions.c.trial_id == trials.c.id) & (predictions.c.name == PREDICTIONS))
        .outerjoin(
            removed_artifacts,
            (removed_artifacts.c.trial_id == trials.c.id)
            & (removed_artifacts.c.name == MODEL)
            & model.c.trial_id.is_(None),  # unless a retried trial saved a new file
        )
        .where(condition)
        .order_by(trials.c.sweep_id, trials.c.number)
    )  # fmt: skip
    return [
        TrialFiles(
            trial_id=row.id,
            number=row.number,
            sweep_id=row.sweep_id,
            state=TrialState(row.state),
            value=row.value,
            goal=row.goal,
            model_attempt=row.model_attempt,
            model_sha256=row.sha256,
            predictions_attempt=row.predictions_attempt,
            not_kept=row.not_kept or "",
        )
        for row in connection.execute(statement)
    ]
