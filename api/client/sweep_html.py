"""The HTML of a sweep in notebooks: plain HTML and SVG without scripts, all text escaped; the user's process."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from itertools import accumulate
from typing import Any

WIDTH, HEIGHT, LEFT, BOTTOM, TOP = 560, 180, 64, 22, 10
MAX_POINTS = 1_000  # drawn as dots: more are slow to render
Point = tuple[int, float]


def cell(value: Any) -> str:
    """A value as escaped text."""
    return escape(f"{value:.5g}" if isinstance(value, float) else "" if value is None else str(value))


def html_table(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """An HTML table with escaped cells."""
    head = "".join(f"<th>{cell(name)}</th>" for name in columns)
    body = "".join("<tr>" + "".join(f"<td>{cell(value)}</td>" for value in row) + "</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def svg(points: Sequence[Point], metric: str, *, maximize: bool) -> str:
    """A chart of the value of each finished trial and of the best so far, by number; "" without trials."""
    if not points:
        return ""
    best = list(accumulate((value for _, value in points), max if maximize else min))
    xs, ys = _scale([n for n, _ in points], LEFT, WIDTH - 8), _scale([v for _, v in points], HEIGHT - BOTTOM, TOP)
    thin = max(1, -(-len(points) // MAX_POINTS))
    dots = "".join(
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2"><title>trial {n}: {v:.5g}</title></circle>'
        for (n, v), x, y in list(zip(points, xs, ys, strict=True))[::thin]
    )
    return (
        f'<svg role="img" aria-label="{escape(f"{metric} of {len(points)} finished trials")}" width="{WIDTH}"'
        f' height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="11">'
        f'<g fill="#3b7dd8" fill-opacity="0.6">{dots}</g>'
        f'<polyline fill="none" stroke="#d8603b" stroke-width="1.5" points="{_steps(points, best, xs)}"/>'
        f'<g fill="currentColor">{_axes(points, metric)}</g></svg>'
    )


def _steps(points: Sequence[Point], best: Sequence[float], xs: Sequence[float]) -> str:
    """The corners of the best-so-far line, and its end."""
    heights = _scale([v for _, v in points], HEIGHT - BOTTOM, TOP, at=best)
    corners = [f"{xs[0]:.1f},{heights[0]:.1f}"]
    for before, after, x in zip(heights, heights[1:], xs[1:], strict=False):
        if after != before:
            corners += [f"{x:.1f},{before:.1f}", f"{x:.1f},{after:.1f}"]
    return " ".join([*corners, f"{xs[-1]:.1f},{heights[-1]:.1f}"])


def _axes(points: Sequence[Point], metric: str) -> str:
    values = [value for _, value in points]
    bottom = HEIGHT - BOTTOM
    return (
        f'<text x="{LEFT - 6}" y="{TOP + 4}" text-anchor="end">{max(values):.4g}</text>'
        f'<text x="{LEFT - 6}" y="{bottom}" text-anchor="end">{min(values):.4g}</text>'
        f'<text x="{LEFT}" y="{HEIGHT - 6}">{points[0][0]}</text>'
        f'<text x="{WIDTH - 8}" y="{HEIGHT - 6}" text-anchor="end">{points[-1][0]}</text>'
        f'<text x="{(LEFT + WIDTH) // 2}" y="{HEIGHT - 6}" text-anchor="middle">{cell(metric)} by trial</text>'
    )


def _scale(values: Sequence[float], low: float, high: float, at: Sequence[float] | None = None) -> list[float]:
    """`at` scaled so that the minimum and maximum of `values` are at `low` and `high`."""
    first, last = min(values), max(values)
    if first == last:
        return [(low + high) / 2 for _ in (at or values)]
    return [low + (value - first) / (last - first) * (high - low) for value in (at or values)]
