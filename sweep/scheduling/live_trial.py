"""A trial that is not over, as the scheduler holds it in memory, and how often it may be repeated; pure, scheduler."""

from __future__ import annotations

from dataclasses import dataclass, field

from podium.sweep.lifecycle.scheduler_messages import Device
from podium.sweep.spec.sweep_spec import SweepSpec
from podium.sweep.values.trial import INFRASTRUCTURE_CAUSES, MEMORY_CAUSES, AttemptKey, Cause, Ended, Params, Started

MAX_INTERRUPTIONS = 30  # of one trial, by kills and restarts of the service, that are no failures of it


@dataclass(slots=True, eq=False)
class LiveTrial:
    """A trial that is not over."""

    trial_id: int
    sweep_id: int
    number: int
    params: Params
    attempt: int = 0
    forgiven: int = 0  # attempts up to this one count no more
    device_id: str | None = None  # where its current attempt runs
    avoid: str | None = None  # the device that failed it last
    avoid_until_s: float = 0.0  # monotonic
    placed_s: float = 0.0  # when its attempt got its device; monotonic
    ran_s: float = 0.0  # how long its attempt had run when this scheduler found it
    seen_s: float = 0.0  # and up to when something was heard of it
    wanted: bool = False  # a client added it, or wants it again: it is before those that the search chose
    stopping: bool = False  # a client wants it to end
    failed: dict[Cause, int] = field(default_factory=dict)
    reported: set[int] = field(default_factory=set)  # steps the search has seen
    defined: set[str] = field(default_factory=set)  # parameters that the sweep file does not name
    enqueued: Params = field(default_factory=dict)  # values for what the sweep file does not name, if it suggests that
    started: Started | None = None  # its current attempt, if this scheduler was told
    drawn: set[str] = field(default_factory=set)  # those of them that it drew by itself, since no answer came in time

    @property
    def key(self) -> AttemptKey:
        return AttemptKey(self.trial_id, self.attempt)

    def avoids(self, device: Device, now_s: float) -> bool:
        """Whether to wait for another device, for a while: this one has just failed it."""
        return self.avoid == device.device_id and now_s < self.avoid_until_s

    @property
    def often_interrupted(self) -> bool:
        """Whether it went down with the service so often that it may be what takes the service down."""
        return self.attempt - self.forgiven - sum(self.failed.values()) > MAX_INTERRUPTIONS

    def may_retry(self, event: Ended, spec: SweepSpec) -> bool:
        """Whether the attempt that ended so is repeated; notes its failure."""
        cause = event.cause or Cause.USER_ERROR
        self.failed[cause] = self.failed.get(cause, 0) + 1
        spent = sum(n for c, n in self.failed.items() if _budget(c, spec) == _budget(cause, spec))
        return spent <= _budget(cause, spec)[1]


def _budget(cause: Cause, spec: SweepSpec) -> tuple[str, int]:
    """Which of the retry budgets a failure is taken from, and how large it is."""
    if cause in INFRASTRUCTURE_CAUSES:
        return "infrastructure", spec.retries.infrastructure
    if cause in MEMORY_CAUSES:
        return "memory", spec.retries.memory
    return "user", spec.retries.user
