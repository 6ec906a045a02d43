"""Compares the parameters of failed trials with those of finished ones: how many finished in a range; api.

A range over all failed trials may be that of several causes: with Adam from 0.5, with SGD from 3. If another parameter
has few values, and far fewer trials finished in the ranges for each of its values than in the whole range, these ranges
are given, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import orjson
from numpy.typing import NDArray
from sqlalchemy import Connection, Select, func, select

from podium.db.queries.parameter_summaries import MAX_VALUES, ParameterSummary, RangeOfValue, SplitRange
from podium.db.schema.tables import trial_params
from podium.sweep.values.attempt_assignment import Params, Scalar

SEPARATES = 0.6  # of the finished trials of the whole range are the most that ranges for each value may have
MIN_FAILED = 5  # trials for a range; fewer are close together by chance

Summaries = Mapping[str, ParameterSummary]


@dataclass(frozen=True)
class Column:
    """The values of one parameter, and the ids of the trials that have them."""

    ids: NDArray[np.int64]
    values: list[Scalar]

    @cached_property
    def numbers(self) -> NDArray[np.float64]:
        """The values; NaN for those that are not numbers."""
        return np.array([value if isinstance(value, int | float) else np.nan for value in self.values], dtype=float)

    @cached_property
    def ids_of(self) -> dict[Scalar, NDArray[np.int64]]:
        """The ids of the trials with each value."""
        found: dict[Scalar, list[int]] = {}
        for trial_id, value in zip(self.ids.tolist(), self.values, strict=True):
            found.setdefault(value, []).append(trial_id)
        return {value: np.array(ids) for value, ids in found.items()}


_EMPTY = Column(np.empty(0, dtype=np.int64), [])


def names(groups: Iterable[Summaries]) -> set[str]:
    """The parameters whose values in finished trials are needed; none if no group has a range."""
    found = list(groups)
    if not any(_is_range(summary) for group in found for summary in group.values()):
        return set()
    return {name for group in found for name, summary in group.items() if _is_range(summary) or _has_choices(summary)}


def columns(connection: Connection, trial_ids: Select[int], wanted: set[str]) -> dict[str, Column]:
    """The values of these parameters in these trials, by name."""
    rows = connection.execute(
        select(
            trial_params.c.name,
            func.json_group_array(trial_params.c.trial_id),
            func.aggregate_strings(trial_params.c.value, ","),
        )
        .where(trial_params.c.name.in_(wanted), trial_params.c.trial_id.in_(trial_ids))
        .group_by(trial_params.c.name)
    )
    return {name: Column(np.array(orjson.loads(ids)), orjson.loads(f"[{values}]")) for name, ids, values in rows}


def with_finished(
    params: Summaries, failed: Sequence[Params], finished: Mapping[str, Column]
) -> dict[str, ParameterSummary]:
    """The summaries of one group of failed trials, with counts of finished trials in each range."""
    choices = [name for name, summary in params.items() if _has_choices(summary)]
    found = dict(params)
    for name, summary in params.items():
        if summary.min is None or summary.max is None or not _is_range(summary):
            continue
        ids = _inside(finished.get(name, _EMPTY), summary.min, summary.max)
        splits = [split for choice in choices if (split := _split(name, choice, failed, finished))]
        best = min(splits, key=_finished_in, default=None)
        separates = best is not None and _finished_in(best) <= SEPARATES * len(ids) and len(ids) > 0
        found[name] = replace(summary, finished=len(ids), split=best if separates else None)
    return found


def _split(name: str, choice: str, failed: Sequence[Params], finished: Mapping[str, Column]) -> SplitRange | None:
    """The ranges of a parameter for each value of another one; None if they say nothing."""
    numbers: dict[Scalar, list[float]] = {}
    for params in failed:
        number, value = params.get(name), params.get(choice)
        if number is None:
            continue
        if value is None or isinstance(number, str):
            return None
        numbers.setdefault(value, []).append(float(number))
    if len(numbers) < 2 or any(len(each) < MIN_FAILED for each in numbers.values()):
        return None
    column, ids_of = finished.get(name, _EMPTY), finished.get(choice, _EMPTY).ids_of
    ranges = []
    for value, each in sorted(numbers.items(), key=lambda item: -len(item[1])):
        ids = _inside(column, min(each), max(each))
        count = int(np.isin(ids, ids_of.get(value, _EMPTY.ids)).sum())
        ranges.append(RangeOfValue(value, min(each), max(each), len(each), count))
    return SplitRange(choice, ranges)


def _inside(column: Column, low: float, high: float) -> NDArray[np.int64]:
    """The ids of the trials with a number in this range."""
    return column.ids[(column.numbers >= low) & (column.numbers <= high)]


def _finished_in(split: SplitRange) -> int:
    return sum(each.finished for each in split.ranges)


def _is_range(summary: ParameterSummary) -> bool:
    return summary.min is not None and summary.distinct > MAX_VALUES


def _has_choices(summary: ParameterSummary) -> bool:
    return 2 <= summary.distinct <= MAX_VALUES
