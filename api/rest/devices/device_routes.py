"""Devices over REST: what is on them, and which take no trials; api."""

from __future__ import annotations

import time
from typing import Annotated

from fastapi import APIRouter, Path
from pydantic import BaseModel, ConfigDict, Field

from podium.api.http.authentication import admin, viewer
from podium.api.http.route_context import ServiceContext, context
from podium.api.rest.models.response_models import DeviceView
from podium.db.stores import devices, requests
from podium.sweep.runtime.component import wake

router = APIRouter(prefix="/api/v1/devices", tags=["devices"])
DeviceId = Annotated[str, Path(max_length=200, description="`gpu-0`, say")]


class Drain(BaseModel):
    """Why a device is drained."""

    model_config = ConfigDict(extra="forbid")

    reason: str = Field("drained on request", min_length=1, max_length=500)


@router.get("", dependencies=[viewer])
def list_devices(service: ServiceContext = context) -> list[DeviceView]:
    """Every device: what runs on its slot, why it is idle, and which ensemble members are beside it."""
    with service.database.read() as connection:
        aside = devices.aside(connection)
        return [DeviceView.of(row, aside.get(row.id)) for row in devices.all_of(connection)]


@router.post("/{device_id}/drain", dependencies=[admin])
def drain_device(device_id: DeviceId, body: Drain | None = None, service: ServiceContext = context) -> DeviceView:
    """Give a device no more trials until it is returned; the one on it runs to its end."""
    with service.database.write() as connection:
        requests.drain(connection, device_id, (body or Drain()).reason, time.time())
    return _woken(service, device_id)


@router.post("/{device_id}/return", dependencies=[admin])
def return_device(device_id: DeviceId, service: ServiceContext = context) -> DeviceView:
    """Give a device trials again that was drained, or that the scheduler set aside."""
    with service.database.write() as connection:
        requests.give_back(connection, device_id, time.time())
    return _woken(service, device_id)


def _woken(service: ServiceContext, device_id: str) -> DeviceView:
    wake(service.settings.runtime.wake_socket("scheduler"))
    with service.database.read() as connection:
        return DeviceView.of(requests.device(connection, device_id), devices.aside(connection).get(device_id))
