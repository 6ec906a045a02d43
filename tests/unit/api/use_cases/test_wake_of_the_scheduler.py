"""A command is stored, and then wakes the scheduler; a refused one changes nothing."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator

import pytest

from podium.api.http.service_context import ServiceContext
from podium.api.use_cases.device_commands import drain_device, return_device
from podium.api.use_cases.sweep_commands import command_sweep, extend_sweep
from podium.api.use_cases.trial_commands import annotate_trial, command_trial
from podium.db.stores import devices, sweeps
from podium.sweep.lifecycle.allowed_commands import SweepCommand, TrialCommand
from podium.sweep.values.errors import NotFoundError, NotPossibleError
from podium.sweep.values.states import SweepState
from tests.service_rig import ServiceRig


@pytest.fixture
def context(service: ServiceRig) -> ServiceContext:
    return ServiceContext(service.settings, service.database)


@pytest.fixture
def woken(service: ServiceRig) -> Iterator[Callable[[], bool]]:
    """Whether the scheduler was woken since the last call."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as receiver:
        receiver.bind(str(service.settings.runtime.wake_socket("scheduler")))
        receiver.setblocking(False)

        def asked() -> bool:
            try:
                return receiver.recv(16) != b""
            except BlockingIOError:
                return False

        yield asked


def _state(service: ServiceRig, sweep_id: int) -> SweepState:
    with service.database.read() as connection:
        return sweeps.without_counts(connection, sweep_id).state


def test_command_for_a_sweep_wakes_the_scheduler(
    service: ServiceRig, context: ServiceContext, woken: Callable[[], bool]
) -> None:
    sweep_id = service.sweep()
    command_sweep(context, sweep_id, SweepCommand.PAUSE)
    assert woken() and _state(service, sweep_id) is SweepState.PAUSED
    extend_sweep(context, sweep_id, run_cap=90, priority=None, terms=None)
    assert woken()


def test_refused_command_changes_nothing_and_wakes_nobody(
    service: ServiceRig, context: ServiceContext, woken: Callable[[], bool]
) -> None:
    sweep_id = service.sweep()
    command_sweep(context, sweep_id, SweepCommand.CANCEL)
    assert woken()
    with pytest.raises(NotPossibleError):
        command_sweep(context, sweep_id, SweepCommand.PAUSE)
    with pytest.raises(NotFoundError):
        command_sweep(context, sweep_id + 1, SweepCommand.PAUSE)
    with pytest.raises(NotFoundError):
        command_trial(context, 99, TrialCommand.STOP)
    assert not woken() and _state(service, sweep_id) is SweepState.CANCELLED


def test_drain_and_return_of_a_device_wake_the_scheduler(
    service: ServiceRig, context: ServiceContext, woken: Callable[[], bool]
) -> None:
    service.device("cpu-0")
    drain_device(context, "cpu-0", "the fan is loud")
    assert woken()
    with service.database.read() as connection:
        assert devices.drained(connection) == {"cpu-0": "the fan is loud"}
    return_device(context, "cpu-0")
    assert woken()
    with service.database.read() as connection:
        assert devices.drained(connection) == {}
    with pytest.raises(NotFoundError):
        drain_device(context, "cpu-9", "no such device")
    assert not woken()


def test_annotation_of_a_trial_concerns_only_readers(
    service: ServiceRig, context: ServiceContext, woken: Callable[[], bool]
) -> None:
    trial_id = service.trial(service.sweep(), 0, 0.9)
    annotate_trial(context, trial_id, note="best so far", tags=("good",), added=(), removed=())
    assert not woken()
    assert service.client().get(f"/api/v1/trials/{trial_id}").json()["note"] == "best so far"
