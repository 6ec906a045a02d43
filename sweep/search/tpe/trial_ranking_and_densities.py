"""The trials of a study as TPE sees them: ranking and densities. Scheduler and search processes."""

from __future__ import annotations

import bisect
import math
from collections import Counter
from collections.abc import Sequence

from optuna.distributions import BaseDistribution
from optuna.study import StudyDirection
from optuna.trial import FrozenTrial, TrialState

from podium.sweep.search.optuna_private import MutableStorage, is_compatible
from podium.sweep.search.tpe.parzen_mixture import ParzenMixture

Space = dict[str, BaseDistribution]
Rank = tuple[int, float, float, int]  # ascending: complete by value, pruned by step and value, infeasible; the trial

MOST_BEST = 25
_SPACES = 64  # whose densities are kept, up to 3 MB each


class TrialHistory:
    """The trials in `storage`, which has one study with one objective. Follows its changes at each `sync`.

    `window`: the number of newest trials that have a kernel; older ones have one only among the best.
    """

    def __init__(self, storage: MutableStorage, direction: StudyDirection, window: int) -> None:
        self._storage = storage
        self._window = window
        self._sign = -1.0 if direction is StudyDirection.MAXIMIZE else 1.0
        self._trials: list[FrozenTrial] = []  # by number, as of the last `sync`
        self._ranking: list[Rank] = []  # of the trials that finished or were pruned
        self._parameters: Counter[tuple[str, BaseDistribution]] = Counter()  # in how many of these
        self._best: set[int] = set()
        self._changes: list[int] = []  # trials whose kernel may have changed
        self._densities: dict[tuple[tuple[str, BaseDistribution], ...], Densities] = {}

    @property
    def finished(self) -> int:
        """The number of trials that finished or were pruned."""
        return len(self._ranking)

    def sync(self) -> None:
        """Take over what changed in the storage."""
        for number in sorted(self._storage.take_changed()):
            trial = self._storage.get_trial(number)
            if number < len(self._trials):
                self._forget(self._trials[number])
                self._trials[number] = trial
            else:
                self._trials.append(trial)
            if _is_ranked(trial):
                bisect.insort(self._ranking, self._rank(trial))
                self._parameters.update(trial.distributions.items())
            self._changes.append(number)
        best = {rank[-1] for rank in self._ranking[: best_count(len(self._ranking))]}
        self._changes += sorted(best ^ self._best)
        self._best = best

    def common_space(self) -> Space:
        """The parameters of all ranked trials, by name, without those that have a single value."""
        return {
            name: distribution
            for (name, distribution), count in sorted(self._parameters.items(), key=lambda item: item[0][0])
            if count == len(self._ranking) and not distribution.single()
        }

    def densities(self, space: Space) -> Densities:
        """The densities of the best trials and of the others that have all parameters of `space`."""
        key = tuple(space.items())
        found = self._densities.pop(key, None) or Densities(space, self._window)
        self._densities[key] = found  # the last one
        if len(self._densities) > _SPACES:
            del self._densities[next(iter(self._densities))]
        found.follow(self._trials, self._best, self._changes)
        return found

    def _forget(self, trial: FrozenTrial) -> None:
        if _is_ranked(trial):
            del self._ranking[bisect.bisect_left(self._ranking, self._rank(trial))]
            self._parameters.subtract(trial.distributions.items())

    def _rank(self, trial: FrozenTrial) -> Rank:
        violation = sum(value for value in trial.constraints.values() if value > 0)
        if violation > 0:
            return 2, violation, 0.0, trial.number
        if trial.state is TrialState.COMPLETE:
            assert trial.value is not None
            return 0, self._sign * trial.value, 0.0, trial.number
        if not trial.intermediate_values:
            return 1, 1.0, 0.0, trial.number
        step, value = max(trial.intermediate_values.items())
        return 1, -float(step), math.inf if math.isnan(value) else self._sign * value, trial.number


class Densities:
    """The density of the best trials, and that of the others, over one space."""

    def __init__(self, space: Space, window: int) -> None:
        self._space = space
        self._window = window  # trials
        self._start = 0  # the first trial that may be among the others
        self._followed = 0  # changes
        self._best_trials: list[FrozenTrial] = []
        self.best, self.others = ParzenMixture(space), ParzenMixture(space)

    def follow(self, trials: Sequence[FrozenTrial], best: set[int], changes: Sequence[int]) -> None:
        """Update both: `changes` since the last time concern the trials whose kernel may differ now."""
        best_trials = [trials[number] for number in sorted(best)]
        if not _same(best_trials, self._best_trials):
            self._best_trials = best_trials
            self.best = ParzenMixture(self._space)
            found = [values for trial in best_trials if (values := self._values(trial)) is not None]
            self.best.change([], dict(enumerate(found)))
        start = max(0, len(trials) - self._window)
        concerned = {*changes[self._followed :], *range(self._start, start)}
        self._start, self._followed = start, len(changes)
        removed: list[int] = []
        added: dict[int, Sequence[float]] = {}
        for number in sorted(concerned):
            had = self.others.get(number)
            has = None if number < start or number in best else self._values(trials[number])
            if had is not None and had != has:
                removed.append(number)
            if has is not None and had != has:
                added[number] = has
        if removed or added:
            self.others.change(removed, added)

    def _values(self, trial: FrozenTrial) -> Sequence[float] | None:
        """In the order of the space, in Optuna's internal representation; None for a trial without kernel."""
        if trial.state not in _WITH_KERNEL or not all(_fits(trial, name, own) for name, own in self._space.items()):
            return None
        return [own.to_internal_repr(trial.params[name]) for name, own in self._space.items()]


_WITH_KERNEL = frozenset((TrialState.COMPLETE, TrialState.PRUNED, TrialState.RUNNING))


def _fits(trial: FrozenTrial, name: str, own: BaseDistribution) -> bool:
    """Whether the trial has a value of this distribution; one of an earlier sweep may have another."""
    if name not in trial.params:
        return False
    distribution = trial.distributions[name]
    return distribution == own or is_compatible(trial.params[name], distribution, own)


def best_count(finished: int) -> int:
    """The number of trials that are among the best: a tenth, up to 25."""
    return min(math.ceil(0.1 * finished), MOST_BEST)


def _is_ranked(trial: FrozenTrial) -> bool:
    return trial.state is TrialState.COMPLETE or trial.state is TrialState.PRUNED


def _same(one: Sequence[FrozenTrial], other: Sequence[FrozenTrial]) -> bool:
    return len(one) == len(other) and all(first is second for first, second in zip(one, other, strict=True))
