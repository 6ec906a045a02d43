"""The state of a device, as its slot has it."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from podium.sweep.protocol.slot_commands import SlotCommand
from podium.sweep.scheduling.device_ledger import FAILURES_IN_A_ROW, DeviceLedger
from podium.sweep.scheduling.live_slot import Slot
from podium.sweep.scheduling.live_trial import LiveTrial
from podium.sweep.values.attempt_assignment import Assignment, AttemptKey
from podium.sweep.values.device import Device
from podium.sweep.values.device_state import USABLE_DEVICE_STATES, DeviceState
from podium.sweep.values.drained_devices import DeviceDrain
from podium.sweep.values.errors import IllegalTransitionError

KEY = AttemptKey(7, 1)


def _slot() -> Slot:
    return Slot(Device("cpu-0", "cpu", 0, "node", "", None, 99))


def _trial() -> LiveTrial:
    return LiveTrial(KEY.trial_id, 1, 0, {}, attempt=KEY.attempt)


def _assignment() -> Assignment:
    return Assignment(1, KEY.trial_id, 0, KEY.attempt, {}, 1, "loss", {}, {}, "/", "/")


def _dedicated(slot: Slot) -> None:
    slot.set_closed("for ensemble e", "")


def _drained(slot: Slot) -> None:
    slot.set_closed("", "the fan is loud")


def test_a_slot_is_busy_until_its_attempt_has_ended() -> None:
    slot = _slot()
    found = [(slot.state, slot.free, slot.available)]
    slot.run(_trial(), _assignment())
    found.append((slot.state, slot.free, slot.available))
    slot.drop(KEY, 5.0)  # the process of the attempt still holds the device
    found.append((slot.state, slot.free, slot.available))
    slot.finish_ending()
    found.append((slot.state, slot.free, slot.available))
    busy = (DeviceState.BUSY, False, True)
    assert found == [(DeviceState.READY, True, True), busy, busy, (DeviceState.READY, True, True)]


@pytest.mark.parametrize(
    ("close", "state", "reason"),
    [
        (_dedicated, DeviceState.DEDICATED, "for ensemble e"),
        (_drained, DeviceState.DRAINED, "the fan is loud"),
        (Slot.lose, DeviceState.LOST, None),
    ],
)
def test_a_closed_slot_refuses_trials_and_finishes_a_running_one(close, state, reason) -> None:  # type: ignore[no-untyped-def]
    slot, running = _slot(), _slot()
    running.run(_trial(), _assignment())
    for one in (slot, running):
        close(one)
        assert one.state is state and state not in USABLE_DEVICE_STATES
        assert not one.available and not one.free
        if reason is not None:
            shown = one.device_change(9.0)
            assert (shown.state, shown.reason) == (state, reason)
    assert running.trial is not None
    with pytest.raises(IllegalTransitionError, match=f"from {state} to busy"):
        slot.run(_trial(), _assignment())
    assert slot.trial is None and not slot.is_unsent


def test_a_busy_device_is_stored_as_ready() -> None:
    slot = _slot()
    slot.set_idle("no sweep is running")
    assert (slot.device_change(9.0).state, slot.device_change(9.0).reason) == (DeviceState.READY, "no sweep is running")
    slot.run(_trial(), _assignment())
    assert slot.device_change(9.0).state is DeviceState.READY


def test_free_and_available_agree_with_the_state() -> None:
    for lost, dedicated, drained, leaving, busy in itertools.product((False, True), repeat=5):
        slot = _slot()
        if busy:
            slot.run(_trial(), _assignment())
        slot.set_closed("for ensemble e" if dedicated else "", "the fan is loud" if drained else "")
        if leaving:
            slot.leave("its node is removed")
        if lost:
            slot.lose()
        assert slot.available is (slot.state in USABLE_DEVICE_STATES)
        assert slot.free is (slot.state is DeviceState.READY)


def _gpu(position: int, uuid: str) -> Device:
    return Device(f"gpu-{position}", "gpu", position, "node", str(position), uuid, 99)


def test_gpu_that_has_another_number_than_when_it_was_drained_opens_drained() -> None:
    ledger = DeviceLedger()
    ledger.close({}, [DeviceDrain("gpu-0", "GPU-0a", "broken fan")])
    assert ledger.open(_gpu(0, "GPU-0b"), 0.0).free
    assert ledger.open(_gpu(1, "GPU-0a"), 0.0).drain_reason == "broken fan"


def test_gpu_that_is_drained_for_its_failures_stays_so_under_another_number() -> None:
    ledger = DeviceLedger()
    ledger.open(_gpu(0, "GPU-0a"), 0.0)
    reasons = [ledger.record_failure("gpu-0", trial_id, "pinning") for trial_id in range(FAILURES_IN_A_ROW + 1)]
    assert [reason is not None for reason in reasons] == [False] * (FAILURES_IN_A_ROW - 1) + [True, False]
    assert ledger.open(_gpu(1, "GPU-0a"), 0.0).drain_reason == reasons[-2]
    assert ledger.open(_gpu(0, "GPU-0b"), 0.0).free
    ledger.close({}, [])
    assert ledger["gpu-1"].free


def _run(ledger: DeviceLedger, slot: Slot) -> None:
    if slot.free:
        slot.run(_trial(), _assignment())


def _hold(ledger: DeviceLedger, slot: Slot) -> None:
    if slot.free:
        slot.hold(_trial())


def _release_device(ledger: DeviceLedger, slot: Slot) -> None:
    if slot.trial is not None:
        slot.release_device(1.0)


def _release(ledger: DeviceLedger, slot: Slot) -> None:
    for trial in slot.attempts[:1]:
        slot.release(trial)


def _drop(ledger: DeviceLedger, slot: Slot) -> None:
    if slot.attempts:
        slot.drop(slot.attempts[0].key, 5.0)


def _drain(ledger: DeviceLedger, slot: Slot) -> None:
    drained = [each.device.device_id for each in ledger if each.drain_reason]
    ledger.close({}, [DeviceDrain(device_id, "", "broken fan") for device_id in [*drained, slot.device.device_id]])


_Operation = Callable[[DeviceLedger, Slot], object]
_ATTEMPTS: dict[str, _Operation] = {
    "run": _run,
    "hold": _hold,
    "hold again": lambda _, slot: slot.hold_again(_trial()),
    "run rank": lambda _, slot: slot.run_rank(_assignment()),
    "release device": _release_device,
    "release": _release,
    "drop": _drop,
    "finish ending": lambda _, slot: slot.finish_ending(),
    "answer": lambda _, slot: slot.answer(KEY, 1, False),
    "receive": lambda _, slot: slot.receive([]),
}
_DEVICES: dict[str, _Operation] = {
    "lose": lambda _, slot: slot.lose(),
    "leave": lambda _, slot: slot.leave("its node is removed"),
    "reopen": lambda ledger, slot: ledger.open(slot.device, 1.0),
    "drain": _drain,
    "return all": lambda ledger, _: ledger.close({}, []),
    "dedicate": lambda ledger, slot: ledger.close({slot.device.device_id: "for ensemble e"}, []),
    "fail": lambda ledger, slot: [ledger.record_failure(slot.device.device_id, n, "pinning") for n in range(3)],
}
_OPERATIONS = _ATTEMPTS | _DEVICES
_NAMES = [*_ATTEMPTS, "send", *_ATTEMPTS, "send", *_ATTEMPTS, "send", *_DEVICES]  # devices rarely change


class _Calls:
    """A `SlotPool` that keeps the devices it was called for."""

    def __init__(self) -> None:
        self.devices: list[str] = []

    def send(self, device_id: str, acknowledged: int, commands: Sequence[SlotCommand]) -> None:
        self.devices.append(device_id)

    def kill(self, device_id: str) -> None:
        raise AssertionError(device_id)


@settings(max_examples=300)
@given(st.lists(st.tuples(st.sampled_from(_NAMES), st.integers(0, 1)), min_size=30, max_size=60))
def test_free_available_and_calls_are_those_of_a_search_through_all_slots(operations: list[tuple[str, int]]) -> None:
    ledger = DeviceLedger()
    for position in range(2):
        ledger.open(_gpu(position, f"GPU-{position}"), 0.0)
    for name, position in operations:
        if name == "send":
            due = [slot for slot in ledger if (slot.answered or slot.commands) and not slot.lost]
            calls = _Calls()
            ledger.send(calls, 2.0)
            assert calls.devices == [slot.device.device_id for slot in due]
        else:
            _OPERATIONS[name](ledger, ledger[f"gpu-{position}"])
        assert list(ledger.available()) == [slot for slot in ledger if slot.available], name
        assert ledger.free() == [slot for slot in ledger if slot.free], name
