"""A sweep and its trials while they live, as the scheduler holds them in memory; pure, scheduler."""

from __future__ import annotations

import hashlib
from collections import deque
from dataclasses import dataclass, field

from sweep.changes import StoredSweep, StoredTrial
from sweep.layout import DataDirectory
from sweep.messages import Device, Searcher
from sweep.search import PastTrial
from sweep.spec import FunctionProgram, SweepSpec, spec_from_json
from sweep.trial import (
    COUNTED,
    INFRASTRUCTURE_CAUSES,
    TRIAL_OVER,
    Assignment,
    AttemptKey,
    Cause,
    Ended,
    Limits,
    Params,
    SweepState,
    TrialState,
)

_STARTING_TRIAL_S = 1.0  # a guess, until the first trial of a sweep has ended


@dataclass(slots=True)
class LiveTrial:
    """A trial that is not over."""

    trial_id: int
    sweep_id: int
    number: int
    params: Params
    attempt: int = 0
    device_id: str | None = None  # where its current attempt runs
    avoid: str | None = None  # the device that failed it last
    failed: dict[Cause, int] = field(default_factory=dict)
    reported: set[int] = field(default_factory=set)  # steps the search has seen

    @property
    def key(self) -> AttemptKey:
        return AttemptKey(self.trial_id, self.attempt)

    def may_retry(self, event: Ended, spec: SweepSpec) -> bool:
        """Whether the attempt that ended so is repeated; notes its failure."""
        cause = event.cause or Cause.USER_ERROR
        self.failed[cause] = self.failed.get(cause, 0) + 1
        infrastructure = cause in INFRASTRUCTURE_CAUSES
        spent = sum(n for c, n in self.failed.items() if (c in INFRASTRUCTURE_CAUSES) == infrastructure)
        return spent <= (spec.retries.infrastructure if infrastructure else spec.retries.user)


class LiveSweep:
    """A sweep that is not over: its plan, what runs, and what counts so far."""

    def __init__(self, stored: StoredSweep) -> None:
        self.sweep_id = stored.sweep_id
        self.state = stored.state
        self.spec = spec_from_json(stored.spec)
        self.searcher: Searcher | None = None
        self.trials: dict[int, LiveTrial] = {}  # by number
        self.ready: deque[LiveTrial] = deque()
        self.asking = 0
        self.running = 0  # how many have an attempt on a slot
        self.exhausted = False
        self.counted = 0
        self.finished = 0
        self.failures_in_a_row = 0
        self.last_failure = ""
        self.waits_for = ""  # why nothing of it can run, while that is so
        self.stop_reason = "stopped"
        self.mean_ask_s = 0.0
        self.mean_trial_s = _STARTING_TRIAL_S
        for trial in stored.trials:
            self._restore(trial)

    def place(self, trial: LiveTrial, device_id: str) -> None:
        """The trial's next attempt goes to a device."""
        self.ready.remove(trial)
        trial.attempt += 1
        trial.device_id = device_id
        self.running += 1

    def adopt(self, trial: LiveTrial, device_id: str) -> None:
        """The trial's current attempt was found on a device."""
        trial.device_id = device_id
        self.running += 1

    def unplace(self, trial: LiveTrial) -> None:
        """The trial's attempt is no longer on its device."""
        if trial.device_id is not None:
            trial.avoid, trial.device_id = trial.device_id, None
            self.running -= 1

    def begun(self) -> list[LiveTrial]:
        """The trials whose attempt is not over: on a slot, or on none that we know of."""
        return [trial for trial in self.trials.values() if trial not in self.ready]

    def next_for(self, device: Device, *, only: bool) -> LiveTrial | None:
        """The trial to start on a device: not one that has just failed there, unless it is the only device."""
        if not self.wants_more or not self.fits(device):
            return None
        return next((trial for trial in self.ready if only or trial.avoid != device.device_id), None)

    @property
    def wants_more(self) -> bool:
        """Whether another trial may start: the cap is on those that count, so running ones are taken to."""
        return self.state in (SweepState.QUEUED, SweepState.RUNNING) and self.counted + self.running < self.spec.run_cap

    @property
    def has_ended(self) -> bool:
        """Whether nothing runs and nothing will."""
        if self.running or self.asking:
            return False
        if self.state is SweepState.STOPPING or self.counted >= self.spec.run_cap:
            return True
        return self.exhausted and not self.ready

    def asks_wanted(self, free_slots: int, slots: int) -> int:
        """How many trials to ask for now, so that no slot waits and the search knows as much as it can.

        One ahead, and as many more as slots may come free while the search thinks. More would be staler.
        """
        if not self.wants_more or self.exhausted:
            return 0
        concurrent = self.spec.resources.max_concurrent or slots
        ahead = 1 + int(slots * self.mean_ask_s / max(self.mean_trial_s, 1e-3))
        planned = len(self.ready) + self.asking
        room = self.spec.run_cap - self.counted - self.running - planned
        return max(0, min(min(free_slots, concurrent) + min(ahead, slots) - planned, room))

    def count(self, event: Ended) -> None:
        """Note how a trial ended."""
        self.mean_trial_s += 0.2 * (event.ended_at - event.started_at - self.mean_trial_s)
        if event.state in COUNTED:
            self.counted += 1
            self.failures_in_a_row = 0
        elif event.state is TrialState.FAILED:
            self.failures_in_a_row += 1
            self.last_failure = f"{event.cause}: {event.message}"
        if event.state is TrialState.FINISHED:
            self.finished += 1

    def assignment(self, trial: LiveTrial, data: DataDirectory, threads: int) -> Assignment:
        """What a slot needs to run the trial's current attempt."""
        spec = self.spec
        bundle = spec.program.bundle if isinstance(spec.program, FunctionProgram) else None
        return Assignment(
            sweep_id=self.sweep_id,
            trial_id=trial.trial_id,
            number=trial.number,
            attempt=trial.attempt,
            params=trial.params,
            seed=self.trial_seed(trial.number),
            metric=spec.metric.name,
            program=spec.program.model_dump(),
            split=spec.validation.model_dump(mode="json"),
            directory=str(data.attempt(self.sweep_id, trial.number, trial.attempt)),
            data_cache=str(data.data_cache),
            code=None if bundle is None else str(data.bundle(bundle)),
            prunable=spec.early_terminate.type != "none",
            threads=spec.resources.threads or threads,
            limits=Limits(**spec.limits.model_dump()),
        )

    def fits(self, device: Device) -> bool:
        """Whether its trials may run on a device of this kind."""
        return self.spec.resources.device in ("auto", device.kind)

    def why_ended(self) -> tuple[SweepState, str]:
        """The state in which a sweep with nothing left to do ends, and why."""
        if not self.finished:
            return SweepState.FAILED, f"no trial finished; {self.last_failure or 'all were pruned or stopped'}"
        if self.counted >= self.spec.run_cap:
            return SweepState.FINISHED, f"{self.counted} trials counted"
        return SweepState.FINISHED, "the grid is exhausted" if self.exhausted else self.stop_reason

    def trial_seed(self, number: int) -> int:
        """The seed of a trial: the same for each of its attempts, so that a repeat gives the same numbers."""
        digest = hashlib.sha256(f"trial:{self.spec.seed}:{number}".encode()).digest()
        return int.from_bytes(digest[:4], "big")

    def _restore(self, stored: StoredTrial) -> None:
        if stored.state in COUNTED:
            self.counted += 1
        if stored.state is TrialState.FINISHED:
            self.finished += 1
        if stored.state in TRIAL_OVER:
            failed = stored.state is TrialState.FAILED
            self.failures_in_a_row = self.failures_in_a_row + 1 if failed else 0
            return
        trial = LiveTrial(
            stored.trial_id, self.sweep_id, stored.number, stored.params, stored.attempt,
            reported=set(stored.reports),
        )  # fmt: skip
        for cause in stored.causes:
            trial.failed[cause] = trial.failed.get(cause, 0) + 1
        self.trials[trial.number] = trial
        if stored.state is TrialState.WAITING:
            self.ready.append(trial)


def past_trials(stored: StoredSweep) -> list[PastTrial]:
    """What the search must know to go on as if it had never stopped."""
    return [PastTrial(t.number, t.state, t.params, t.value, dict(t.reports), dict(t.attributes)) for t in stored.trials]
