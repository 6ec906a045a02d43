"""Exports the trials of a sweep over REST: CSV, Parquet, JSON lines; api.

Each chunk is read in its own transaction, in a thread: a slow client blocks neither the event loop nor the checkpoint
of the database. Trials added after the response has started are not included.
"""

from __future__ import annotations

from collections.abc import Iterator

from fastapi import APIRouter
from fastapi.responses import StreamingResponse
from sqlalchemy import ColumnElement

from podium.api.http.authentication import viewer
from podium.api.http.route_dependencies import RowId, context
from podium.api.http.service_context import ServiceContext
from podium.api.rest.schemas.query_parameters import Filter
from podium.api.rest.sweeps.export_writers import CSV, JSON_LINES, PARQUET, FileFormat
from podium.db.queries import exports
from podium.db.queries.exports import MAX_POINTS_PER_BATCH, ExportedTrial, ExportSchema
from podium.db.queries.trial_filter import WITHIN_S, filter_condition
from podium.db.stores import sweeps

router = APIRouter(prefix="/api/v1", tags=["sweeps"])
TRIALS_PER_CHUNK = 500


@router.get("/sweeps/{sweep_id}/export.csv", dependencies=[viewer], response_class=StreamingResponse)
def export_csv(sweep_id: RowId, filter: Filter = None, service: ServiceContext = context) -> StreamingResponse:
    """All trials, or those that match a filter, as CSV: number, state, values, parameters, cause, times."""
    return _export(service, sweep_id, CSV, filter)


@router.get("/sweeps/{sweep_id}/export.parquet", dependencies=[viewer], response_class=StreamingResponse)
def export_parquet(sweep_id: RowId, filter: Filter = None, service: ServiceContext = context) -> StreamingResponse:
    """The same table with typed columns. 501 if the service is installed without `podium[parquet]`."""
    return _export(service, sweep_id, PARQUET, filter)


@router.get("/sweeps/{sweep_id}/export.jsonl", dependencies=[viewer], response_class=StreamingResponse)
def export_json_lines(
    sweep_id: RowId, curves: bool = True, filter: Filter = None, service: ServiceContext = context
) -> StreamingResponse:
    """One JSON object per trial and line, with the [step, value] pairs of each metric unless `curves=false`."""
    return _export(service, sweep_id, JSON_LINES, filter, curves=curves)


def _export(
    service: ServiceContext, sweep_id: int, file: FileFormat, filter: str | None, *, curves: bool = False
) -> StreamingResponse:
    with service.database.read(within_s=WITHIN_S) as connection:
        shape = exports.export_schema(connection, sweep_id)
        where = None if filter is None else filter_condition(connection, filter, sweeps.get(connection, sweep_id))
    content = file.write(shape, chunks(service, shape, curves, where))
    disposition = f'attachment; filename="sweep-{sweep_id}.{file.suffix}"'
    headers = {"Content-Disposition": disposition, "X-Content-Type-Options": "nosniff"}
    return StreamingResponse(content, media_type=file.media_type, headers=headers)


def chunks(
    service: ServiceContext,
    shape: ExportSchema,
    curves: bool,
    where: ColumnElement[bool] | None = None,
    *,
    trials_per_chunk: int = TRIALS_PER_CHUNK,
    points_per_chunk: int = MAX_POINTS_PER_BATCH,
) -> Iterator[list[ExportedTrial]]:
    """The trials of a sweep, chunk by chunk, each read in its own transaction.

    The curves of a chunk may exceed `points_per_chunk` only if they are of one trial.
    """
    after = -1
    while after < shape.last_number:
        with service.database.read(within_s=WITHIN_S) as connection:
            found = exports.read_batch(
                connection, shape, after, trials_per_chunk, among=where, curves=curves, max_points=points_per_chunk
            )
        if not found:
            return
        yield found
        after = found[-1].row.number
