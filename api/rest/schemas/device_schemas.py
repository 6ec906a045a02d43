"""Response models for devices; api."""

from __future__ import annotations

from datetime import datetime

from podium.api.rest.schemas.base_schema import View
from podium.db.stores.devices import DeviceRow
from podium.sweep.values.device_state import USABLE_DEVICE_STATES, DeviceState, device_state


class RunningView(View):
    """The running trial of a device."""

    trial_id: int
    number: int
    attempt: int
    sweep_id: int
    sweep_name: str
    started_at: datetime


class PlacedMemberView(View):
    """A member of an ensemble on a device."""

    id: int
    position: int
    trial_id: int
    trial_number: int
    ensemble_id: int
    ensemble_name: str


class DeviceView(View):
    """A device."""

    id: str
    kind: str
    position: int
    node: str
    visible: str
    uuid: str | None
    slot_pid: int | None
    state: DeviceState
    reason: str
    trial_id: int | None
    member_ids: list[int]
    running: RunningView | None
    members: list[PlacedMemberView]
    changed_at: datetime  # last change of state or reason

    @classmethod
    def of(cls, row: DeviceRow, drain_reason: str | None) -> DeviceView:
        """`drain_reason` is the reason of a drain; it is shown before the scheduler applies it."""
        view = cls.model_validate(row)
        if drain_reason is not None and row.state in USABLE_DEVICE_STATES:
            return view.model_copy(update={"state": DeviceState.DRAINED, "reason": drain_reason})
        if drain_reason is None and row.state is DeviceState.DRAINED:
            state = device_state(lost=False, dedicated=False, drained=False, running=row.trial_id is not None)
            return view.model_copy(update={"state": state, "reason": ""})
        return view
