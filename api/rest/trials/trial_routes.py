"""Trials over REST: details, curves, logs; stop, retry, clone, annotate; api."""

from __future__ import annotations

import codecs
from pathlib import Path
from typing import Annotated

from fastapi import APIRouter, Header, Query, Response
from fastapi.responses import PlainTextResponse
from pydantic import BaseModel, ConfigDict, Field

from podium.api.http.authentication import submitter, viewer
from podium.api.http.openapi_problem_responses import idempotent
from podium.api.http.route_dependencies import RowId, context, has_disk_space
from podium.api.http.service_context import ServiceContext
from podium.api.rest.schemas.plain_value_response import json_response
from podium.api.rest.schemas.query_parameters import AttemptNumber, Rank
from podium.api.rest.schemas.trial_schemas import AttemptView, EnqueuedView, MetricSummaryView, MetricsView, TrialDetail
from podium.api.rest.trials.trial_response import detail_of
from podium.api.use_cases import trial_commands
from podium.db.queries import attempt_reader
from podium.db.stores import metric_summaries, metrics, multi_device_attempt_ranks, sweeps, trial_reader
from podium.sweep.lifecycle.allowed_commands import TrialCommand
from podium.sweep.runtime.attempt_directory import AttemptDirectory
from podium.sweep.runtime.safe_file_reads import open_regular
from podium.sweep.spec.sweep_spec import spec_from_json
from podium.sweep.values.attempt_assignment import Scalar
from podium.sweep.values.errors import NotFoundError

router = APIRouter(prefix="/api/v1/trials", tags=["trials"])
MAX_LOG_BYTES = 1 << 20


class Clone(BaseModel):
    """Parameters that differ from those of the cloned trial."""

    model_config = ConfigDict(extra="forbid")

    params: dict[str, Scalar] = Field(default_factory=dict)


class Remarks(BaseModel):
    """Annotations of a trial; fields that are left out stay unchanged."""

    model_config = ConfigDict(extra="forbid")

    note: str | None = None  # "" removes it
    tags: list[str] | None = None  # replaces all tags
    add_tags: list[str] = Field(default_factory=list)
    remove_tags: list[str] = Field(default_factory=list)


@router.get("/{trial_id}", dependencies=[viewer])
def show_trial(trial_id: RowId, service: ServiceContext = context) -> TrialDetail:
    """One trial, with its attempts and artifacts."""
    return detail_of(service, trial_id)


@router.patch("/{trial_id}", dependencies=[submitter])
def annotate_trial(trial_id: RowId, body: Remarks, service: ServiceContext = context) -> TrialDetail:
    """Set the note or the tags of a trial. They do not affect the search."""
    trial_commands.annotate_trial(
        service, trial_id, note=body.note, tags=body.tags, added=body.add_tags, removed=body.remove_tags
    )
    return detail_of(service, trial_id)


@router.post("/{trial_id}/stop", dependencies=[submitter])
def stop_trial(trial_id: RowId, service: ServiceContext = context) -> TrialDetail:
    """Stop a waiting or running trial; its sweep continues."""
    return _command(service, trial_id, TrialCommand.STOP)


@router.post("/{trial_id}/retry", dependencies=[submitter])
def retry_trial(trial_id: RowId, service: ServiceContext = context) -> TrialDetail:
    """Run a failed or cancelled trial again, as its next attempt. A finished sweep is resumed for it."""
    return _command(service, trial_id, TrialCommand.RETRY)


@router.post(
    "/{trial_id}/clone", status_code=202, dependencies=[submitter, has_disk_space], responses=idempotent(EnqueuedView)
)
def clone_trial(
    trial_id: RowId,
    response: Response,
    body: Clone | None = None,
    idempotency_key: Annotated[str | None, Header(max_length=200)] = None,
    service: ServiceContext = context,
) -> EnqueuedView:
    """Add a trial with these parameters, except those given, to its sweep. A repeated key returns the same one."""
    row, is_new = trial_commands.clone_trial(service, trial_id, (body or Clone()).params, idempotency_key)
    if not is_new:
        response.status_code = 200
    return EnqueuedView.model_validate(row)


@router.get("/{trial_id}/attempts", dependencies=[viewer])
def list_attempts(trial_id: RowId, service: ServiceContext = context) -> list[AttemptView]:
    """The attempts of a trial, oldest first."""
    with service.database.read() as connection:
        trial_reader.check_exists(connection, trial_id)
        ranks = multi_device_attempt_ranks.of_trial(connection, trial_id)
        return [
            AttemptView.of(attempt, ranks.get(attempt.number, ()))
            for attempt in attempt_reader.attempts_of(connection, trial_id)
        ]


@router.get("/{trial_id}/metrics", dependencies=[viewer], response_model=dict[str, list[tuple[int, float]]])
def show_metrics(
    trial_id: RowId,
    name: str | None = None,
    max_points: Annotated[int, Query(ge=metrics.MIN_POINTS, le=20_000)] = 2_000,
    service: ServiceContext = context,
) -> Response:
    """Each metric as [step, value] pairs by step. Longer curves are downsampled; ends, minima and maxima are kept."""
    with service.database.read() as connection:
        trial_reader.check_exists(connection, trial_id)
        curves = metrics.of_trial(connection, trial_id, name, max_points)
    return json_response(curves)


@router.get("/{trial_id}/metric-summaries", dependencies=[viewer])
def show_metric_summaries(trial_id: RowId, service: ServiceContext = context) -> MetricsView:
    """The last, lowest and highest value of each metric of a trial with their steps, and what was not finite."""
    with service.database.read() as connection:
        sweep = sweeps.without_counts(connection, trial_reader.get(connection, trial_id).sweep_id)
        found = metric_summaries.of_trial(connection, trial_id)
        other = metrics.non_finite_of_trial(connection, trial_id)
    goals, rule = dict(sweep.objectives), spec_from_json(sweep.spec_json).reported_rule
    found.sort(key=lambda each: each.name not in goals)
    return MetricsView(
        metrics=[MetricSummaryView.of(each, goals.get(each.name), rule) for each in found],
        non_finite=other,
    )


@router.get("/{trial_id}/log", dependencies=[viewer], response_class=PlainTextResponse)
def show_log(
    trial_id: RowId,
    attempt: AttemptNumber = None,
    rank: Rank = 0,
    tail_bytes: Annotated[int, Query(ge=1, le=MAX_LOG_BYTES)] = 64 << 10,
    from_byte: Annotated[
        int | None, Query(ge=0, description="read up to 1 MB from this offset, instead of the end")
    ] = None,
    service: ServiceContext = context,
) -> PlainTextResponse:
    """The end of an attempt's output; by default of the current attempt.

    Pass the header `Podium-Next-Byte` as `from_byte` to read what follows. The middle of a very long log is dropped.
    """
    with service.database.read() as connection:
        row = trial_reader.get(connection, trial_id)
        number = row.attempt if attempt is None else attempt
        nonce = attempt_reader.nonce_of(connection, trial_id, number)
    missing = f"{f'rank {rank} of ' if rank else ''}attempt {number} of trial {trial_id} has no output yet"
    if nonce is None:
        raise NotFoundError(missing)
    folder = service.settings.data.attempt(row.sweep_id, row.number, number, nonce)
    try:
        text, following = _read_log(AttemptDirectory(folder, rank).log, from_byte, tail_bytes)
    except OSError:
        raise NotFoundError(missing) from None
    headers = {"Podium-Next-Byte": str(following), "X-Content-Type-Options": "nosniff"}
    return PlainTextResponse(text, headers=headers)


def _read_log(path: Path, from_byte: int | None, tail_bytes: int) -> tuple[str, int]:
    """Text of a log, and the offset after it; an incomplete character at the end is left for the next read."""
    with open_regular(path) as file:
        size = file.seek(0, 2)
        start = max(0, size - tail_bytes) if from_byte is None else min(from_byte, size)
        file.seek(start)
        content = file.read(tail_bytes if from_byte is None else MAX_LOG_BYTES)
    decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
    text = decoder.decode(content)
    return text, start + len(content) - len(decoder.getstate()[0])


def _command(service: ServiceContext, trial_id: int, command: TrialCommand) -> TrialDetail:
    trial_commands.command_trial(service, trial_id, command)
    return detail_of(service, trial_id)
