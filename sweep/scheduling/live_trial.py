"""An unfinished trial in the scheduler's memory, and its retry budget. Pure; scheduler process."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from podium.sweep.lifecycle.stored_sweeps import StoredTrial
from podium.sweep.scheduling.gang import Gang
from podium.sweep.spec.resources import Resources
from podium.sweep.spec.sweep_spec import SweepSpec
from podium.sweep.values.attempt_assignment import AttemptKey, Params, Scalar
from podium.sweep.values.device import Device
from podium.sweep.values.failure_causes import INFRASTRUCTURE_CAUSES, MEMORY_CAUSES, Cause
from podium.sweep.values.search_messages import CLONED, ENQUEUED_VALUES
from podium.sweep.values.slot_events import Ended, Started

MAX_INTERRUPTIONS = 30  # of one trial, by kills and restarts of the service, which are not its failures
AVOID_S = 60.0  # how long a trial waits for another device than the one on which it failed


class OtherDevices(NamedTuple):
    """Whether a trial that avoids a device, or its node, has another one that accepts trials."""

    device: bool
    node: bool


NO_OTHERS = OtherDevices(device=False, node=False)


@dataclass(slots=True, eq=False)
class LiveTrial:
    """An unfinished trial. Only its own methods change it."""

    trial_id: int
    sweep_id: int
    number: int
    params: Params
    attempt: int = 0
    forgiven: int = 0  # attempts up to this one no longer count
    device_id: str | None = None  # of the current attempt; of its rank 0, if it has several
    gang: Gang | None = None  # the devices of the current attempt, if it has several
    slot_share: float = 1.0  # of a device, for each slot of the current attempt
    avoided_device: str | None = None  # where the last attempt ran
    avoided_node: str | None = None  # with which the last attempt was lost
    avoided_until_s: float = 0.0  # monotonic
    placed_on: str | None = None  # the device of an attempt that had not ended when this scheduler started
    nonce: str = ""  # of the folder of the current attempt
    device_s: float | None = None  # of an attempt that has left its device: its files are being sent
    placed_s: float = 0.0  # when the current attempt got its device; monotonic
    ran_s: float = 0.0  # how long the attempt had run when this scheduler found it
    seen_s: float = 0.0  # of that, up to its last sign of life
    by_client: bool = False  # enqueued or retried by a client: it starts before the proposals of the search
    stopping: bool = False  # a client requested its end
    failures: dict[Cause, int] = field(default_factory=dict)
    reported: set[int] = field(default_factory=set)  # steps that the search has seen
    defined: set[str] = field(default_factory=set)  # parameters that the sweep file does not name
    enqueued: Params = field(default_factory=dict)  # values for such parameters, used if the trial suggests them
    started: Started | None = None  # of the current attempt, if this scheduler received it
    fallbacks: set[str] = field(default_factory=set)  # sampled by the trial itself, without an answer
    settled: int = 0  # attempts up to this one do not count as interrupted: it ended an interval of training

    @classmethod
    def restored(cls, sweep_id: int, stored: StoredTrial, at: float, wanted: Resources) -> LiveTrial:
        """A trial from the database, read at `at` (seconds since the epoch); `wanted`: the resources of its sweep."""
        by_client = stored.sampler == CLONED or 0 < stored.attempt == stored.forgiven
        trial = cls._stored(sweep_id, stored, stored.forgiven, by_client)
        trial.placed_on, trial.nonce, trial.device_s = stored.placed_on, stored.nonce, stored.device_s
        trial.gang = Gang.restored(stored.ranks, wanted) if stored.ranks else None
        if stored.placed_at is not None:
            trial.ran_s = max(0.0, at - stored.placed_at)
            trial.seen_s = min(trial.ran_s, max(0.0, (stored.seen_at or 0.0) - stored.placed_at))
        for cause in stored.causes:
            trial.failures[cause] = trial.failures.get(cause, 0) + 1
        return trial

    @classmethod
    def retried(cls, sweep_id: int, stored: StoredTrial) -> LiveTrial:
        """An ended trial that a client retries: its attempts so far no longer count."""
        return cls._stored(sweep_id, stored, stored.attempt, True)

    @classmethod
    def _stored(cls, sweep_id: int, stored: StoredTrial, forgiven: int, by_client: bool) -> LiveTrial:
        return cls(
            stored.trial_id, sweep_id, stored.number, stored.params, stored.attempt, forgiven,
            by_client=by_client, reported=set(stored.reports), defined=set(stored.distributions),
            enqueued=stored.attributes.get(ENQUEUED_VALUES, {}),
            settled=max((each.result.attempt for each in stored.intervals if each.result), default=0),
        )  # fmt: skip

    @property
    def key(self) -> AttemptKey:
        return AttemptKey(self.trial_id, self.attempt)

    @property
    def width(self) -> float:
        """The number of devices of the current attempt; below 1 if it shares one."""
        return self.slot_share if self.gang is None else self.slot_share * self.gang.size

    @property
    def was_interrupted_often(self) -> bool:
        """Whether it was interrupted so often that it may itself bring down the service."""
        return self.attempt - max(self.forgiven, self.settled) - sum(self.failures.values()) > MAX_INTERRUPTIONS

    def avoids(self, device: Device, others: OtherDevices, now_s: float) -> bool:
        """Whether to wait for another device for a while: its last attempt ran on this one, or was lost with this node.

        Not if there is no other.
        """
        if now_s >= self.avoided_until_s:
            return False
        same_device = self.avoided_device == device.device_id
        return (same_device and others.device) or (self.avoided_node == device.node and others.node)

    def avoid_node(self, node: str) -> None:
        """Record that the last attempt was lost together with its node."""
        self.avoided_node = node

    def place(self, device: Device, now_s: float, nonce: str, gang: Gang | None = None) -> None:
        """Place the next attempt on a device, or on those of a gang."""
        self.attempt += 1
        self.gang = gang
        self.nonce = nonce
        self.ran_s = self.seen_s = 0.0
        self.started = self.device_s = None
        self.adopt(device, now_s)

    def leave_gang(self) -> None:
        """The attempt has ended."""
        self.gang = None

    def adopt(self, device: Device, now_s: float) -> None:
        """Adopt the current attempt, which is on a device; of several, on this one first."""
        self.device_id, self.slot_share, self.placed_s = device.device_id, 1 / device.slots, now_s

    def lead(self, device_id: str) -> None:
        """Name the device of rank 0, of an attempt that was found by another rank."""
        self.device_id = device_id

    def place_again(self, now_s: float) -> None:
        """Record that the attempt is sent to its slot only now."""
        self.placed_s = now_s

    def leave_device(self, device_s: float) -> None:
        """Record that the attempt left its device after `device_s`; its files are being sent."""
        self.device_s = device_s

    def release(self, now_s: float) -> None:
        """Record that the attempt ended; the next attempt avoids its device for some time."""
        self.avoided_device, self.avoided_node, self.device_id = self.device_id, None, None
        self.avoided_until_s = now_s + AVOID_S

    def begin_interval(self, params: Params) -> None:
        """Record the parameters of an interval of training, which the attempt that was just placed begins."""
        self.params = params

    def end_interval(self) -> None:
        """Record that its attempt ended an interval: the trial has made progress, and avoids no device."""
        self.settled = self.attempt
        self.failures.clear()
        self.avoided_device = None

    def start(self, event: Started) -> None:
        """Record that the process of the attempt is running."""
        self.started = event

    def interrupt(self) -> None:
        """Record that the attempt was lost with the service; its device time counts up to the last heartbeat."""
        self.ran_s = self.seen_s

    def request_stop(self) -> None:
        """Record that a client wants the trial to end."""
        self.stopping = True

    def record_report(self, step: int) -> bool:
        """Whether the search must get this report; a repeated attempt repeats steps that the search already has."""
        if step < max(self.reported, default=-1):
            return False
        self.reported.add(step)
        return True

    def define(self, name: str, value: Scalar) -> None:
        """Record a parameter that is not in the sweep file."""
        self.params = {**self.params, name: value}
        self.defined.add(name)

    def define_fallback(self, name: str, value: Scalar) -> None:
        """Record a value that the trial sampled itself: a later answer of the search no longer counts."""
        self.fallbacks.add(name)
        self.define(name, value)

    def record_failure(self, event: Ended, spec: SweepSpec) -> bool:
        """Count a failed attempt; returns whether the retry budget allows another one."""
        cause = event.cause or Cause.USER_ERROR
        self.failures[cause] = self.failures.get(cause, 0) + 1
        budget, allowed = _retry_budget(cause, spec)
        used = sum(count for other, count in self.failures.items() if _retry_budget(other, spec)[0] == budget)
        return used <= allowed


def _retry_budget(cause: Cause, spec: SweepSpec) -> tuple[str, int]:
    """The retry budget that a failure uses: its name and size."""
    if cause is Cause.NODE_LOST:
        return "node_lost", spec.retries.node_lost
    if cause in INFRASTRUCTURE_CAUSES:
        return "infrastructure", spec.retries.infrastructure
    if cause in MEMORY_CAUSES:
        return "memory", spec.retries.memory
    return "user", spec.retries.user
