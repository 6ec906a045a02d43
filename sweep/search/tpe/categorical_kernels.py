"""Kernels of a Parzen estimator over one choice. Scheduler and search processes."""

from __future__ import annotations

import math

import numpy as np

from podium.sweep.search.tpe.numeric_kernels import PRIOR, Slots
from podium.sweep.search.tpe.truncated_normal import Floats


class CategoricalKernels:
    """Kernels over one parameter; a value is the index of a choice.

    A kernel gives the weight 1 to the choice of its trial, and shares a weight of 1 / kernels for each choice. The
    probability by choice of a kernel is the column of `table` of its slot, of shape (choices + 1, slots), times
    `features`; the last row is that of the prior, for which all choices are equal.
    """

    def __init__(self, choices: int) -> None:
        self._choices = choices
        self.table = np.zeros((choices + 1, 1))
        self.table[choices, PRIOR] = 1.0

    def grow(self, slots: int) -> None:
        """Make room for this number of slots."""
        self.table = np.pad(self.table, ((0, 0), (0, slots - self.table.shape[1])))

    def build(self, slots: Slots, values: Floats) -> None:
        """Replace all kernels except the prior."""
        self.table[:, PRIOR + 1 :] = 0.0
        self.table[values.astype(np.intp), slots] = 1.0

    def add(self, slot: int, value: float) -> None:
        """Set the kernel of a slot."""
        self.table[:, slot] = 0.0
        self.table[int(value), slot] = 1.0

    def sample(self, slots: Slots, kernels: int, uniform: Floats) -> Floats:
        """A choice by each of these kernels. `kernels`: the number of all, with the prior."""
        share = 1.0 / kernels
        chances = (self.table[: self._choices, slots].T + share) / (1.0 + self._choices * share)
        chances[slots == PRIOR] = 1.0 / self._choices
        ends = np.cumsum(chances, axis=1)
        ends[:, -1] = 1.0
        found: Floats = np.sum(ends < uniform[:, np.newaxis], axis=1).astype(float)
        return found

    def features(self, values: Floats, kernels: int) -> Floats:
        """The logarithms of the probabilities of these values, as factors of the rows of the table."""
        share = 1.0 / kernels
        found = np.full((len(values), self._choices + 1), math.log(share / (1.0 + self._choices * share)))
        found[np.arange(len(values)), values.astype(np.intp)] = math.log((1.0 + share) / (1.0 + self._choices * share))
        found[:, self._choices] = -math.log(self._choices)
        return found
