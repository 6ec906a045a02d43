"""Trials that can be ensemble members, with their saved files; api and ensemble host."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import ColumnElement, Connection, FromClause, select

from podium.db.schema.tables import (
    artifacts,
    attempts,
    removed_artifacts,
    sweeps,
    trials,
)
from podium.db.stores.feasible_trial_condition import FEASIBLE
from podium.db.stores.retention_plan import MODEL
from podium.ensemble.values.member_candidate import TrialFiles
from podium.sweep.runtime.layout import DataDirectory
from podium.sweep.values.errors import NotFoundError
from podium.sweep.values.states import TrialState

PREDICTIONS = "predictions.safetensors"


def _is_of(attempt: FromClause, file: FromClause) -> ColumnElement[bool]:
    return (attempt.c.trial_id == file.c.trial_id) & (attempt.c.number == file.c.attempt)


# Built once: the host reads the members twice a second.
_MODEL, _PREDICTIONS = artifacts.alias("model"), artifacts.alias("predictions")
_OF_MODEL, _OF_PREDICTIONS = attempts.alias("of_model"), attempts.alias("of_predictions")
_CANDIDATES = (
    select(
        trials.c.id, trials.c.number, trials.c.sweep_id, trials.c.state, trials.c.value, sweeps.c.goal,
        _OF_MODEL.c.number.label("model_attempt"), _OF_MODEL.c.nonce.label("model_nonce"), _MODEL.c.sha256,
        _OF_PREDICTIONS.c.number.label("predictions_attempt"), _OF_PREDICTIONS.c.nonce.label("predictions_nonce"),
        removed_artifacts.c.reason.label("not_kept"),
    )
    .join(sweeps, sweeps.c.id == trials.c.sweep_id)
    .outerjoin(_MODEL, (_MODEL.c.trial_id == trials.c.id) & (_MODEL.c.name == MODEL))
    .outerjoin(_OF_MODEL, _is_of(_OF_MODEL, _MODEL))
    .outerjoin(_PREDICTIONS, (_PREDICTIONS.c.trial_id == trials.c.id) & (_PREDICTIONS.c.name == PREDICTIONS))
    .outerjoin(_OF_PREDICTIONS, _is_of(_OF_PREDICTIONS, _PREDICTIONS))
    .outerjoin(
        removed_artifacts,
        (removed_artifacts.c.trial_id == trials.c.id)
        & (removed_artifacts.c.name == MODEL)
        & _MODEL.c.trial_id.is_(None),  # unless a retried trial saved a new file
    )
)  # fmt: skip


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
    statement = _CANDIDATES.where(condition).order_by(trials.c.sweep_id, trials.c.number)
    return [
        TrialFiles(
            trial_id=row.id,
            number=row.number,
            sweep_id=row.sweep_id,
            state=TrialState(row.state),
            value=row.value,
            goal=row.goal,
            model_folder=_folder(row, row.model_attempt, row.model_nonce),
            model_sha256=row.sha256,
            predictions_folder=_folder(row, row.predictions_attempt, row.predictions_nonce),
            not_kept=row.not_kept or "",
        )
        for row in connection.execute(statement)
    ]


def _folder(trial: Any, attempt: int | None, nonce: str | None) -> str | None:
    """The folder of the attempt that saved a file; None if there is no such file."""
    if attempt is None or nonce is None:
        return None
    return DataDirectory.attempt_key(trial.sweep_id, trial.number, attempt, nonce)
