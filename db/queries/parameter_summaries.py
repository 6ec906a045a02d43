"""Summarizes the parameter values of a group of trials: the frequent ones, and the range of numbers; api."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from podium.sweep.values.attempt_assignment import Scalar

MAX_VALUES = 4


@dataclass(frozen=True, slots=True)
class RangeOfValue:
    """The range of a parameter in the failed trials with one value of another parameter."""

    value: Scalar
    min: float
    max: float
    failed: int
    finished: int  # trials with that value from `min` to `max`


@dataclass(frozen=True, slots=True)
class SplitRange:
    """The parameter whose values separate failed from finished trials best, with a range for each value."""

    parameter: str
    ranges: list[RangeOfValue]


@dataclass(frozen=True, slots=True)
class ParameterSummary:
    """The values of one parameter in a group of trials."""

    values: list[Scalar]  # the most frequent ones, at most `MAX_VALUES`
    distinct: int  # how many different values there are
    min: float | None  # of numbers; None if another value is among them
    max: float | None
    finished: int | None = None  # finished trials from `min` to `max`; None: not counted
    split: SplitRange | None = None  # if no more than 60% of them finished in its ranges


class ParameterSummaries:
    """Collects the parameters of trials one after the other."""

    def __init__(self) -> None:
        self._counts: dict[str, Counter[tuple[bool, Scalar]]] = {}  # `True` and 1 are different values

    def add(self, params: Mapping[str, Scalar]) -> None:
        """Count the values of one trial, without those of parameters that it does not use."""
        for name, value in params.items():
            if value is not None:
                self._counts.setdefault(name, Counter())[isinstance(value, bool), value] += 1

    def result(self) -> dict[str, ParameterSummary]:
        """The summary of each parameter, by name."""
        return {name: _summary(counts) for name, counts in sorted(self._counts.items())}


def _summary(counts: Counter[tuple[bool, Scalar]]) -> ParameterSummary:
    numbers = [float(value) for is_bool, value in counts if isinstance(value, int | float) and not is_bool]
    only_numbers = len(numbers) == len(counts)
    return ParameterSummary(
        values=[value for (_, value), _ in counts.most_common(MAX_VALUES)],
        distinct=len(counts),
        min=min(numbers) if only_numbers else None,
        max=max(numbers) if only_numbers else None,
    )
