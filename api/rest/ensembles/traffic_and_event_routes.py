"""What happened to an ensemble, and its traffic over time; api."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import Annotated, Any

from fastapi import APIRouter, Query

from podium.api.gateway.per_minute_traffic_recorder import saved_history
from podium.api.http.authentication import viewer
from podium.api.http.route_dependencies import RowId, context
from podium.api.http.service_context import ServiceContext
from podium.api.rest.schemas.base_schema import View
from podium.db.stores import ensemble_reader, event_outbox
from podium.db.stores.ensemble_reader import EnsembleRow
from podium.ensemble.serving.traffic_history import MINUTES

router = APIRouter(prefix="/api/v1/ensembles/{ensemble_id}", tags=["ensembles"])
MAX_INTERVALS = 96
MAX_EVENTS = 200


class TrafficPointView(View):
    """The requests of one interval; a share or latency is null without a request."""

    at: datetime  # its start
    requests: int
    degraded: int  # answered without every member
    failed: int  # not answered: below quorum, too late or refused
    late_share: float | None  # of what was sent to members
    p50_ms: float | None
    p99_ms: float | None  # estimated from a histogram, as in Prometheus


class TrafficView(View):
    """Consecutive intervals; the last one is still running."""

    interval_s: int
    points: list[TrafficPointView]


class EnsembleEventView(View):
    """`kind` is `building`, `ready`, `stopped`, `version_promoted`, `member_restarting` and so on."""

    id: int
    at: datetime
    kind: str
    version: int | None
    canary_share: float | None  # of a version that was added as a canary
    members: list[int]  # positions in the version, of an event of members
    member_names: list[str]  # of the same members: `trial 4 of sweep 3`
    reason: str


@router.get("/traffic", dependencies=[viewer])
def show_traffic(
    ensemble_id: RowId,
    minutes: Annotated[int, Query(ge=1, le=MINUTES)] = 15,
    service: ServiceContext = context,
) -> TrafficView:
    """Requests, latency and late replies of the last minutes, in up to 96 intervals. Kept for 24 hours."""
    with service.database.read() as connection:
        ensemble_reader.get(connection, ensemble_id)
    each = -(-minutes // MAX_INTERVALS)
    count = -(-minutes // each)
    first = int(time.time() // 60) // each * each - (count - 1) * each
    history = saved_history(service.settings.data.traffic_history)
    points = [
        TrafficPointView(
            at=_time((first + index * each) * 60.0),
            requests=traffic.requests,
            degraded=traffic.degraded,
            failed=traffic.failed,
            late_share=traffic.late_share,
            p50_ms=traffic.quantile_ms(0.5),
            p99_ms=traffic.quantile_ms(0.99),
        )
        for index, traffic in enumerate(history.between(ensemble_id, first, count, each))
    ]
    return TrafficView(interval_s=60 * each, points=points)


@router.get("/events", dependencies=[viewer])
def list_events(
    ensemble_id: RowId,
    limit: Annotated[int, Query(ge=1, le=MAX_EVENTS)] = 50,
    service: ServiceContext = context,
) -> list[EnsembleEventView]:
    """The last events of an ensemble, newest first: states, versions, evaluations, and restarts of members."""
    with service.database.read() as connection:
        ensemble = ensemble_reader.get(connection, ensemble_id)
        return [_event(row, ensemble) for row in event_outbox.of_ensemble(connection, ensemble_id, limit)]


def _time(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


def _event(row: dict[str, Any], ensemble: EnsembleRow) -> EnsembleEventView:
    payload = row["payload"]
    kind = row["kind"].removeprefix("ensemble.")
    version = payload.get("version")
    return EnsembleEventView(
        id=row["id"],
        at=_time(row["at"]),
        kind=kind,
        version=version if isinstance(version, int) else None,
        canary_share=payload.get("canary_share"),
        members=payload.get("members", []),
        member_names=_names(ensemble, version, payload.get("members", [])),
        reason=payload.get("reason") or "",
    )


def _names(ensemble: EnsembleRow, version: object, positions: list[int]) -> list[str]:
    members = ensemble.versions[version].members if version in ensemble.versions else ()
    return [members[position].name for position in positions if position < len(members)]
