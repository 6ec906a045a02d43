"""Trials over REST: details, curves, logs; stopped, retried, cloned; api."""

from __future__ import annotations

import codecs
import time
from pathlib import Path
from typing import Annotated

from fastapi import APIRouter, Header, Query, Response
from fastapi.responses import PlainTextResponse
from pydantic import BaseModel, ConfigDict, Field

from podium.api.http.authentication import submitter, viewer
from podium.api.http.problem_schema import again
from podium.api.http.route_context import RowId, ServiceContext, context, has_room
from podium.api.rest.models.response_models import AttemptView, EnqueuedView, TrialDetail
from podium.db.queries import trial_pages
from podium.db.queries.trial_pages import ArtifactRow
from podium.db.stores import metrics, requests, trial_rows
from podium.db.stores.trial_rows import TrialRow
from podium.ensemble.building import trial_outputs
from podium.sweep.lifecycle.commands import TrialCommand
from podium.sweep.runtime.atomic_files import opened
from podium.sweep.runtime.component import wake
from podium.sweep.runtime.layout import AttemptDirectory
from podium.sweep.values.errors import NotFoundError
from podium.sweep.values.trial import Scalar

router = APIRouter(prefix="/api/v1/trials", tags=["trials"])
MAX_LOG_BYTES = 1 << 20


class Clone(BaseModel):
    """What a clone has otherwise than its trial."""

    model_config = ConfigDict(extra="forbid")

    params: dict[str, Scalar] = Field(default_factory=dict)


class Remarks(BaseModel):
    """What people write about a trial; what is left out stays as it is."""

    model_config = ConfigDict(extra="forbid")

    note: str | None = None  # "": none
    tags: list[str] | None = None  # all of them
    add_tags: list[str] = Field(default_factory=list)
    remove_tags: list[str] = Field(default_factory=list)


@router.get("/{trial_id}", dependencies=[viewer])
def show_trial(trial_id: RowId, service: ServiceContext = context) -> TrialDetail:
    """One trial, with its attempts and the files it left."""
    return _show(service, trial_id)


@router.patch("/{trial_id}", dependencies=[submitter])
def remark_on_trial(trial_id: RowId, body: Remarks, service: ServiceContext = context) -> TrialDetail:
    """Write a note about a trial, or tag it; the search does not care."""
    with service.database.write() as connection:
        requests.remark(
            connection, trial_id, time.time(),
            note=body.note, tags=body.tags, added=body.add_tags, removed=body.remove_tags,
        )  # fmt: skip
    return _show(service, trial_id)


@router.post("/{trial_id}/stop", dependencies=[submitter])
def stop_trial(trial_id: RowId, service: ServiceContext = context) -> TrialDetail:
    """End a trial that waits or runs; its sweep goes on without it."""
    return _tell(service, trial_id, TrialCommand.STOP)


@router.post("/{trial_id}/retry", dependencies=[submitter])
def retry_trial(trial_id: RowId, service: ServiceContext = context) -> TrialDetail:
    """Run a trial again that failed or was cancelled, as its next attempt; a sweep that has ended goes on for it."""
    return _tell(service, trial_id, TrialCommand.RETRY)


@router.post("/{trial_id}/clone", status_code=202, dependencies=[submitter, has_room], responses=again(EnqueuedView))
def clone_trial(
    trial_id: RowId,
    response: Response,
    body: Clone | None = None,
    idempotency_key: Annotated[str | None, Header(max_length=200)] = None,
    service: ServiceContext = context,
) -> EnqueuedView:
    """Add a trial with the same parameters, but for those given, to its sweep. The same key gives the same one."""
    changed = (body or Clone()).params
    with service.database.write() as connection:
        row, new = requests.clone(connection, trial_id, changed, time.time(), idempotency_key)
    wake(service.settings.runtime.wake_socket("scheduler"))
    if not new:
        response.status_code = 200
    return EnqueuedView.model_validate(row)


@router.get("/{trial_id}/attempts", dependencies=[viewer])
def list_attempts(trial_id: RowId, service: ServiceContext = context) -> list[AttemptView]:
    """The attempts of a trial, first to last."""
    with service.database.read() as connection:
        trial_rows.get(connection, trial_id)
        return [AttemptView.of(attempt) for attempt in trial_pages.attempts_of(connection, trial_id)]


@router.get("/{trial_id}/metrics", dependencies=[viewer])
def show_metrics(
    trial_id: RowId,
    name: str | None = None,
    max_points: Annotated[int, Query(ge=metrics.LEAST_POINTS, le=20_000)] = 2_000,
    service: ServiceContext = context,
) -> dict[str, list[tuple[int, float]]]:
    """Each metric as [step, value] pairs, in step order; a longer curve keeps its ends, its peaks and its dips."""
    with service.database.read() as connection:
        trial_rows.get(connection, trial_id)
        return metrics.of_trial(connection, trial_id, name, max_points)


@router.get("/{trial_id}/log", dependencies=[viewer], response_class=PlainTextResponse)
def show_log(
    trial_id: RowId,
    attempt: Annotated[int | None, Query(ge=1, le=1_000_000)] = None,
    tail_bytes: Annotated[int, Query(ge=1, le=MAX_LOG_BYTES)] = 64 << 10,
    from_byte: Annotated[int | None, Query(ge=0, description="instead of the end: from here on, up to 1 MB")] = None,
    service: ServiceContext = context,
) -> PlainTextResponse:
    """The end of what an attempt printed; the current attempt by default.

    `Podium-Next-Byte` is what `from_byte` gets the rest by, later; a log that has lost its middle goes on at its end.
    """
    with service.database.read() as connection:
        row = trial_rows.get(connection, trial_id)
    number = row.attempt if attempt is None else attempt
    folder = service.settings.data.attempt(row.sweep_id, row.number, number)
    try:
        text, following = _read_log(AttemptDirectory(folder).log, from_byte, tail_bytes)
    except OSError:
        raise NotFoundError(f"attempt {number} of trial {trial_id} has printed nothing yet") from None
    headers = {"Podium-Next-Byte": str(following), "X-Content-Type-Options": "nosniff"}
    return PlainTextResponse(text, headers=headers)


def _read_log(path: Path, from_byte: int | None, tail_bytes: int) -> tuple[str, int]:
    """Text of a log, and the byte after it; half a character at the end is left for the next time."""
    with opened(path) as file:
        size = file.seek(0, 2)
        start = max(0, size - tail_bytes) if from_byte is None else min(from_byte, size)
        file.seek(start)
        content = file.read(tail_bytes if from_byte is None else MAX_LOG_BYTES)
    decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
    text = decoder.decode(content)
    return text, start + len(content) - len(decoder.getstate()[0])


def _tell(service: ServiceContext, trial_id: int, command: TrialCommand) -> TrialDetail:
    with service.database.write() as connection:
        requests.tell_trial(connection, trial_id, command, time.time())
    wake(service.settings.runtime.wake_socket("scheduler"))
    return _show(service, trial_id)


def _show(service: ServiceContext, trial_id: int) -> TrialDetail:
    with service.database.read() as connection:
        row = trial_rows.get(connection, trial_id)
        attempts = trial_pages.attempts_of(connection, trial_id)
        artifacts = trial_pages.artifacts_of(connection, trial_id)
        cloned_from = trial_pages.cloned_from(connection, trial_id)
    return TrialDetail.whole(row, attempts, artifacts, cloned_from, _unfit(service, row, artifacts))


def _unfit(service: ServiceContext, row: TrialRow, artifacts: list[ArtifactRow]) -> str | None:
    """Why the network that it left cannot join an ensemble; None where it can, or where there is none."""
    for left in artifacts:
        model = AttemptDirectory(service.settings.data.attempt(row.sweep_id, row.number, left.attempt)).model
        if left.name == model.name and left.removed is None:
            return trial_outputs.why_unfit(model)
    return None
