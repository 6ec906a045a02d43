"""Curves of several metrics as the REST API returns them, and as rows of a table; user's process and CLI."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypedDict


class ShownTrialInfo(TypedDict):
    """A trial with a curve, and the index of its group."""

    id: int
    number: int
    state: str
    group: int


class LineInfo(TypedDict):
    """The curve of a trial; it may be thinned from `points` points, where the extremes are kept."""

    trial: int  # the index in `trials`
    points: int
    x: list[float]
    y: list[float]


class BandInfo(TypedDict):
    """Mean and extremes of the curves of a group; at each x, of `curves` trials."""

    group: int  # the index in `groups`
    trials: int
    x: list[float]
    mean: list[float]
    low: list[float]
    high: list[float]
    curves: list[int]


class MarkInfo(TypedDict):
    """A report of NaN or an infinity."""

    trial: int
    x: float
    value: str  # nan, inf or -inf


class PanelInfo(TypedDict):
    """One metric: lines or bands, and reports that are not finite."""

    name: str
    goal: str | None
    lines: list[LineInfo]
    bands: list[BandInfo]
    marks: list[MarkInfo]
    without_x: int  # points omitted because the metric of the x axis has no value at their step


class CurveGridInfo(TypedDict):
    """Metrics of the same trials: running ones first, then finished ones, best first, then the newest of the others."""

    x: str
    matching: int  # trials that reported one of the metrics
    max_points: int  # of each curve
    groups: list[str]
    trials: list[ShownTrialInfo]
    panels: list[PanelInfo]


class MetricNameInfo(TypedDict):
    """A metric that trials have reported; `goal` is None if it is not an objective."""

    name: str
    goal: str | None


LINE_COLUMNS = ("metric", "trial", "group", "x", "value")
BAND_COLUMNS = ("metric", "group", "x", "mean", "minimum", "maximum", "trials")


def rows_of(grid: CurveGridInfo) -> Iterator[tuple[str | int | float, ...]]:
    """The points as rows: of `LINE_COLUMNS`, reports that are not finite included, or of `BAND_COLUMNS`."""
    groups, trials = grid["groups"], grid["trials"]
    for panel in grid["panels"]:
        name = panel["name"]
        for line in panel["lines"]:
            trial = trials[line["trial"]]
            for x, y in zip(line["x"], line["y"], strict=True):
                yield name, trial["number"], groups[trial["group"]], x, y
        for band in panel["bands"]:
            columns = (band["x"], band["mean"], band["low"], band["high"], band["curves"])
            for values in zip(*columns, strict=True):
                yield name, groups[band["group"]], *values
        for mark in [] if panel["bands"] else panel["marks"]:
            trial = trials[mark["trial"]]
            yield name, trial["number"], groups[trial["group"]], mark["x"], mark["value"]
