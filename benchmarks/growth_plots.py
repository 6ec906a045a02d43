"""Plots of growth as SVG files: one chart per unit, both axes logarithmic, with a line of linear growth."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib

from benchmarks.growth_series import Series

matplotlib.use("svg")
_STYLE = {
    "font.size": 8,
    "svg.fonttype": "none",  # text stays text, which is smaller
    "svg.hashsalt": "podium",  # the same figures give the same file
    "axes.spines.top": False,
    "axes.spines.right": False,
}
_WIDTH, _HEIGHT = 4.2, 3.0  # of one chart, in inches


def draw(title: str, series: Sequence[Series], file: Path) -> None:
    """One chart per unit."""
    from matplotlib import pyplot

    units = list(dict.fromkeys(each.unit for each in series))
    with matplotlib.rc_context(_STYLE):
        columns = min(2, len(units))
        rows = -(-len(units) // columns)
        figure, axes = pyplot.subplots(rows, columns, figsize=(_WIDTH * columns, _HEIGHT * rows), squeeze=False)
        for place, chart in enumerate(axes.flat):
            if place < len(units):
                _chart(chart, units[place], [each for each in series if each.unit == units[place]])
            else:
                chart.set_axis_off()
        figure.suptitle(title)
        figure.tight_layout()
        file.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(file, metadata={"Date": None})
        pyplot.close(figure)


def _chart(chart: Any, unit: str, series: Sequence[Series]) -> None:
    for each in series:
        sizes = sorted(each.values)
        chart.plot(sizes, [each.values[size] for size in sizes], marker="o", markersize=3, linewidth=1, label=each.name)
    sizes = sorted({size for each in series for size in each.values})
    if not all(each.each for each in series):
        highest = max(max(each.values.values()) for each in series)
        linear = [highest * size / sizes[-1] for size in sizes]
        chart.plot(sizes, linear, color="gray", linestyle=":", linewidth=1, label="linear")
    chart.set_xscale("log")
    chart.set_yscale("log")
    chart.set_xlabel(series[0].over)
    chart.set_ylabel(unit)
    chart.set_xticks(sizes, [f"{size:,}" for size in sizes], minor=False)
    chart.minorticks_off()
    chart.legend(fontsize=5, frameon=False)
