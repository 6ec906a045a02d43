"""Quantities measured at several sizes: their growth, the file that stores them, and their tables."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmarks.results import Figure, Target

LINEAR = 1.15  # the largest exponent that counts as linear: repeated measurements differ by up to a tenth
FITTED = 3  # the largest sizes that the exponent is fitted to: fixed costs hide the growth below them


@dataclass(frozen=True, slots=True)
class Series:
    """One quantity by size. `each`: per trial, slot or point, so that a constant is linear growth of the total."""

    name: str
    unit: str
    over: str  # what the size counts, such as `trials`
    values: dict[int, float]
    each: bool = False
    grows: bool = True  # False: a rate, of which more is better

    @property
    def exponent(self) -> float:
        """The total is proportional to the size to this power: least squares over the largest sizes."""
        points = sorted(self.values.items())[-FITTED:]
        sizes = [math.log(size) for size, _ in points]
        totals = [math.log(max(value * (size if self.each else 1), 1e-9)) for size, value in points]
        middle, level = sum(sizes) / len(sizes), sum(totals) / len(totals)
        above = sum((size - middle) * (total - level) for size, total in zip(sizes, totals, strict=True))
        return above / sum((size - middle) ** 2 for size in sizes)

    @property
    def is_fitted(self) -> bool:
        """Whether there is an exponent: not for rates, nor for so few sizes that fixed costs would hide the growth."""
        return self.grows and len(self.values) >= FITTED

    def figure(self) -> Figure:
        """The value at the largest size."""
        size = max(self.values)
        return Figure(f"{size:,} {self.over}: {self.name}", self.unit, (self.values[size],))

    def target(self) -> Target:
        """Linear or better."""
        found = self.exponent
        return Target(f"{self.name}, {self.over}: exponent ≤ {LINEAR:g}", f"{found:.2f}", found <= LINEAR)


Part = dict[str, Any]  # the series of one part, and the description of the machine


def part(series: Iterable[Series], about: dict[str, Any]) -> Part:
    """What the file stores."""
    return {"series": [asdict(each) for each in series], **about}


def series_of(stored: Part) -> list[Series]:
    """The series of a stored part."""
    return [
        Series(**{**each, "values": {int(size): value for size, value in each["values"].items()}})
        for each in stored["series"]
    ]


def load(file: Path) -> dict[str, Part]:
    """The stored parts by name; none if there is no file yet."""
    return dict(json.loads(file.read_text("utf-8"))) if file.exists() else {}


def save(file: Path, parts: dict[str, Part]) -> None:
    """Store these parts; others are kept."""
    kept = {**load(file), **parts}
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(kept, indent=1, ensure_ascii=False, sort_keys=True) + "\n", "utf-8")


def table(series: Sequence[Series]) -> str:
    """One row per series, one column per size, in Markdown."""
    sizes = sorted({size for each in series for size in each.values})
    head = ["", *(f"{size:,} {series[0].over}" for size in sizes), "exponent"]
    lines = [_line(head), _line(["---"] * len(head))]
    for each in series:
        cells = [_text(each.values[size]) if size in each.values else "–" for size in sizes]
        lines.append(_line([f"{each.name}, {each.unit}", *cells, f"{each.exponent:.2f}" if each.is_fitted else "–"]))
    return "\n".join(lines) + "\n"


def _text(value: float) -> str:
    """Three significant digits."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"
