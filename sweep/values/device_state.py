"""The states of a device and their transitions; api process, scheduler and ensemble host."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from podium.sweep.values.errors import IllegalTransitionError


class DeviceState(StrEnum):
    """The state of a device. The values are those in the database, the REST API and the event kinds."""

    READY = "ready"  # accepts trials
    BUSY = "busy"  # ready, and runs a trial; derived for display, never stored
    DEDICATED = "dedicated"  # reserved for members of an ensemble
    DRAINED = "drained"  # accepts no trials until it is returned, on request or after repeated failures
    LOST = "lost"  # its slot process has ended


class RecordedState(StrEnum):
    """A state in the history of a device: a stored one, or one of the service as a whole."""

    READY = DeviceState.READY.value
    DEDICATED = DeviceState.DEDICATED.value
    DRAINED = DeviceState.DRAINED.value
    LOST = DeviceState.LOST.value
    STARTING = "starting"  # the service was starting
    DOWN = "down"  # no scheduler was running
    GONE = "gone"  # not among the devices that the service started with


STORED_DEVICE_STATES = frozenset(DeviceState) - {DeviceState.BUSY}
USABLE_DEVICE_STATES = frozenset({DeviceState.READY, DeviceState.BUSY})  # can run trials, now or later

# Dedicated takes precedence over drained: a drained device that becomes dedicated is drained again afterwards.
DEVICE_TRANSITIONS: Mapping[DeviceState, frozenset[DeviceState]] = {
    DeviceState.READY: frozenset({DeviceState.BUSY, DeviceState.DEDICATED, DeviceState.DRAINED, DeviceState.LOST}),
    DeviceState.BUSY: frozenset({DeviceState.READY, DeviceState.DEDICATED, DeviceState.DRAINED, DeviceState.LOST}),
    DeviceState.DEDICATED: frozenset({DeviceState.READY, DeviceState.DRAINED, DeviceState.LOST}),
    DeviceState.DRAINED: frozenset({DeviceState.READY, DeviceState.DEDICATED, DeviceState.LOST}),
    DeviceState.LOST: frozenset({DeviceState.READY, DeviceState.DEDICATED, DeviceState.DRAINED}),  # the slot restarted
}


def device_state(*, lost: bool, dedicated: bool, drained: bool, running: bool = False) -> DeviceState:
    """The state of a device from its conditions, which may hold at the same time."""
    if lost:
        return DeviceState.LOST
    if dedicated:
        return DeviceState.DEDICATED
    if drained:
        return DeviceState.DRAINED
    return DeviceState.BUSY if running else DeviceState.READY


def check_device_transition(old: DeviceState, new: DeviceState) -> None:
    """Raises `IllegalTransitionError` unless the transition from `old` to `new` is allowed. A state may repeat."""
    if new is not old and new not in DEVICE_TRANSITIONS[old]:
        possible = ", ".join(sorted(DEVICE_TRANSITIONS[old]))
        raise IllegalTransitionError(f"invalid device state transition from {old} to {new}; possible: {possible}")
