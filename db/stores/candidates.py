"""The trials that may be members of an ensemble, with what they left; api and host."""

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
from podium.db.stores.trial_details import FEASIBLE
from podium.ensemble.values.version import TrialFiles
from podium.sweep.values.errors import NotFoundError
from podium.sweep.values.trial import TrialState

PREDICTIONS = "predictions.safetensors"


def of_sweep(connection: Connection, sweep_id: int) -> list[TrialFiles]:
    """The finished trials of a sweep that violate no constraint, by number."""
    finished = trials.c.state == TrialState.FINISHED.value
    return those(connection, (trials.c.sweep_id == sweep_id) & finished & FEASIBLE)


def named(connection: Connection, trial_ids: Sequence[int]) -> list[TrialFiles]:
    """These trials, in the order given, whatever their state. Raises `NotFoundError` naming one that is not there."""
    found = {row.trial_id: row for row in those(connection, trials.c.id.in_(trial_ids))}
    for trial_id in trial_ids:
        if trial_id not in found:
            raise NotFoundError(f"trial_ids: there is no trial {trial_id}")
    return [found[trial_id] for trial_id in trial_ids]


def those(connection: Connection, condition: Any) -> list[TrialFiles]:
    """The trials that meet a condition, with what they left."""
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
            & model.c.trial_id.is_(None),  # or a trial that ran again has saved others since
        )
        .where(condition)
        .order_by(trials.c.sweep_id, trials.c.number)
    )  # fmt: skip
    return [
        TrialFiles(
            row.id, row.number, row.sweep_id, TrialState(row.state), row.value, row.goal,
            row.model_attempt, row.sha256, row.predictions_attempt, row.not_kept or "",
        )
        for row in connection.execute(statement)
    ]  # fmt: skip
