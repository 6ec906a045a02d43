"""The figures in the table of README.md are those of benchmarks/README.md."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.repository import ROOT

FIGURE = re.compile(r"(?<![\w.,])(\d(?:[\d,.]*\d)?)(?:\s(ms|s|%|×|requests/s|trials)(?![\w/]))?")

# The number and the start of the row of benchmarks/README.md, by the start of the row of README.md.
ROWS = {
    "a trivial trial in a fresh process": ("1", "a trivial trial in a fresh process"),
    "Fashion-MNIST with ASHA": ("5", "Fashion-MNIST with ASHA"),
    "between-graph ensemble of three over HTTP, 16 clients": ("7", "the same, 16 clients"),
    "the same with one member stopped": ("8", "the same, one member stopped"),
    "ready with 16 slots": ("13", "ready, with 2 and 16 slots"),
    "first row of a table of 10,000 trials": ("9", "the table of a sweep with 10,000 trials"),
}


def rows(path: Path) -> list[list[str]]:
    """The cells of the rows of the table of figures."""
    _, _, table = path.read_text().partition("measurement | Podium | peer | ratio |\n")
    lines = table.partition("\n\n")[0].splitlines()[1:]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def figures(cells: list[str]) -> set[str]:
    """Numbers with their units."""
    return {" ".join(filter(None, found.groups())) for cell in cells for found in FIGURE.finditer(cell)}


QUOTED = rows(ROOT / "README.md")
MEASURED = rows(ROOT / "benchmarks" / "README.md")


def test_every_row_has_a_source() -> None:
    assert len(QUOTED) == len(ROWS)
    for start in ROWS:
        assert [row[0] for row in QUOTED if row[0].startswith(start)], f"no row {start!r} in README.md"


@pytest.mark.parametrize(("start", "source"), ROWS.items(), ids=ROWS)
def test_figures_equal_those_of_the_benchmarks(start: str, source: tuple[str, str]) -> None:
    (quoted,) = [row for row in QUOTED if row[0].startswith(start)]
    (measured,) = [row for row in MEASURED if row[0] == source[0] and row[1].startswith(source[1])]
    assert figures(quoted[1:]), "no figure"
    assert figures(quoted[1:]) - figures(measured) == set(), f"not in row {source[0]} of benchmarks/README.md"


def test_figures_have_their_units() -> None:
    assert figures(["p99 15 ms; 6,393 requests/s", "16 actors: 12.0 s, 2.8 ×"]) == {
        "15 ms", "6,393 requests/s", "16", "12.0 s", "2.8 ×",
    }  # fmt: skip
