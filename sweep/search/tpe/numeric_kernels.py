"""Kernels of a Parzen estimator over numeric parameters. Scheduler and search processes.

A kernel is a product of truncated normal distributions. It has a center on each parameter, which is the value of a
trial, and a bandwidth: the distance to the farther one of its neighbors, but at least 1 % of the range, and more while
there are fewer than 99 kernels (Bergstra et al. 2011, as Optuna implements it). A kernel is identified by its slot, a
position in arrays. Slot 0 is the prior: a kernel as wide as the range.

Centers and bandwidths are scaled: the range of each parameter, or of its logarithm, is [-0.5, 0.5].
"""

from __future__ import annotations

import bisect
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from optuna.distributions import FloatDistribution, IntDistribution

from podium.sweep.search.tpe.truncated_normal import Floats, log_mass, log_mass_around, quantile

Slots = npt.NDArray[np.intp]

PRIOR = 0  # its slot
FINEST = 100  # the least bandwidth is the range divided by this, or by the number of kernels + 1 if they are fewer
_CACHED = 1_000_000  # numbers in a cache of `_Grid`: 8 MB, 120 values of 8,192 kernels
_LOG_SQRT_2PI = 0.5 * np.log(2.0 * np.pi)


class NumericKernels:
    """Kernels over these parameters.

    The logarithm of a density is a polynomial of degree two in each parameter without a step. `quadratic` and `linear`,
    of shape (parameters without step, slots), and `constant`, of shape (slots,), hold the coefficients; `constant` is
    -inf in slots without kernel.
    """

    def __init__(self, distributions: Sequence[FloatDistribution | IntDistribution]) -> None:
        self._scale = _Scale(distributions)
        count = len(distributions)
        self._order: list[list[tuple[float, int]]] = [[] for _ in distributions]  # centers and slots, ascending
        self._centers, self._widths = np.zeros((count, 1)), np.ones((count, 1))
        self.smooth: Slots = np.flatnonzero([own.step is None for own in distributions])  # parameters without a step
        self.grids = {at: _Grid(self._scale, at) for at in range(count) if distributions[at].step is not None}
        self._row = {int(at): row for row, at in enumerate(self.smooth)}
        self.quadratic, self.linear, self._constants = (np.zeros((len(self.smooth), 1)) for _ in range(3))
        self.constant = np.zeros(1)
        self._stale: list[tuple[int, int]] = []  # parameters and slots whose center or bandwidth changed
        self._compute_all(np.array([PRIOR]))

    def grow(self, slots: int) -> None:
        """Make room for this number of slots."""
        more = ((0, 0), (0, slots - self._centers.shape[1]))
        self._centers, self._widths = np.pad(self._centers, more), np.pad(self._widths, more, constant_values=1.0)
        self.quadratic, self.linear, self._constants = (
            np.pad(rows, more) for rows in (self.quadratic, self.linear, self._constants)
        )
        self.constant = np.pad(self.constant, more[1], constant_values=-np.inf)
        for grid in self.grids.values():
            grid.pair_of = np.pad(grid.pair_of, more[1])

    def build(self, slots: Slots, values: Floats) -> None:
        """Replace all kernels except the prior. `slots` ascend; `values` are of shape (slots, parameters)."""
        centers = self._scale.scaled(values).T
        order = np.argsort(centers, axis=1, kind="stable")
        ordered, owners = np.take_along_axis(centers, order, axis=1), slots[order]
        self._order = [list(zip(*pair, strict=True)) for pair in zip(ordered.tolist(), owners.tolist(), strict=True)]
        self._centers[:, slots] = centers
        np.put_along_axis(self._widths, owners, _bandwidths(ordered), axis=1)
        self.constant[:] = -np.inf
        self._stale = []
        for grid in self.grids.values():
            grid.forget()
        self._compute_all(np.append(slots, PRIOR))

    def add(self, slot: int, values: Sequence[float]) -> None:
        """Add one kernel; only with `FINEST` others or more."""
        self.constant[slot] = 0.0  # without a numeric parameter it stays so
        for at, center in enumerate(self._scale.scaled(np.array([values]))[0].tolist()):
            order, kernel = self._order[at], (center, slot)
            place = bisect.bisect_left(order, kernel)
            order.insert(place, kernel)
            self._centers[at, slot] = center
            self._update(at, place - 1, place + 2)

    def remove(self, slot: int) -> None:
        """Remove one kernel; only with `FINEST` others or more."""
        self.constant[slot] = -np.inf
        for at, center in enumerate(self._centers[:, slot].tolist()):
            order = self._order[at]
            place = bisect.bisect_left(order, (center, slot))
            del order[place]
            self._update(at, place - 1, place + 1)
        self._stale = [pair for pair in self._stale if pair[1] != slot]  # as a neighbor of one removed before

    def sample(self, slots: Slots, uniform: Floats) -> Floats:
        """A value from each kernel by the inverse of its distribution function, of shape (slots, parameters).

        `uniform`: numbers from [0, 1), of shape (parameters, slots).
        """
        centers, widths = self._centers[:, slots], self._widths[:, slots]
        found = quantile(uniform, (-0.5 - centers) / widths, (0.5 - centers) / widths) * widths + centers
        return self._scale.values(found.T)

    def refresh(self) -> None:
        """Bring the coefficients up to date."""
        if self._stale:
            at, slots = np.array(self._stale, dtype=np.intp).T
            self._stale = []
            self._compute(at, slots)
            self.constant[slots] = self._constants[:, slots].sum(axis=0)

    def scaled(self, values: Floats) -> Floats:
        """Values of the parameters without a step, in the units of the coefficients."""
        return self._scale.scaled(values)[:, self.smooth]

    def _update(self, at: int, start: int, stop: int) -> None:
        """Compute the bandwidths at these places of the order."""
        order = self._order[at]
        last = len(order) - 1
        for place in range(max(start, 0), min(stop, last + 1)):
            center, slot = order[place]
            below = center - order[place - 1][0] if place > 0 else 0.0
            above = order[place + 1][0] - center if place < last else 0.0
            self._widths[at, slot] = max(below, above, 1.0 / FINEST)
            self._stale.append((at, slot))

    def _compute_all(self, slots: Slots) -> None:
        """Compute the coefficients of these slots for every parameter."""
        count = len(self._order)
        self._compute(np.repeat(np.arange(count), len(slots)), np.tile(slots, count))
        self.constant[slots] = self._constants[:, slots].sum(axis=0)

    def _compute(self, at: Slots, slots: Slots) -> None:
        """Compute the coefficients of these pairs of a parameter and a slot."""
        for parameter, grid in self.grids.items():
            own = slots[at == parameter]
            grid.assign(own, self._centers[parameter, own], self._widths[parameter, own])
        if not len(self.smooth):
            return
        own = np.isin(at, self.smooth) if self.grids else slice(None)
        at, slots = at[own], slots[own]
        rows = np.searchsorted(self.smooth, at)
        centers, widths = self._centers[at, slots], self._widths[at, slots]
        precision = widths**-2
        mass = log_mass_around((-0.5 - centers) / widths, (0.5 - centers) / widths)
        self.quadratic[rows, slots] = -0.5 * precision
        self.linear[rows, slots] = centers * precision
        self._constants[rows, slots] = -0.5 * centers**2 * precision - np.log(widths) - _LOG_SQRT_2PI - mass


class _Scale:
    """Between the values of parameters and the scaled units."""

    def __init__(self, distributions: Sequence[FloatDistribution | IntDistribution]) -> None:
        self.steps = np.array([own.step or 0.0 for own in distributions])
        self.low, self.high = (np.array([float(getattr(own, end)) for own in distributions]) for end in ("low", "high"))
        self.logarithmic = np.array([own.log for own in distributions], dtype=bool)
        low, high = self._transformed(self.low - self.steps / 2), self._transformed(self.high + self.steps / 2)
        self.middle, self.full = 0.5 * (low + high), high - low

    def scaled(self, values: Floats) -> Floats:
        """Of shape (any, parameters)."""
        return (self._transformed(values) - self.middle) / self.full

    def values(self, scaled: Floats) -> Floats:
        """The nearest values of the parameters."""
        found = scaled * self.full + self.middle
        found[:, self.logarithmic] = np.exp(found[:, self.logarithmic])
        stepped = np.flatnonzero(self.steps)
        low, steps = self.low[stepped], self.steps[stepped]
        found[:, stepped] = low + np.round((found[:, stepped] - low) / steps) * steps
        return np.clip(found, self.low, self.high)

    def _transformed(self, values: Floats) -> Floats:
        if not self.logarithmic.any():
            return values
        found = np.array(values, dtype=float)
        found[..., self.logarithmic] = np.log(found[..., self.logarithmic])
        return found


class _Grid:
    """A parameter with a step: the mass of a kernel between the middles of neighboring values.

    Kernels with equal center and bandwidth are a pair; a mass is computed once for each value and pair.
    """

    def __init__(self, scale: _Scale, at: int) -> None:
        self._scale, self._at = scale, at
        self.pair_of: Slots = np.zeros(1, dtype=np.intp)  # by slot
        self._pairs: dict[tuple[float, float], int] = {}
        self._masses: dict[float, Floats] = {}  # by value, of the pairs

    def forget(self) -> None:
        """Forget all pairs, since every kernel is assigned again: bandwidths change with the trials."""
        self._pairs.clear()
        self._masses.clear()
        self.pair_of[:] = 0  # valid for slots without kernel, too: densities are computed for every slot

    def assign(self, slots: Slots, centers: Floats, widths: Floats) -> None:
        """Set the kernels of these slots."""
        for slot, *pair in zip(slots.tolist(), centers.tolist(), widths.tolist(), strict=True):
            self.pair_of[slot] = self._pairs.setdefault((pair[0], pair[1]), len(self._pairs))

    def log_masses(self, value: float) -> Floats:
        """The logarithm of the mass at this value, by pair."""
        known = self._masses.get(value, np.empty(0))
        if len(known) < len(self._pairs):
            known = np.concatenate((known, self._computed(value, list(self._pairs)[len(known) :])))
            if len(self._masses) * len(known) > _CACHED:
                self._masses.clear()
            self._masses[value] = known
        return known

    def _computed(self, value: float, pairs: Sequence[tuple[float, float]]) -> Floats:
        scale, at = self._scale, self._at
        ends = np.repeat([[value], [value]], len(scale.steps), axis=1)
        ends[:, at] += np.array([-0.5, 0.5]) * scale.steps[at]
        with np.errstate(all="ignore"):  # only one of the columns is meaningful
            low, high = scale.scaled(ends)[:, at]
        centers, widths = np.array(pairs).T
        whole = log_mass_around((-0.5 - centers) / widths, (0.5 - centers) / widths)
        return log_mass((low - centers) / widths, (high - centers) / widths) - whole


def _bandwidths(centers: Floats) -> Floats:
    """Of all kernels, of shape (parameters, slots), ascending along each parameter.

    The first and the last have one neighbor; a single kernel has the bounds.
    """
    count = centers.shape[1]
    if count == 1:
        widths = np.maximum(centers + 0.5, 0.5 - centers)
    else:
        gaps = np.diff(centers, axis=1)
        widths = np.concatenate((gaps[:, :1], np.maximum(gaps[:, :-1], gaps[:, 1:]), gaps[:, -1:]), axis=1)
    return np.clip(widths, 1.0 / min(FINEST, count + 2), 1.0)
