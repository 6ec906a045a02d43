"""The trials of a sweep that are trained in intervals, and the decision between two intervals. Pure; scheduler process.

An interval of a trial is decided when the trial gets a device for it, with all results known by then. No trial waits
for others, but in a population larger than the number of devices most of them have ended the same interval. The
decision is written together with the placement, and an interval that was started is never decided again, however often
its attempts are lost.
"""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from podium.sweep.lifecycle.database_changes import IntervalEnded, IntervalStarted
from podium.sweep.lifecycle.stored_sweeps import IntervalResult, StoredInterval, StoredTrial
from podium.sweep.scheduling.exploit_and_explore import exploit, explore, stream
from podium.sweep.spec.population import CHECKPOINTS_KEPT, PopulationBasedTraining, Replay
from podium.sweep.spec.sweep_spec import SweepSpec
from podium.sweep.values.attempt_assignment import AttemptKey, Interval, Params
from podium.sweep.values.slot_events import Ended
from podium.sweep.values.states import TrialState

_TAKES_NO_PART = frozenset({TrialState.FAILED, TrialState.CANCELLED})


class Start(NamedTuple):
    """The attempt whose checkpoint an interval starts from."""

    number: int  # of its trial
    attempt: int
    nonce: str
    step: int
    value: float


class Donor(NamedTuple):
    """The trial that an interval continues instead of the own one: its id, and its interval."""

    trial_id: int
    interval: int


@dataclass(slots=True)
class _Trained:
    """A trial with its intervals, oldest first; only the last one may be open."""

    trial_id: int
    number: int
    intervals: list[StoredInterval] = field(default_factory=list)
    takes_part: bool = True

    def result_of(self, interval: int) -> IntervalResult | None:
        return next((each.result for each in self.intervals if each.number == interval), None)

    def leave(self) -> None:
        self.takes_part = False

    @property
    def can_donate(self) -> bool:
        """Whether other trials are compared with it, and continue from its last checkpoint if they are worse."""
        last = self.last_ended
        return self.takes_part and last is not None and last.has_checkpoint

    def source_for(self, interval: int) -> StoredInterval:
        """What another trial continues that has ended this interval: the same one, or if this trial is so far ahead
        that its checkpoint is not kept, the oldest one that is.
        """
        kept = [each for each in self.intervals if each.result is not None][-CHECKPOINTS_KEPT:]
        return next(each for each in kept if each.number >= interval)

    @property
    def last_ended(self) -> StoredInterval | None:
        return next((each for each in reversed(self.intervals) if each.result is not None), None)


class Population:
    """See the module docstring. It only changes by `begin`, `end` and `leave`."""

    def __init__(self, spec: SweepSpec, stored: Iterable[StoredTrial]) -> None:
        assert spec.population is not None
        self._spec = spec
        self._method = spec.population
        self._explored = (
            self._method.explored(spec) if isinstance(self._method, PopulationBasedTraining) else frozenset()
        )
        self._trials: dict[int, _Trained] = {}  # by id
        for trial in stored:
            self.add(trial)

    def add(self, stored: StoredTrial) -> None:
        """Add a trial as it is in the database, or take up one that is retried."""
        takes_part = stored.state not in _TAKES_NO_PART
        self._trials[stored.trial_id] = _Trained(
            stored.trial_id, stored.number, list(stored.intervals), takes_part=takes_part
        )

    def leave(self, trial_id: int) -> None:
        """A trial failed, or was cancelled: it is compared with no other one, and no other one continues it."""
        if trial_id in self._trials:
            self._trials[trial_id].leave()

    def ended_by(self, trial_id: int) -> int:
        """The last attempt of a trial that ended an interval; 0 if none did."""
        last = self._trials[trial_id].last_ended if trial_id in self._trials else None
        return 0 if last is None or last.result is None else last.result.attempt

    def intervals_of(self, trial_id: int) -> int:
        """The number of the last interval of a trial that has ended; 0 if none has."""
        last = self._trials[trial_id].last_ended if trial_id in self._trials else None
        return 0 if last is None else last.number

    # Between two intervals.

    def begin(self, key: AttemptKey, sweep_id: int, number: int, params: Params, at: float) -> IntervalStarted | None:
        """Decide the next interval of a trial, whose attempt `key` is being placed; None if it is open already.

        `number`, `params`: of the trial.
        """
        trial = self._trials.setdefault(key.trial_id, _Trained(key.trial_id, number))
        if trial.intervals and trial.intervals[-1].result is None:
            return None
        started = self._next(trial, params, key.attempt)
        trial.intervals.append(started)
        return IntervalStarted(
            key.trial_id,
            sweep_id,
            started.number,
            started.params,
            key.attempt,
            at,
            started.donor_id,
            started.donor_interval,
        )

    def _next(self, trial: _Trained, params: Params, attempt: int) -> StoredInterval:
        last = trial.last_ended
        if isinstance(self._method, Replay):
            number = 1 if last is None else last.number + 1
            return StoredInterval(number, dict(self._method.schedule[number - 1].parameters), attempt)
        if last is None:
            return StoredInterval(1, dict(params), attempt)
        chance = stream(self._spec.seed, trial.number, last.number + 1)
        donor = self._donor(trial, last.number, chance)
        if donor is None:
            return StoredInterval(last.number + 1, dict(last.params), attempt)
        source = donor.source_for(last.number)
        changed = explore(
            self._method, self._spec.ordered(), explored=self._explored, donor=source.params, chance=chance
        )
        return StoredInterval(source.number + 1, changed, attempt, donor.trial_id, source.number)

    def _donor(self, trial: _Trained, interval: int, chance: random.Random) -> _Trained | None:
        """The trial to continue instead; the trials are compared at the same interval."""
        assert isinstance(self._method, PopulationBasedTraining)
        compared = {
            other.number: (other, result.value)
            for other in self._trials.values()
            if (other is trial or other.can_donate) and (result := other.result_of(interval)) is not None
        }
        values = {number: value for number, (_, value) in compared.items()}
        chosen = exploit(
            values, trial.number, goal=self._spec.metric.goal, quantile=self._method.quantile, chance=chance
        )
        return None if chosen is None else compared[chosen][0]

    # During an interval.

    def interval_of(self, trial_id: int, *, is_last: bool) -> tuple[Interval, Start | None]:
        """The open interval of a trial for its attempt, and what it starts from. `is_last`: the sweep ends."""
        trial = self._trials[trial_id]
        current = trial.intervals[-1]
        start = self._start(trial, current)
        steps, until = None, None
        if isinstance(self._method, Replay):
            until = self._method.schedule[current.number - 1].until
            is_last = is_last or current.number == len(self._method.schedule)
        else:
            steps = self._method.interval.step
        interval = Interval(
            current.number, steps, until, first_attempt=current.first_attempt, is_last=is_last,
            after_step=None if start is None else start.step, value=None if start is None else start.value,
        )  # fmt: skip
        return interval, start

    def _start(self, trial: _Trained, current: StoredInterval) -> Start | None:
        if current.donor_id is not None:
            source, number = self._trials[current.donor_id], current.donor_interval
        else:
            ended = trial.last_ended
            source, number = trial, None if ended is None else ended.number
        result = None if number is None else source.result_of(number)
        return None if result is None else Start(source.number, *_of(result))

    def end(self, event: Ended, sweep_id: int, nonce: str) -> IntervalEnded:
        """The current interval of a trial has ended with this attempt, whose folder has the nonce."""
        assert event.step is not None and event.value is not None
        trial = self._trials[event.key.trial_id]
        current = trial.intervals[-1]
        result = IntervalResult(event.key.attempt, nonce, event.step, event.value)
        trial.intervals[-1] = replace(current, result=result)
        return IntervalEnded(event.key, sweep_id, current.number, event.step, event.value, event.ended_at)


def _of(result: IntervalResult) -> tuple[int, str, int, float]:
    return result.attempt, result.nonce, result.step, result.value
