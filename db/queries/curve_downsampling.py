"""Curves reduced to what a chart can show: fewer points, and the mean and the extremes of several curves; api. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class XRange:
    """The part of the x axis that a chart shows; None: to the end. On a logarithmic axis, buckets have equal ratios."""

    low: float | None = None
    high: float | None = None
    log: bool = False


@dataclass(frozen=True, slots=True)
class Band:
    """Several curves at common places: at each, the mean, the extremes, and the number of curves."""

    x: Numbers
    mean: Numbers
    low: Numbers
    high: Numbers
    curves: NDArray[np.int64]


def thinned(x: Numbers, y: Numbers, most: int, within: XRange) -> tuple[Numbers, Numbers]:
    """At most `most` points (4 or more): the ends, and the lowest and highest point of equal parts of the x axis.

    One point beyond each end of the range is kept, so that lines continue to the edge.
    """
    x, y = _clipped(x, y, within)
    if x.size <= most:
        return x, y
    parts = _parts(x, max(1, (most - 2) // 2), within.log)
    order = np.lexsort((y, parts))
    starts = np.flatnonzero(np.diff(parts[order], prepend=-1))
    ends = np.append(starts[1:], order.size) - 1
    kept = np.unique(np.concatenate(([0, x.size - 1], order[starts], order[ends])))
    return x[kept], y[kept]


def band(curves: Sequence[tuple[Numbers, Numbers]], most: int, within: XRange) -> Band | None:
    """The mean and the extremes of curves at `most` places; None if no curve has a point in the range.

    A curve counts from its first to its last point. Where it has several points at a place, their mean counts for the
    mean, and their extremes for the extremes; where it has none, the line between its neighbors.
    """
    clipped = [part for x, y in curves if (part := _clipped(x, y, within))[0].size]
    if not clipped:
        return None
    places, parts = _places(np.concatenate([x for x, _ in clipped]), most, within)
    means, lows, highs = (np.full((len(clipped), places.size), np.nan) for _ in range(3))
    start = 0
    for row, (x, y) in enumerate(clipped):
        own = parts[start : start + x.size]
        start += x.size
        means[row], lows[row], highs[row] = _at_places(own, y, places)
    counts = np.count_nonzero(~np.isnan(means), axis=0)
    kept = counts > 0
    means, lows, highs = means[:, kept], lows[:, kept], highs[:, kept]
    return Band(
        places[kept],
        np.nansum(means, axis=0) / counts[kept],
        np.nanmin(lows, axis=0),
        np.nanmax(highs, axis=0),
        counts[kept],
    )


def _at_places(parts: NDArray[np.int64], y: Numbers, places: Numbers) -> tuple[Numbers, Numbers, Numbers]:
    """Mean, lowest and highest value of one curve at each place; NaN before its first and after its last point."""
    counts = np.bincount(parts, minlength=places.size)
    has = counts > 0
    mean = np.bincount(parts, weights=y, minlength=places.size) / np.maximum(counts, 1)
    low, high = np.full(places.size, np.inf), np.full(places.size, -np.inf)
    np.minimum.at(low, parts, y)
    np.maximum.at(high, parts, y)
    at = np.arange(places.size)
    known = at[has]
    between = (at >= known[0]) & (at <= known[-1])
    found = []
    for values in (mean, low, high):
        line = np.full(places.size, np.nan)
        line[between] = np.interp(places[between], places[known], values[known])
        found.append(line)
    return found[0], found[1], found[2]


def _places(x: Numbers, most: int, within: XRange) -> tuple[Numbers, NDArray[np.int64]]:
    """The places at which curves are combined, and the index of the place of each point: each x, if there are few."""
    distinct, index = np.unique(x, return_inverse=True)
    if distinct.size <= most:
        return distinct, index.reshape(-1).astype(np.int64)
    parts = _parts(x, most, within.log, sequence=False)
    used, index = np.unique(parts, return_inverse=True)
    index = index.reshape(-1).astype(np.int64)
    centres = np.bincount(index, weights=x, minlength=used.size) / np.bincount(index, minlength=used.size)
    return centres, index


def _parts(x: Numbers, count: int, log: bool, *, sequence: bool = True) -> NDArray[np.int64]:
    """The part of the axis of each point; of a sequence whose x also decreases, the part of the sequence."""
    if sequence and np.any(np.diff(x) < 0):
        return np.arange(x.size, dtype=np.int64) * count // x.size
    scaled = np.log(x) if log else x
    low, high = scaled.min(), scaled.max()
    if high <= low:
        return np.zeros(x.size, dtype=np.int64)
    parts: NDArray[np.int64] = ((scaled - low) / (high - low) * count).astype(np.int64)
    parts[parts == count] = count - 1
    return parts


def _clipped(x: Numbers, y: Numbers, within: XRange) -> tuple[Numbers, Numbers]:
    if within.log:
        x, y = x[x > 0], y[x > 0]
    if within.low is None and within.high is None:
        return x, y
    inside = np.ones(x.size, dtype=bool)
    if within.low is not None:
        inside &= x >= within.low
    if within.high is not None:
        inside &= x <= within.high
    kept = inside.copy()
    kept[1:] |= inside[:-1]
    kept[:-1] |= inside[1:]
    if within.low is not None and within.high is not None:  # a line between two points that are both outside
        crossing = np.flatnonzero((x[:-1] < within.low) & (x[1:] > within.high))
        kept[crossing] = kept[crossing + 1] = True
    return x[kept], y[kept]
