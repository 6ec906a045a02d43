"""What the trials on each device use over REST, for the timeline; api."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Annotated

from fastapi import APIRouter, Query

from podium.api.http.authentication import viewer
from podium.api.http.route_dependencies import context
from podium.api.http.service_context import ServiceContext
from podium.api.rest.schemas.base_schema import View
from podium.db.queries import device_usage
from podium.db.queries.device_usage import UsageBucket
from podium.db.stores import device_history, devices
from podium.sweep.values.device import node_name
from podium.sweep.values.errors import BadRequestError
from podium.sweep.values.megabytes import megabytes

router = APIRouter(prefix="/api/v1", tags=["devices"])
DEFAULT_S = 3600.0


class DeviceUsageView(View):
    """One device, as columns: one entry for each part of the time range in which a trial was measured."""

    id: str
    since: list[float]  # seconds since the epoch: the start of the first sample
    at: list[float]  # the end of the last sample
    cpu_cores: list[float]
    memory_mb: list[float | None]  # the highest one
    gpu_percent: list[float | None]
    gpu_memory_mb: list[float | None]

    @classmethod
    def of(cls, device_id: str, buckets: Sequence[UsageBucket]) -> DeviceUsageView:
        return cls(
            id=device_id,
            since=[round(bucket.since, 3) for bucket in buckets],
            at=[round(bucket.at, 3) for bucket in buckets],
            cpu_cores=[round(bucket.cpu_cores, 3) for bucket in buckets],
            memory_mb=[megabytes(bucket.memory_bytes) for bucket in buckets],
            gpu_percent=[None if bucket.gpu_percent is None else round(bucket.gpu_percent, 1) for bucket in buckets],
            gpu_memory_mb=[megabytes(bucket.gpu_memory_bytes) for bucket in buckets],
        )


class TimelineUsageView(View):
    """The devices that trials used in a time range; times are seconds since the epoch."""

    from_s: float
    to_s: float
    devices: list[DeviceUsageView]


@router.get("/timeline/usage", dependencies=[viewer])
def read_timeline_usage(
    from_s: Annotated[float | None, Query(ge=0, description="seconds since the epoch; default: one hour ago")] = None,
    to_s: Annotated[float | None, Query(ge=0, description="default: now")] = None,
    points: Annotated[int, Query(ge=10, le=1_000, description="per device")] = 300,
    service: ServiceContext = context,
) -> TimelineUsageView:
    """Processor, memory and GPU of the trials on each device, in equal parts of a time range."""
    now = time.time()
    until = now if to_s is None else min(to_s, now)
    since = until - DEFAULT_S if from_s is None else from_s
    if not since < until:
        raise BadRequestError("`from_s` must be before `to_s` and before now")
    with service.database.read() as connection:
        known = {*(row.id for row in devices.all_of(connection)), *device_history.known(connection)}
        found = device_usage.of_devices(
            connection, sorted(known, key=node_name), since=since, until=until, buckets=points
        )
    return TimelineUsageView(
        from_s=since, to_s=until, devices=[DeviceUsageView.of(name, rows) for name, rows in found.items()]
    )
