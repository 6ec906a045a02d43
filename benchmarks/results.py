"""Results of benchmarks: figures with their spread, ratios and targets, and the two files that store them."""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class Figure:
    """One quantity, measured several times."""

    name: str
    unit: str
    samples: tuple[float, ...]

    @property
    def median(self) -> float:
        return statistics.median(self.samples)

    def to_dict(self) -> dict[str, Any]:
        spread = {"median": self.median, "min": min(self.samples), "max": max(self.samples)}
        return {"name": self.name, "unit": self.unit, **spread, "samples": list(self.samples)}

    def __str__(self) -> str:
        text = f"{self.name} {_short(self.median)} {self.unit}"
        if len(self.samples) == 1:
            return text
        return f"{text} ({_short(min(self.samples))} to {_short(max(self.samples))})"


@dataclass(frozen=True, slots=True)
class Target:
    """A target, and whether the medians reach it."""

    aim: str
    measured: str
    reached: bool


def at_most(figure: Figure, limit: float) -> Target:
    """The median must be at most `limit`."""
    measured = f"{_short(figure.median)} {figure.unit}"
    return Target(f"{figure.name} ≤ {limit:g} {figure.unit}", measured, figure.median <= limit)


def at_least(figure: Figure, limit: float) -> Target:
    """The median must be at least `limit`."""
    measured = f"{_short(figure.median)} {figure.unit}"
    return Target(f"{figure.name} ≥ {limit:g} {figure.unit}", measured, figure.median >= limit)


def times_less(podium: Figure, peer: Figure, times: float) -> Target:
    """The peer's median must be `times` ours."""
    found = ratio(podium, peer)
    return Target(f"{podium.name} ≥ {times:g} × less", f"{_short(found)} ×", found >= times)


def times_more(podium: Figure, peer: Figure, times: float, than: str = "more") -> Target:
    """Our median must be `times` the peer's; `than` names one of several peers."""
    found = more(podium, peer)
    return Target(f"{podium.name} ≥ {times:g} × {than}", f"{_short(found)} ×", found >= times)


def more(podium: Figure, peer: Figure) -> float:
    """Our median divided by the peer's, for figures where more is better."""
    return podium.median / peer.median


def ratio(podium: Figure, peer: Figure) -> float:
    """The peer's median divided by ours."""
    return peer.median / podium.median


@dataclass(frozen=True, slots=True)
class Row:
    """One row of the table: a workload, the figures of Podium and its peer, and the targets."""

    number: int
    work: str
    podium: Sequence[Figure]
    repetitions: int
    targets: Sequence[Target] = ()
    peer_name: str | None = None
    peer: Sequence[Figure] = ()
    ratios: dict[str, float] = field(default_factory=dict)  # the factor by which our median is better, by figure
    notes: Sequence[str] = ()

    def to_dict(self, about: dict[str, Any]) -> dict[str, Any]:
        """Plain JSON values, with the description of the machine."""
        return {
            "row": self.number,
            "work": self.work,
            "podium": [figure.to_dict() for figure in self.podium],
            "peer_name": self.peer_name,
            "peer": [figure.to_dict() for figure in self.peer],
            "ratio": self.ratios,
            "target": [asdict(target) for target in self.targets],
            "reached": all(target.reached for target in self.targets),
            "repetitions": self.repetitions,
            "notes": list(self.notes),
            **about,
        }


def load(folder: Path) -> list[dict[str, Any]]:
    """The rows stored in `folder`; none if there is no file yet."""
    file = folder / "results.json"
    rows: list[dict[str, Any]] = json.loads(file.read_text("utf-8"))["rows"] if file.exists() else []
    return rows


def save(folder: Path, rows: Iterable[dict[str, Any]]) -> None:
    """Store these rows; rows measured earlier are kept unless they are among them."""
    by_number = {row["row"]: row for row in [*load(folder), *rows]}
    kept = [by_number[number] for number in sorted(by_number)]
    (folder / "results.json").write_text(json.dumps({"rows": kept}, indent=1, ensure_ascii=False) + "\n", "utf-8")
    (folder / "results.md").write_text(table(kept), "utf-8")


def table(rows: Iterable[dict[str, Any]]) -> str:
    """The rows as a Markdown table: median (minimum to maximum)."""
    lines = [
        "| # | work | Podium | peer | ratio | aim, and what was found |",
        "| - | ---- | ------ | ---- | ----- | ----------------------- |",
    ]
    lines += [_line(row) for row in rows]
    return "\n".join(lines) + "\n"


def _line(row: dict[str, Any]) -> str:
    podium, peer = (
        "<br>".join(str(Figure(f["name"], f["unit"], tuple(f["samples"]))) for f in row[side])
        for side in ("podium", "peer")
    )
    peer = f"{row['peer_name']}:<br>{peer}" if row["peer_name"] else "–"
    ratios = "<br>".join(f"{name} {_short(value)} ×" for name, value in row["ratio"].items()) or "–"
    targets = "<br>".join(
        f"{'✓' if target['reached'] else '✗'} {target['aim']}: {target['measured']}" for target in row["target"]
    )
    cells = (str(row["row"]), row["work"], podium, peer, ratios, targets)
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _short(value: float) -> str:
    """The number with three significant digits."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
