"""The commands of clients that the scheduler has not executed yet, as plain values; scheduler process."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from podium.sweep.lifecycle.stored_sweeps import StoredTrial
from podium.sweep.values.attempt_assignment import Params
from podium.sweep.values.drained_devices import DeviceDrain
from podium.sweep.values.states import SweepState, TrialRequest
from podium.sweep.values.sweep_wait_reason import Wait


@dataclass(frozen=True, slots=True)
class SweepUpdate:
    """The state and limits of an active sweep as clients have set them."""

    state: SweepState
    reason: str
    run_cap: int
    priority: float
    terms: str
    wait: Wait | None = None


@dataclass(frozen=True, slots=True)
class TrialCommandRequest:
    """A client's request for a trial, and the stored trial."""

    sweep_id: int
    request: TrialRequest
    trial: StoredTrial
    cancelled: bool = False  # whether its sweep is cancelled


@dataclass(frozen=True, slots=True)
class Enqueued:
    """A configuration that a client enqueued in a sweep, and that has not become a trial yet."""

    enqueued_id: int
    sweep_id: int
    params: Params
    distributions: dict[str, dict[str, Any]] = field(
        default_factory=dict
    )  # of parameters that the sweep file does not name


@dataclass(frozen=True, slots=True)
class MemberDevices:
    """What ensembles need of slots that come and go. `held`: devices with members; `wanted`: whether one has none."""

    held: frozenset[str] = frozenset()
    wanted: bool = False


@dataclass(frozen=True, slots=True)
class PendingCommands:
    """The pending commands of clients and the device reservations of ensembles."""

    sweeps: dict[int, SweepUpdate] = field(default_factory=dict)
    trials: tuple[TrialCommandRequest, ...] = ()
    enqueued: tuple[Enqueued, ...] = ()
    dedicated: dict[str, str] = field(default_factory=dict)  # devices that ensembles reserve, and why
    members: MemberDevices = MemberDevices()
    drained: tuple[DeviceDrain, ...] = ()
