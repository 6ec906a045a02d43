"""Trials over REST: details, curves, logs; api."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from fastapi.responses import PlainTextResponse

from api.auth import viewer
from api.service import RowId, ServiceContext, context
from api.views import AttemptView, TrialDetail
from db import metrics, trial_pages
from sweep.errors import NotFoundError
from sweep.layout import AttemptDirectory

router = APIRouter(prefix="/api/v1/trials", tags=["trials"])
MAX_LOG_BYTES = 1 << 20


@router.get("/{trial_id}", dependencies=[viewer])
def show_trial(trial_id: RowId, service: ServiceContext = context) -> TrialDetail:
    """One trial, with its attempts and the files it left."""
    with service.database.read() as connection:
        row = trial_pages.get(connection, trial_id)
        attempts = trial_pages.attempts_of(connection, trial_id)
        return TrialDetail.whole(row, attempts, trial_pages.artifacts_of(connection, trial_id))


@router.get("/{trial_id}/attempts", dependencies=[viewer])
def list_attempts(trial_id: RowId, service: ServiceContext = context) -> list[AttemptView]:
    """The attempts of a trial, first to last."""
    with service.database.read() as connection:
        trial_pages.get(connection, trial_id)
        return [AttemptView.of(attempt) for attempt in trial_pages.attempts_of(connection, trial_id)]


@router.get("/{trial_id}/metrics", dependencies=[viewer])
def show_metrics(
    trial_id: RowId, name: str | None = None, service: ServiceContext = context
) -> dict[str, list[tuple[int, float]]]:
    """Each metric as [step, value] pairs, in step order."""
    with service.database.read() as connection:
        trial_pages.get(connection, trial_id)
        return metrics.of_trial(connection, trial_id, name)


@router.get("/{trial_id}/log", dependencies=[viewer], response_class=PlainTextResponse)
def show_log(
    trial_id: RowId,
    attempt: Annotated[int | None, Query(ge=1, le=1_000_000)] = None,
    tail_bytes: Annotated[int, Query(ge=1, le=MAX_LOG_BYTES)] = 64 << 10,
    service: ServiceContext = context,
) -> PlainTextResponse:
    """The end of what an attempt printed; the current attempt by default."""
    with service.database.read() as connection:
        row = trial_pages.get(connection, trial_id)
    number = row.attempt if attempt is None else attempt
    folder = service.settings.data.attempt(row.sweep_id, row.number, number)
    try:
        with AttemptDirectory(folder).log.open("rb") as file:
            size = file.seek(0, 2)
            file.seek(max(0, size - tail_bytes))
            text = file.read(tail_bytes).decode(errors="replace")
    except FileNotFoundError:
        raise NotFoundError(f"attempt {number} of trial {trial_id} has printed nothing yet") from None
    return PlainTextResponse(text, headers={"X-Content-Type-Options": "nosniff"})
