"""Devices over REST: list, drain, return; api."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path
from pydantic import BaseModel, ConfigDict, Field

from podium.api.http.authentication import admin, viewer
from podium.api.http.route_dependencies import context
from podium.api.http.service_context import ServiceContext
from podium.api.rest.schemas.device_schemas import DeviceView
from podium.api.use_cases import device_commands
from podium.db.stores import devices

router = APIRouter(prefix="/api/v1/devices", tags=["devices"])
DeviceId = Annotated[str, Path(max_length=200, description="for example `gpu-0`")]


class Drain(BaseModel):
    """Why a device is drained."""

    model_config = ConfigDict(extra="forbid")

    reason: str = Field("drained on request", min_length=1, max_length=500)


@router.get("", dependencies=[viewer])
def list_devices(service: ServiceContext = context) -> list[DeviceView]:
    """Every device with its running trial or idle reason, and the ensemble members on it."""
    with service.database.read() as connection:
        drained = devices.drained(connection)
        return [DeviceView.of(row, drained.get(row.id)) for row in devices.all_of(connection)]


@router.post("/{device_id}/drain", dependencies=[admin])
def drain_device(device_id: DeviceId, body: Drain | None = None, service: ServiceContext = context) -> DeviceView:
    """Place no more trials on a device until it is returned; a running trial finishes."""
    device_commands.drain_device(service, device_id, (body or Drain()).reason)
    return _view(service, device_id)


@router.post("/{device_id}/return", dependencies=[admin])
def return_device(device_id: DeviceId, service: ServiceContext = context) -> DeviceView:
    """Place trials again on a device that was drained, on request or by the scheduler."""
    device_commands.return_device(service, device_id)
    return _view(service, device_id)


def _view(service: ServiceContext, device_id: str) -> DeviceView:
    with service.database.read() as connection:
        return DeviceView.of(devices.get(connection, device_id), devices.drained(connection).get(device_id))
