"""Row 17: the cost of work as it grows: trials, slots, members, metric points; linear or better.

Measured by size, each part on a service or database of its own:

- trials (1,000 to 200,000): the real scheduler, recorder and random search with 16 slots on a simulated clock:
  processor time of the last trials, memory, database. Searches by TPE and their histories are row 15.
- pages (1,000 to 200,000 trials): the requests of a sweep's page and the page in Chromium, as in row 9.
- slots: a real service with 2 and 16 slots and trivial trials: processor time and memory of its parts; the scheduler
  with 2 to 1,000 simulated slots at the same rate of trials: processor time and memory.
- members (3 to 100): a between-graph ensemble of small networks, each another one, on one machine: from the request to
  build it until all members are ready, latency, processor time, memory.
- points (100,000 to 10 million) of 1,000 trials, stored through the recorder: rate, database, reads.

The exponent is fitted to the three largest sizes, so that fixed costs do not hide the growth: the total cost is
proportional to the size to this power. 1 is linear.

`python -m benchmarks.growth PART ...` measures some parts and stores them next to the others in `growth.json`, then
writes the plots and the tables of docs/performance.md. Row 17 measures all of them, which takes about 20 minutes.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable
from pathlib import Path

from benchmarks import growth_members, growth_points, growth_slots, growth_trials
from benchmarks.growth_series import Part, Series, load, part, save, series_of, table
from benchmarks.machine import describe
from benchmarks.results import FOLDER, Row
from benchmarks.run_settings import Plan

PARTS: dict[str, Callable[[Plan], list[Series]]] = {
    "trials": growth_trials.scheduler,
    "pages": growth_trials.pages,
    "slots": growth_slots.real,
    "simulated-slots": growth_slots.simulated,
    "members": growth_members.run,
    "points": growth_points.run,
}
TITLES = {
    "trials": "Trials: the scheduler",
    "pages": "Trials: the page of a sweep",
    "slots": "Slots: a real service",
    "simulated-slots": "Slots: the scheduler on a simulated clock",
    "members": "Members of a between-graph ensemble",
    "points": "Metric points",
}
STORED = FOLDER / "growth.json"
PAGE = FOLDER.parent / "docs" / "performance.md"
_TABLES = re.compile(r"(<!-- growth: begin -->\n).*(<!-- growth: end -->)", re.DOTALL)


def run(plan: Plan, numbers: frozenset[int]) -> list[Row]:
    """Row 17. Unless `plan.quick`, also stores the series and writes the page."""
    parts = measured(plan, list(PARTS))
    if not plan.quick:
        save(STORED, parts)
        write_page(STORED, PAGE)
    return [row(parts)]


def measured(plan: Plan, names: list[str]) -> dict[str, Part]:
    """Measure these parts, one after the other."""
    return {name: part(PARTS[name](plan), describe()) for name in names}


def row(parts: dict[str, Part]) -> Row:
    """The values at the largest sizes, and the exponents as targets."""
    series = [each for name in PARTS if name in parts for each in series_of(parts[name])]
    return Row(
        17,
        "cost as work grows: trials, pages, slots, members, metric points",
        [each.figure() for each in series],
        1,
        targets=[each.target() for each in series if each.is_fitted],
        notes=["all sizes and the plots: docs/performance.md"],
    )


def write_page(stored: Path, page: Path) -> None:
    """Write the plots next to the page, and the tables into it. Raises `ValueError` if it has no place for them."""
    from benchmarks import growth_plots  # matplotlib is only installed with the extra `bench`

    parts = {name: series_of(found) for name, found in load(stored).items()}
    chapters = []
    for name in PARTS:
        if name in parts:
            growth_plots.draw(TITLES[name], parts[name], page.parent / "images" / f"growth-{name}.svg")
            chapters.append(_chapter(name, parts[name], load(stored)[name]))
    text, places = _TABLES.subn(lambda found: found[1] + "\n" + "\n".join(chapters) + found[2], page.read_text("utf-8"))
    if places != 1:
        raise ValueError(f"{page} has {places} places for the tables, not one: write <!-- growth: begin --> and end")
    page.write_text(text, "utf-8")


def _chapter(name: str, series: list[Series], about: Part) -> str:
    machine, versions = about["machine"], about["versions"]
    measured_on = (
        f"{about['date'][:10]}, {machine['cores']} cores, {machine['memory_gib']} GiB, {machine['system']}, "
        f"load {machine['load_1min']} at the end, "
        f"Python {versions['python']}, SQLite {versions['sqlite']}, Ray {versions['ray']}, torch {versions['torch']}."
    )
    return f"## {TITLES[name]}\n\n![{TITLES[name]}](images/growth-{name}.svg)\n\n{table(series)}\n{measured_on}\n"


def main(arguments: list[str] | None = None) -> None:
    """Measure some parts; without any, only write the page again."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.growth", description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(PARTS)}")
    parser.add_argument("--largest", type=int, help="leave out sizes above this one")
    parser.add_argument("--quick", action="store_true", help="small sizes, printed and not stored")
    options = parser.parse_args(arguments)
    if unknown := sorted(set(options.parts) - set(PARTS)):
        parser.error(f"unknown part {unknown[0]!r}; known parts: {', '.join(PARTS)}")
    for name in options.parts:
        parts = measured(Plan(options.quick, largest=options.largest), [name])
        print(table(series_of(parts[name])))
        if not options.quick:
            save(STORED, parts)
    if not options.quick:
        write_page(STORED, PAGE)


if __name__ == "__main__":
    main()
