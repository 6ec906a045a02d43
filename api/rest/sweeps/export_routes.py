"""The trials of a sweep as a file over REST: CSV, Parquet, JSON lines; api.

Each part is read in a transaction of its own, in a thread: a slow client holds up neither the event loop nor the
database's log. Trials that come after the answer has begun are not in it.
"""

from __future__ import annotations

from collections.abc import Iterator

from fastapi import APIRouter
from fastapi.responses import StreamingResponse
from sqlalchemy import ColumnElement

from podium.api.http.authentication import viewer
from podium.api.http.route_context import RowId, ServiceContext, context
from podium.api.rest.sweeps.export_formats import Format, as_csv, as_json_lines, as_parquet
from podium.api.rest.trials.trial_table_routes import Filter
from podium.db.queries import exports
from podium.db.queries.exports import ExportedTrial, Shape
from podium.db.queries.trial_filter import WITHIN_S, where_of
from podium.db.stores import sweeps

router = APIRouter(prefix="/api/v1", tags=["sweeps"])
TRIALS_A_PART = 500


@router.get("/sweeps/{sweep_id}/export.csv", dependencies=[viewer], response_class=StreamingResponse)
def export_csv(sweep_id: RowId, filter: Filter = None, service: ServiceContext = context) -> StreamingResponse:
    """Every trial, or those through a filter, as a row: number, state, values, parameters, cause, times."""
    return _answer(service, sweep_id, as_csv, "text/csv; charset=utf-8", "csv", filter)


@router.get("/sweeps/{sweep_id}/export.parquet", dependencies=[viewer], response_class=StreamingResponse)
def export_parquet(sweep_id: RowId, filter: Filter = None, service: ServiceContext = context) -> StreamingResponse:
    """The same, typed; 501 where the service was installed without `podium[parquet]`."""
    return _answer(service, sweep_id, as_parquet, "application/vnd.apache.parquet", "parquet", filter)


@router.get("/sweeps/{sweep_id}/export.jsonl", dependencies=[viewer], response_class=StreamingResponse)
def export_json_lines(
    sweep_id: RowId, curves: bool = True, filter: Filter = None, service: ServiceContext = context
) -> StreamingResponse:
    """Every trial as a line of JSON, with each metric's [step, value] pairs unless `curves=false`."""
    return _answer(service, sweep_id, as_json_lines, "application/x-ndjson", "jsonl", filter, curves=curves)


def _answer(
    service: ServiceContext,
    sweep_id: int,
    write: Format,
    media_type: str,
    suffix: str,
    filter: str | None,
    *,
    curves: bool = False,
) -> StreamingResponse:
    with service.database.read(within_s=WITHIN_S) as connection:
        shape = exports.shape(connection, sweep_id)
        where = None if filter is None else where_of(connection, filter, sweeps.get(connection, sweep_id))
    content = write(shape, _parts(service, shape, curves, where))
    disposition = f'attachment; filename="sweep-{sweep_id}.{suffix}"'
    headers = {"Content-Disposition": disposition, "X-Content-Type-Options": "nosniff"}
    return StreamingResponse(content, media_type=media_type, headers=headers)


def _parts(
    service: ServiceContext, shape: Shape, curves: bool, where: ColumnElement[bool] | None = None
) -> Iterator[list[ExportedTrial]]:
    after = -1
    while after < shape.last_number:
        with service.database.read(within_s=WITHIN_S) as connection:
            found = exports.part(connection, shape, after, TRIALS_A_PART, among=where, curves=curves)
        if not found:
            return
        yield found
        after = found[-1].row.number
