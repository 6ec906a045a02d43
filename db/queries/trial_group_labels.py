"""Trials grouped by a parameter, their tags or their state, with a label for each group; api."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from sqlalchemy import Connection, select

from podium.db.schema.tables import trial_params, trial_tags, trials
from podium.db.stores.id_list import id_list
from podium.sweep.values.errors import BadRequestError

MAX_GROUPS = 12
_MOST_VALUES = 8  # more different numbers are grouped into ranges
_RANGES = 5
OTHER = "other"
NOT_SET = "not set"
NO_TAG = "no tag"


def groups(connection: Connection, trial_ids: Sequence[int], by: str) -> tuple[list[str], list[int]]:
    """The labels of the groups, and the group of each trial. `by` is `params.NAME`, `tag` or `state`.

    Trials with several tags are grouped by all of them together. Raises `BadRequestError` for anything else.
    """
    if by == "tag":
        labels = _tags(connection, trial_ids)
    elif by == "state":
        columns = select(trials.c.id, trials.c.state).where(trials.c.id.in_(id_list(trial_ids)))
        labels = {row.id: row.state for row in connection.execute(columns)}
    elif by.startswith("params."):
        return _by_parameter(connection, trial_ids, by.removeprefix("params."))
    else:
        raise BadRequestError(f"group={by!r}: write params.NAME, tag or state")
    return _indexed([labels.get(trial_id, NO_TAG) for trial_id in trial_ids])


def _tags(connection: Connection, trial_ids: Sequence[int]) -> dict[int, str]:
    found: dict[int, list[str]] = {}
    columns = select(trial_tags.c.trial_id, trial_tags.c.tag).where(trial_tags.c.trial_id.in_(id_list(trial_ids)))
    for trial_id, tag in connection.execute(columns.order_by(trial_tags.c.tag)):
        found.setdefault(trial_id, []).append(tag)
    return {trial_id: ", ".join(tags) for trial_id, tags in found.items()}


def _by_parameter(connection: Connection, trial_ids: Sequence[int], name: str) -> tuple[list[str], list[int]]:
    columns = select(trial_params.c.trial_id, trial_params.c.value)
    here = trial_params.c.trial_id.in_(id_list(trial_ids)) & (trial_params.c.name == name)
    found = {trial_id: json.loads(value) for trial_id, value in connection.execute(columns.where(here))}
    values = [found.get(trial_id, NOT_SET) for trial_id in trial_ids]
    numbers = sorted(value for value in values if _is_number(value))
    if len(set(numbers)) > _MOST_VALUES:
        return _in_ranges(values, numbers)
    return _indexed(values)


def _in_ranges(values: Sequence[Any], numbers: Sequence[float]) -> tuple[list[str], list[int]]:
    """Ranges with about as many trials each; values that are no numbers keep their label."""
    ends = sorted({numbers[round(share * (len(numbers) - 1) / _RANGES)] for share in range(_RANGES + 1)})
    ranges = [f"{low:.3g} to {high:.3g}" for low, high in pairwise(ends)]

    def label(value: Any) -> str:
        if not _is_number(value):
            return _text(value)
        return next(name for name, high in zip(ranges, ends[1:], strict=True) if value <= high)

    labels = [label(value) for value in values]
    others = [name for name in dict.fromkeys(labels) if name not in ranges]
    order = [name for name in ranges if name in labels] + others
    return order, [order.index(name) for name in labels]


def _indexed(values: Sequence[Any]) -> tuple[list[str], list[int]]:
    """The labels in the order of the values; beyond the limit, the rarest are one group."""
    counts = Counter(map(_text, values))
    by_label = {_text(value): value for value in values}
    kept = {label for label, _ in counts.most_common(MAX_GROUPS if len(counts) <= MAX_GROUPS else MAX_GROUPS - 1)}
    order = sorted(kept, key=lambda label: _sort_key(by_label[label]))
    if len(kept) < len(counts):
        order.append(OTHER)
    index = {label: position for position, label in enumerate(order)}
    return order, [index.get(_text(value), len(order) - 1) for value in values]


def _sort_key(value: Any) -> tuple[int, float, str]:
    if value in (NOT_SET, NO_TAG):
        return (2, 0.0, "")
    return (0, float(value), "") if _is_number(value) else (1, 0.0, _text(value))


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    return f"{value:.6g}" if isinstance(value, float) else json.dumps(value)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
