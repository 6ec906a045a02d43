"""Devices over REST; api."""

from __future__ import annotations

from fastapi import APIRouter

from api.auth import viewer
from api.service import ServiceContext, context
from api.views import DeviceView
from db import devices

router = APIRouter(prefix="/api/v1/devices", tags=["devices"])


@router.get("", dependencies=[viewer])
def list_devices(service: ServiceContext = context) -> list[DeviceView]:
    """Every device: what runs on its slot, and which ensemble members are beside it."""
    with service.database.read() as connection:
        return [DeviceView.of(row) for row in devices.all_of(connection)]
