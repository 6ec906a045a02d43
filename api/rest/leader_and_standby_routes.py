"""The services of one database over REST: which one leads, and which stand by; api."""

from __future__ import annotations

import socket

from fastapi import APIRouter
from pydantic import BaseModel, Field

from podium.api.http.authentication import viewer
from podium.api.http.route_dependencies import context
from podium.api.http.service_context import ServiceContext
from podium.db.stores import leader_lease
from podium.db.stores.leader_lease import Lease, Standby

router = APIRouter(prefix="/api/v1/services", tags=["services"])


class _ServiceView(BaseModel):
    host: str
    url: str
    answers: bool = Field(description="whether it is the service that answers this request")


class LeaderView(_ServiceView):
    """The service whose scheduler and ensemble host work."""

    epoch: int = Field(description="increases whenever another service, or another start of one, leads; 0 with SQLite")
    held_s: float = Field(description="seconds since it leads")
    renewed_s: float = Field(description="seconds since it has renewed its lease")
    expired: bool = Field(description="whether it has not renewed its lease for so long that another one may lead")


class StandbyView(_ServiceView):
    """A service that leads when the leader fails."""

    waits_s: float = Field(description="seconds since it stands by")
    seen_s: float = Field(description="seconds since it was seen")


class ServicesView(BaseModel):
    """The services of the database. SQLite has one, without a lease; `leader` is null until the first one leads."""

    leader: LeaderView | None
    standbys: list[StandbyView]


@router.get("", dependencies=[viewer])
def list_services(service: ServiceContext = context) -> ServicesView:
    """The service that leads, and those that stand by. All of them answer requests."""
    settings = service.settings
    if not settings.database_url_file:
        alone = LeaderView(
            host=socket.gethostname(), url=settings.url, epoch=0, held_s=0.0, renewed_s=0.0, expired=False, answers=True
        )
        return ServicesView(leader=alone, standbys=[])
    with service.database.read() as connection:
        lease, waiting = leader_lease.read(connection), leader_lease.waiting(connection)
    return ServicesView(
        leader=None if lease is None else _leader(lease, settings.holder),
        standbys=[_standby(each, settings.holder) for each in waiting],
    )


def _leader(lease: Lease, holder: str) -> LeaderView:
    return LeaderView(
        host=lease.leader.host, url=lease.leader.url, epoch=lease.epoch, held_s=max(0.0, lease.held_s),
        renewed_s=max(0.0, lease.age_s), expired=lease.has_expired, answers=lease.leader.holder == holder,
    )  # fmt: skip


def _standby(found: Standby, holder: str) -> StandbyView:
    return StandbyView(
        host=found.host, url=found.url, waits_s=max(0.0, found.waits_s), seen_s=max(0.0, found.seen_s),
        answers=found.holder == holder,
    )  # fmt: skip
