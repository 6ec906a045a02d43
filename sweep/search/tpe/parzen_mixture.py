"""A Parzen estimator: a weighted mixture of the kernels of trials. Scheduler and search processes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution

from podium.sweep.search.tpe.categorical_kernels import CategoricalKernels
from podium.sweep.search.tpe.numeric_kernels import FINEST, PRIOR, NumericKernels, Slots
from podium.sweep.search.tpe.truncated_normal import Floats

_NEWEST = 25  # kernels with full weight; older ones have less
_NEGLIGIBLE = -50.0  # the logarithm of a share that does not change a sum of 64-bit numbers
_DENSE = 0.25  # share of near kernels, above which adding up all of them is faster than selecting the near ones
_BLOCK = 4096  # slots that are computed at once; their densities fit into the processor's cache


class ParzenMixture:
    """Kernels of trials, by trial number; older trials weigh less, as in Optuna.

    The slot of a trial is its number less an offset, so that slots are in the order of numbers. Raises `TypeError` for
    a distribution that Optuna does not have.
    """

    def __init__(self, space: Mapping[str, BaseDistribution]) -> None:
        own = list(space.values())
        self._columns: Slots = np.flatnonzero([not isinstance(each, CategoricalDistribution) for each in own])
        self._numeric = NumericKernels([_number(own[at]) for at in self._columns])
        self._choices = {
            at: CategoricalKernels(len(each.choices))
            for at, each in enumerate(own)
            if isinstance(each, CategoricalDistribution)
        }
        self._width = len(own)
        self._values: dict[int, Sequence[float]] = {}  # by trial
        self._capacity = 1  # slots
        self._present = np.zeros(1, dtype=bool)  # by slot
        self._offset = -1

    def __len__(self) -> int:
        """The number of kernels, without the prior."""
        return len(self._values)

    def get(self, trial: int) -> Sequence[float] | None:
        """The values of a trial, if it has a kernel."""
        return self._values.get(trial)

    def change(self, removed: Iterable[int], added: Mapping[int, Sequence[float]]) -> None:
        """Remove trials, and add others, with their values in the order of the parameters."""
        slots = [trial - self._offset for trial in removed]
        for slot in slots:
            del self._values[slot + self._offset]
        kept = len(self._values)
        self._values.update(added)
        new = {trial - self._offset: values for trial, values in added.items()}
        fits = not new or (min(new) > PRIOR and max(new) < self._capacity)
        if kept < FINEST or not fits or len(slots) + len(new) > kept // 8:
            self._build()
            return
        for slot in slots:
            self._present[slot] = False
            self._numeric.remove(slot)
        for slot, values in new.items():
            self._present[slot] = True
            self._numeric.add(slot, [values[at] for at in self._columns])
            for at, kernels in self._choices.items():
                kernels.add(slot, values[at])

    def sample(self, rng: np.random.RandomState, size: int) -> Floats:
        """Random values, of shape (size, parameters); uses `rng` as Optuna's estimator does."""
        slots = np.append(np.flatnonzero(self._present), PRIOR)
        weights = np.append(_weights(len(self)), 1.0)
        drawn = slots[rng.choice(len(slots), p=weights / weights.sum(), size=size)]
        found = np.empty((size, self._width))
        for at, kernels in self._choices.items():
            found[:, at] = kernels.sample(drawn, len(self) + 1, rng.rand(size))
        if len(self._columns):
            found[:, self._columns] = self._numeric.sample(drawn, rng.uniform(size=(len(self._columns), size)))
        return found

    def log_density(self, values: Floats) -> Floats:
        """The logarithm of the density at each of `values`, of shape (values, parameters), up to a constant."""
        if len(self._numeric.smooth):
            return self._log_density(values)
        different, places = np.unique(values, axis=0, return_inverse=True)  # choices and steps: a few
        return self._log_density(different)[places.reshape(-1)]  # numpy 2.0.0 returns a column

    def _log_density(self, values: Floats) -> Floats:
        self._numeric.refresh()
        present = np.flatnonzero(self._present)
        weights = np.zeros(int(present.max(initial=PRIOR)) + 1)
        weights[present], weights[PRIOR] = _weights(len(present)), 1.0
        scaled = self._numeric.scaled(values[:, self._columns])
        choices = [own.features(values[:, at], len(self) + 1) for at, own in self._choices.items()]
        features = np.concatenate((scaled**2, scaled, np.ones((len(values), 1)), *choices), axis=1)
        masses = self._grid_masses(values)
        highest, total = np.full(len(values), -np.inf), np.zeros(len(values))
        for start in range(0, len(weights), _BLOCK):
            block = slice(start, min(start + _BLOCK, len(weights)))
            logs = features @ self._coefficients(block)
            for pair_of, by_value in masses:
                for row, own in zip(logs, by_value, strict=True):
                    row += own[pair_of[block]]
            higher = np.maximum(highest, logs.max(axis=1))
            logs -= higher[:, np.newaxis]
            total = total * np.exp(highest - higher) + _weighted_sums(logs, weights[block])
            highest = higher
        found: Floats = highest + np.log(total) - np.log(weights.sum())
        return found

    def _coefficients(self, block: slice) -> Floats:
        """What the features of a value are multiplied by, of shape (features, slots)."""
        numeric, choices = self._numeric, self._choices.values()
        rows = (numeric.quadratic, numeric.linear, numeric.constant[np.newaxis], *(own.table for own in choices))
        return np.concatenate([each[:, block] for each in rows])

    def _grid_masses(self, values: Floats) -> list[tuple[Slots, list[Floats]]]:
        """For each parameter with a step: the pair of each slot, and for each value the log masses by pair."""
        return [
            (grid.pair_of, [grid.log_masses(value) for value in values[:, self._columns[at]].tolist()])
            for at, grid in self._numeric.grids.items()
        ]

    def _build(self) -> None:
        """Compute all kernels: while there are few, or if many changed, most bandwidths change."""
        trials = np.array(sorted(self._values), dtype=np.intp)
        self._offset = int(trials[0]) - 1 if len(trials) else -1
        slots = trials - self._offset
        needed = int(slots.max(initial=PRIOR)) + 1
        if needed > self._capacity:
            self._capacity = needed if needed <= FINEST else 2 * needed
            self._present = np.zeros(self._capacity, dtype=bool)
            self._numeric.grow(self._capacity)
            for kernels in self._choices.values():
                kernels.grow(self._capacity)
        self._present[:] = False
        self._present[slots] = True
        values = np.array([self._values[trial] for trial in trials.tolist()]).reshape(len(trials), self._width)
        self._numeric.build(slots, values[:, self._columns])
        for at, kernels in self._choices.items():
            kernels.build(slots, values[:, at])


def _weighted_sums(logs: Floats, weights: Floats) -> Floats:
    """The sum of `weights * exp(logs)` over the kernels, for each value.

    `logs`, of shape (values, kernels), are overwritten.
    """
    near = logs > _NEGLIGIBLE
    if np.count_nonzero(near) > _DENSE * near.size:  # close to an optimum, or with one parameter
        every: Floats = np.exp(logs, out=logs) @ weights
        return every
    rows, slots = np.nonzero(near)
    return np.bincount(rows, np.exp(logs[rows, slots]) * weights[slots], minlength=len(logs)).astype(float)


def _number(distribution: BaseDistribution) -> FloatDistribution | IntDistribution:
    if isinstance(distribution, FloatDistribution | IntDistribution):
        return distribution
    raise TypeError(f"TPE has no kernels for {distribution!r}")


def _weights(kernels: int) -> Floats:
    """Weights by age, oldest first; the newest 25 have weight 1."""
    if kernels < _NEWEST:
        return np.ones(kernels)
    return np.concatenate((np.linspace(1.0 / kernels, 1.0, num=kernels - _NEWEST), np.ones(_NEWEST)))
