"""The reasons why a sweep waits or a device is idle, as text for users. Pure; scheduler process."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from podium.sweep.scheduling.live_slot import Slot
from podium.sweep.scheduling.live_sweep import LiveSweep
from podium.sweep.scheduling.slots_per_attempt import SlotsPerAttempt
from podium.sweep.spec.resources import Resources
from podium.sweep.values.device import Device, machine_name
from podium.sweep.values.states import SweepState
from podium.sweep.values.sweep_wait_reason import Wait, WaitReason

_SHOWN = 3  # how many sweeps or devices a reason names
_ENDS = "a stopped trial is ending"


def sweep_wait_reason(sweep: LiveSweep, slots: Sequence[Slot], disk_shortage: str) -> Wait | None:
    """Why no trial of a sweep runs although some may start; None if one runs, or none may start."""
    if sweep.devices.running or not (sweep.wants_more or sweep.restartable):
        return None
    if disk_shortage:
        return Wait(WaitReason.DISK_FULL, disk_shortage)
    up = [slot for slot in slots if not slot.lost]
    fitting = [slot for slot in up if sweep.fits(slot.device)]
    if not up:
        return Wait(WaitReason.NO_DEVICE, "no device is up yet")
    if not fitting:
        return Wait(WaitReason.NO_MATCHING_DEVICE, _lacks_kind(sweep.spec.resources, up))
    needs = sweep.needs(fitting[0].device.slots)
    if (lacks := _lacks_devices(needs, fitting)) is not None:
        return Wait(WaitReason.NO_MATCHING_DEVICE, lacks)
    taken = [f"{slot.device.device_id} is {slot.closed}" for slot in fitting if slot.closed]
    if len(taken) == len(fitting):
        return Wait(WaitReason.DEVICES_CLOSED, f"no device is available for trials: {_listed(taken)}")
    if not sweep.ready:
        return Wait(WaitReason.PROPOSAL, "choosing its first trial")
    ending = {slot.ending.trial_id: slot.device.device_id for slot in up if slot.ending is not None}
    if sweep.next(()) is not None and sweep.next(ending) is None:
        places = sorted({ending[trial.trial_id] for trial in sweep.ready if trial.trial_id in ending})
        message = f"the earlier attempt of its next trial is ending: {_listed(places)}"
        return Wait(WaitReason.DEVICES_BUSY, message)
    if needs.several:
        free = sum(slot.free for slot in fitting)
        message = f"it needs {_needed(needs, fitting)}, and {free} are free now: {_listed(_holders(fitting))}"
        return Wait(WaitReason.DEVICES_BUSY, message)
    return Wait(WaitReason.DEVICES_BUSY, f"every device is busy: {_listed(_holders(fitting))}")


def _lacks_kind(wanted: Resources, up: Sequence[Slot]) -> str:
    """Why a trial cannot start: there is no device of its kind, or none of its node."""
    message = f"it requires {wanted.required_device}, and there is none"
    machines = sorted({machine_name(slot.device.device_id) for slot in up})
    if wanted.node is None or wanted.node in machines:
        return message
    return f"{message}; there are devices of: {_listed(machines)}"


def _lacks_devices(needs: SlotsPerAttempt, fitting: Sequence[Slot]) -> str | None:
    """Why a trial cannot start, however long it waits: there are too few devices for it."""
    if needs.unshared and (shared := fitting[0].device.slots) > 1:
        return (
            f"it needs {needs.least} whole devices, and {shared} trials share a device here; start the service with "
            "--trials-per-device 1"
        )
    groups = Counter(needs.group(slot.device) for slot in fitting)
    largest = max(groups.values())
    if largest >= needs.least:
        return None
    return f"it needs {_needed(needs, fitting)}, and there are at most {largest}; it starts when there are enough"


def _needed(needs: SlotsPerAttempt, fitting: Sequence[Slot]) -> str:
    if needs.together == "device":
        return f"{needs.least} of the {fitting[0].device.slots} slots of a device"
    together = "of one node together" if needs.together == "node" else "together"
    return f"{needs.least} devices {together}"


def slot_idle_reason(slot: Slot, sweeps: Sequence[LiveSweep], disk_shortage: str) -> str:
    """Why an available slot has no trial."""
    return _ENDS if slot.ending is not None else device_idle_reason(slot.device, sweeps, disk_shortage)


def device_idle_reason(device: Device, sweeps: Sequence[LiveSweep], disk_shortage: str) -> str:
    """Why an available device has no trial."""
    if not sweeps:
        return "no sweep is running"
    if disk_shortage:
        return disk_shortage
    in_order = sorted(sweeps, key=lambda sweep: sweep.sweep_id)  # the same reasons are the same text
    return _listed([f"sweep {sweep.sweep_id} {_rejection_reason(sweep, device)}" for sweep in in_order])


def _rejection_reason(sweep: LiveSweep, device: Device) -> str:
    limit = sweep.spec.resources.max_concurrent
    if sweep.state in (SweepState.PAUSED, SweepState.STOPPING):
        return f"is {sweep.state}: {sweep.account.spent}" if sweep.account.spent else f"is {sweep.state}"
    if not sweep.fits(device):
        return f"requires {sweep.spec.resources.required_device}"
    if limit is not None and sweep.devices.running >= limit:
        return f"runs max_concurrent trials ({limit})"
    if sweep.counted + sweep.devices.running >= sweep.run_cap:
        return "runs its last trials"
    if sweep.ready:
        return "has trials that just failed here"
    return "has no configuration left to start" if sweep.asks.exhausted else "is choosing its next trial"


def _holders(slots: Iterable[Slot]) -> list[str]:
    held = sorted({slot.trial.sweep_id for slot in slots if slot.trial is not None})
    return [f"sweep {sweep_id} runs" for sweep_id in held] or [_ENDS]


def _listed(reasons: Sequence[str]) -> str:
    more = [f"and {len(reasons) - _SHOWN} more"] if len(reasons) > _SHOWN else []
    return "; ".join([*reasons[:_SHOWN], *more])
