"""A sweep that is not over, as the scheduler holds it in memory; pure, scheduler."""

from __future__ import annotations

import hashlib
import math
from collections import deque

from podium.sweep.lifecycle.failure_limits import Failures
from podium.sweep.lifecycle.scheduler_messages import ASK_DEADLINE_S, Device, Searcher
from podium.sweep.lifecycle.state_changes import StoredSweep, StoredTrial
from podium.sweep.runtime.import_times import warning_of
from podium.sweep.runtime.layout import DataDirectory
from podium.sweep.scheduling.live_trial import LiveTrial
from podium.sweep.scheduling.sweep_account import Account
from podium.sweep.spec.program import FunctionProgram, OwnCode
from podium.sweep.spec.search_methods import BRUTE_FORCE, CUSTOM
from podium.sweep.spec.stop_conditions import STEP, TRAINING_ITERATION
from podium.sweep.spec.sweep_spec import spec_from_json
from podium.sweep.values.trial import (
    COUNTED,
    MEMORY_CAUSES,
    TRIAL_OVER,
    Assignment,
    Ended,
    Limits,
    SweepState,
    TrialState,
)
from podium.sweep.values.trial_history import CLONED, ENQUEUED_VALUES, PastTrial
from podium.sweep.values.warning_checks import ResultCheck, StopCheck

AVOID_S = 60.0  # how long a trial waits for another device than the one that failed it
_EXHAUSTED = {  # why a sweep ends whose search has no trial left
    BRUTE_FORCE: "every configuration was tried",
    CUSTOM: "the sampler ended the search",
}
_STARTING_TRIAL_S = 1.0  # a guess, until the first trial of a sweep has ended


class LiveSweep:
    """A sweep that is not over: its plan, what runs, and what counts so far."""

    def __init__(self, stored: StoredSweep, at: float = 0.0, now_s: float = 0.0) -> None:
        """As it is found at `at`, in seconds since the epoch, which is `now_s` on the monotonic clock."""
        self.sweep_id = stored.sweep_id
        self.state = stored.state
        self.spec = spec_from_json(stored.spec)
        self.run_cap = self.spec.run_cap if stored.run_cap is None else stored.run_cap
        self.priority = self.spec.priority if stored.priority is None else stored.priority
        self.searcher: Searcher | None = None
        self.taken = 0  # names its search
        self.trials: dict[int, LiveTrial] = {}  # by number
        self.ready: deque[LiveTrial] = deque()
        self.asking = 0
        self.asked_for: set[int] = set()  # configurations of clients that the search was asked for
        self.running = 0  # how many have an attempt on a slot
        self._placed_s = 0.0  # the sum of when they got there
        self._ran_s = 0.0  # the sum of how long they had run when this scheduler found them
        self.account = Account(self.spec, stored, at, now_s)
        self.exhausted = False
        self.counted = 0
        self.finished = 0
        self.failures = Failures(self.spec.retries)
        self.results = ResultCheck()
        own = (STEP, TRAINING_ITERATION)
        self.stops = StopCheck(condition.metric for condition in self.spec.stop if condition.metric not in own)
        self.imports_judged = False
        self.warnings = dict(stored.warnings)  # messages by code
        self.reason = stored.reason  # of its state, or why it waits
        self.still_since_s = -math.inf  # when the last of what ran ended; monotonic
        self.mean_ask_s = 0.0
        self.mean_trial_s = _STARTING_TRIAL_S
        for trial in sorted(stored.trials, key=lambda trial: trial.ended_at or 0.0):
            self._restore(trial, at)
        self.trials = dict(sorted(self.trials.items()))
        self.ready = deque(sorted(self.ready, key=lambda trial: (not trial.wanted, trial.number)))

    def place(self, trial: LiveTrial, device_id: str, now_s: float) -> None:
        """The trial's next attempt goes to a device."""
        self.ready.remove(trial)
        trial.attempt += 1
        trial.ran_s = trial.seen_s = 0.0
        trial.started = None
        self.account.begin(now_s)
        self.adopt(trial, device_id, now_s)

    def adopt(self, trial: LiveTrial, device_id: str, now_s: float) -> None:
        """The trial's current attempt is on a device."""
        trial.device_id, trial.placed_s = device_id, now_s
        self.running += 1
        self._placed_s += now_s
        self._ran_s += trial.ran_s

    def add(self, trial: LiveTrial) -> None:
        """A new trial waits; those that clients added come first, in their order."""
        self.trials[trial.number] = trial
        self.ready.insert(sum(t.wanted for t in self.ready) if trial.wanted else len(self.ready), trial)

    def begin_now(self, trial: LiveTrial, now_s: float) -> None:
        """The trial's attempt is told to its slot only now."""
        self._placed_s += now_s - trial.placed_s
        trial.placed_s = now_s

    def retry(self, stored: StoredTrial) -> LiveTrial:
        """A trial that was over waits again, before all others."""
        trial = LiveTrial(
            stored.trial_id, self.sweep_id, stored.number, stored.params, stored.attempt, stored.attempt,
            wanted=True, reported=set(stored.reports), defined=set(stored.distributions),
            enqueued=stored.attributes.get(ENQUEUED_VALUES, {}),
        )  # fmt: skip
        self.trials[trial.number] = trial
        self.ready.appendleft(trial)
        return trial

    def drop(self, trial: LiveTrial) -> None:
        """The trial is over, or never to start."""
        del self.trials[trial.number]
        if trial in self.ready:
            self.ready.remove(trial)

    def unplace(self, trial: LiveTrial, now_s: float, late_s: float = 0.0) -> float:
        """The trial's attempt ended `late_s` ago; how long it had held its device."""
        cost_s = self.account.charge(trial.ran_s + (now_s - trial.placed_s if trial.device_id else 0.0), late_s)
        if trial.device_id is not None:
            trial.avoid, trial.device_id = trial.device_id, None
            trial.avoid_until_s = now_s + AVOID_S
            self.running -= 1
            self._placed_s -= trial.placed_s
            self._ran_s -= trial.ran_s
            self.still_since_s = now_s
        return cost_s

    def begun(self) -> list[LiveTrial]:
        """The trials whose attempt is not over: on a slot, or on none that we know of."""
        return [trial for trial in self.trials.values() if trial not in self.ready]

    def next_for(self, device: Device, now_s: float, *, only: bool) -> LiveTrial | None:
        """The trial to start on a device: not one that has just failed there, unless it is the only device."""
        if not self.fits(device):
            return None
        may = self.ready if self.wants_more else self.to_end
        return next((trial for trial in may if only or not trial.avoids(device, now_s)), None)

    @property
    def wants_more(self) -> bool:
        """Whether the search may go on: the cap is on trials that count, so running ones are taken to."""
        return self._has_room and not self.account.spent

    @property
    def _has_room(self) -> bool:
        return self.state in (SweepState.QUEUED, SweepState.RUNNING) and self.counted + self.running < self.run_cap

    @property
    def to_end(self) -> list[LiveTrial]:
        """What a sweep that is being stopped still starts: trials that had begun, and lost their attempt.

        And what clients want of one whose budget is spent.
        """
        if self.state is SweepState.STOPPING:
            return [trial for trial in self.ready if trial.attempt > trial.forgiven]
        if self._has_room and self.account.spent:
            return [trial for trial in self.ready if trial.wanted or trial.attempt > trial.forgiven]
        return []

    @property
    def is_spent(self) -> bool:
        """Whether it is to be stopped: its budget is spent, and no client wants a trial of it all the same."""
        is_open = self.state in (SweepState.QUEUED, SweepState.RUNNING, SweepState.PAUSED)
        wanted = self.asking or any(trial.wanted for trial in self.ready)
        return is_open and bool(self.account.spent) and not wanted

    def look_at_budget(self, now_s: float) -> None:
        """Find out whether its budget is spent."""
        self.account.look(self.used_s(now_s) + self._ran_s, now_s)

    @property
    def several(self) -> tuple[str, ...]:
        """The names of its objectives, if there are several."""
        return tuple(metric.name for metric in self.spec.metrics or ())

    @property
    def why_failing(self) -> str:
        """Why it is to end because its trials only fail, or ""."""
        other_reports = not self.counted and any(trial.device_id and trial.reported for trial in self.trials.values())
        return self.failures.reason(counted=self.counted, other_reports=other_reports)

    @property
    def has_ended(self) -> bool:
        """Whether nothing runs and nothing will."""
        if self.running or self.asking:
            return False
        if self.state is SweepState.STOPPING:
            return not self.to_end
        return self.counted >= self.run_cap or (self.exhausted and not self.ready)

    def used_s(self, now_s: float) -> float:
        """Device-seconds of what runs now, so far."""
        return self.running * now_s - self._placed_s

    def held_s(self, now_s: float) -> float:
        """Device-seconds of what runs now by its end: at least as much as its trials usually take.

        Or all of the first free slots would go to one sweep, since nothing that has just begun has used anything.
        """
        return max(self.used_s(now_s), self.running * self.mean_trial_s)

    def asks_wanted(self, free_slots: int, slots: int) -> int:
        """How many trials to ask for now, so that no slot waits and the search knows as much as it can.

        One ahead, and as many more as slots may come free while the search thinks. More would be staler.
        """
        if not self.wants_more or self.exhausted:
            return 0
        concurrent = self.spec.resources.max_concurrent or slots
        ahead = 1 + int(slots * self.mean_ask_s / max(self.mean_trial_s, 1e-3))
        planned = sum(trial.avoid is None for trial in self.ready) + self.asking  # others may have to wait
        room = self.run_cap - self.counted - self.running - len(self.ready) - self.asking
        return max(0, min(min(free_slots, concurrent) + min(ahead, slots) - planned, room))

    @property
    def ask_deadline_s(self) -> float:
        """How long a trial is worth waiting for.

        2 s; but no more than a quarter of what a trial takes, or devices would wait, nor less than a hundredth of it,
        which nobody feels, up to a minute.
        """
        quarter, hundredth = self.mean_trial_s / 4, min(self.mean_trial_s / 100, 60.0)
        return max(min(ASK_DEADLINE_S, quarter), hundredth)

    def look_again(self) -> None:
        """A trial has more parameters, or is over: brute force may know configurations that it did not before."""
        if self.spec.searched_by == BRUTE_FORCE:
            self.exhausted = False

    def count(self, trial: LiveTrial, event: Ended, state: TrialState) -> None:
        """Note how a trial ended, by its last attempt."""
        self.mean_trial_s += 0.2 * (event.ended_at - event.started_at - self.mean_trial_s)
        if state in COUNTED:
            self.counted += 1
            self.account.note(trial.number, event.value if state is TrialState.FINISHED else None, event.constraints)
            self.failures.clear()
        elif state is TrialState.FAILED:
            self.failures.note(event.cause, event.message, reported=bool(trial.reported))
        if state is TrialState.FINISHED:
            self.finished += 1
            self.results.note(trial.params, event.values)

    def import_warning(self, trial: LiveTrial, event: Ended) -> str | None:
        """After the first finished trial: the warning of its imports, or ""; None after others, or if not known."""
        started, program = trial.started, self.spec.program
        if started is None or not isinstance(program, FunctionProgram) or self.imports_judged:
            return None
        self.imports_judged = True
        return warning_of(started.imports, max(0.0, event.ended_at - started.at), program.preload)

    def assignment(self, trial: LiveTrial, data: DataDirectory, threads: int) -> Assignment:
        """What a slot needs to run the trial's current attempt."""
        spec = self.spec
        bundle = spec.program.bundle if isinstance(spec.program, OwnCode) else None
        return Assignment(
            sweep_id=self.sweep_id,
            trial_id=trial.trial_id,
            number=trial.number,
            attempt=trial.attempt,
            params=trial.params,
            seed=self.trial_seed(trial.number),
            metric=spec.pruned_on.name,
            program=spec.program.model_dump(),
            split=spec.validation.model_dump(mode="json"),
            directory=str(data.attempt(self.sweep_id, trial.number, trial.attempt)),
            data_cache=str(data.data_cache),
            code=None if bundle is None else str(data.bundle(bundle)),
            defined=tuple(sorted(trial.defined)),
            prunable=spec.early_terminate.type != "none",
            keep_checkpoint=spec.keep.checkpoints != "none",
            threads=spec.resources.threads or threads,
            limits=Limits(**spec.limits.model_dump()),
            objectives=tuple(metric.name for metric in spec.objectives),
            goals=tuple(metric.goal for metric in spec.objectives),
            sweep_name=spec.name,
            enqueued=trial.enqueued,
            objective=spec.reported_rule,
            stop=tuple((condition.metric, condition.at) for condition in spec.stop),
        )

    def fits(self, device: Device) -> bool:
        """Whether its trials may run on a device of this kind."""
        return self.spec.resources.device in ("auto", device.kind)

    def why_ended(self) -> tuple[SweepState, str]:
        """The state in which a sweep with nothing left to do ends, and why."""
        if self.state is SweepState.STOPPING and not self.failures.last:
            return SweepState.FINISHED, self.reason
        if not self.finished:
            why = "; ".join(filter(None, [self.account.spent, self.failures.last])) or "all were pruned or stopped"
            return SweepState.FAILED, f"no trial finished; {why}"
        if self.state is SweepState.STOPPING and self.account.spent:
            return SweepState.FINISHED, self.reason
        if self.counted >= self.run_cap:
            return SweepState.FINISHED, "1 trial counted" if self.counted == 1 else f"{self.counted} trials counted"
        if self.state is SweepState.STOPPING:
            return SweepState.FINISHED, self.reason
        return SweepState.FINISHED, _EXHAUSTED.get(self.spec.searched_by, "the grid is exhausted")

    def trial_seed(self, number: int) -> int:
        """The seed of a trial: the same for each of its attempts, so that a repeat gives the same numbers."""
        digest = hashlib.sha256(f"trial:{self.spec.seed}:{number}".encode()).digest()
        return int.from_bytes(digest[:4], "big")

    def _restore(self, stored: StoredTrial, at: float) -> None:
        if stored.state in COUNTED:
            self.counted += 1
            self.account.note(stored.number, stored.value, stored.constraints)
        if stored.state is TrialState.FINISHED:
            self.finished += 1
            self.results.note(stored.params, stored.values)
        if stored.state in TRIAL_OVER:
            if stored.state is TrialState.FAILED and stored.attempt > stored.forgiven:
                self.failures.note(stored.last_cause, stored.last_message, reported=bool(stored.reports))
            elif stored.state in COUNTED:
                self.failures.clear()
            return
        trial = LiveTrial(
            stored.trial_id, self.sweep_id, stored.number, stored.params, stored.attempt, stored.forgiven,
            wanted=stored.sampler == CLONED or 0 < stored.attempt == stored.forgiven, reported=set(stored.reports),
            defined=set(stored.distributions), enqueued=stored.attributes.get(ENQUEUED_VALUES, {}),
        )  # fmt: skip
        if stored.placed_at is not None:
            trial.ran_s = max(0.0, at - stored.placed_at)
            trial.seen_s = min(trial.ran_s, max(0.0, (stored.seen_at or 0.0) - stored.placed_at))
        for cause in stored.causes:
            trial.failed[cause] = trial.failed.get(cause, 0) + 1
        self.trials[trial.number] = trial
        if stored.state is TrialState.WAITING:
            self.ready.append(trial)


def past_trials(stored: StoredSweep) -> list[PastTrial]:
    """What the search must know to go on as if it had never stopped."""
    return [
        PastTrial(
            t.number, t.state, t.params, t.value, t.reports, dict(t.attributes), t.sampler, infeasible(t),
            values=t.values, constraints=dict(t.constraints),
            distributions=dict(t.distributions),
        )
        for t in stored.trials
    ]  # fmt: skip


def earlier_trials(stored: StoredSweep) -> list[PastTrial]:
    """What the search starts from: trials of other sweeps, which take no numbers of this one."""
    return [
        PastTrial(
            position, t.state, dict(t.params), t.values[0] if t.values else None,
            {} if t.last_report is None else dict([t.last_report]), values=t.values, constraints=dict(t.constraints),
            distributions=dict(t.distributions),
        )
        for position, t in enumerate(stored.earlier)
    ]  # fmt: skip


def infeasible(trial: StoredTrial) -> bool:
    """Whether a trial failed for want of memory: the sampler is to keep away from its values."""
    return trial.state is TrialState.FAILED and trial.last_cause in MEMORY_CAUSES
