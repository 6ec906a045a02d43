"""Which layers each stage of a pipeline has; pure, the user's process."""

from __future__ import annotations

from collections.abc import Sequence

from podium.sweep.values.errors import ParallelError


def balanced(weights: Sequence[int], stages: int) -> list[int]:
    """The first layer of every stage but the first, so that the largest stage has the smallest possible weight."""
    if len(weights) < stages:
        raise ParallelError(f"{len(weights)} layers cannot be split into {stages} stages; use at most as many ranks")
    low, high = max(weights), sum(weights)
    while low < high:
        limit = (low + high) // 2
        if len(_starts(weights, stages, limit)) < stages:
            high = limit
        else:
            low = limit + 1
    return _starts(weights, stages, low)


def check(starts: Sequence[int], layers: int, stages: int) -> list[int]:
    """`starts`, given by the user. Raises `ParallelError` unless each stage has a layer."""
    if (
        len(starts) != stages - 1
        or list(starts) != sorted(set(starts))
        or not all(0 < each < layers for each in starts)
    ):
        raise ParallelError(
            f"split is {list(starts)}; write {stages - 1} ascending layer numbers from 1 to {layers - 1}: the first "
            f"layer of each stage after the first, for {stages} ranks"
        )
    return list(starts)


def _starts(weights: Sequence[int], stages: int, limit: int) -> list[int]:
    """Fill each stage up to the limit, and leave at least one layer for each of the others."""
    starts: list[int] = []
    filled = 0
    for layer, weight in enumerate(weights):
        must_start = layer > 0 and len(weights) - layer == stages - 1 - len(starts)
        if layer > 0 and (filled + weight > limit or must_start):
            starts.append(layer)
            filled = 0
        filled += weight
    return starts
