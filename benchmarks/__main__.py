"""`python -m benchmarks`: runs each comparison, then writes `results.json` and the table `results.md`."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from benchmarks import (
    dashboard,
    dispatch,
    ensemble_between_graph,
    ensemble_in_graph,
    growth,
    ingest,
    node_faults,
    nodes,
    on_gpu,
    on_postgres,
    population,
    proposals,
    real_sweep,
    results,
    search_and_storage,
    search_quality,
    shared_data,
    slot_efficiency,
    slow_replica,
    start,
    start_against_ray,
    stopped_member,
)
from benchmarks.machine import describe
from benchmarks.results import Row
from benchmarks.run_settings import Plan

Benchmark = Callable[[Plan, frozenset[int]], list[Row]]
Numbered = tuple[frozenset[int], Benchmark]  # the rows that it measures
BENCHMARKS: tuple[Numbered, ...] = (
    (frozenset({1, 2}), dispatch.run),
    (frozenset({3}), search_and_storage.run),
    (frozenset({4}), slot_efficiency.run),
    (frozenset({5}), real_sweep.run),
    (frozenset({6}), ensemble_in_graph.run),
    (frozenset({7}), ensemble_between_graph.run),
    (frozenset({8}), stopped_member.run),
    (frozenset({9}), dashboard.run),
    (frozenset({10}), ingest.run),
    (frozenset({11}), start.run),
    (frozenset({12}), shared_data.run),
    (frozenset({13}), start_against_ray.run),
    (frozenset({15}), proposals.run),
    (frozenset({16}), search_quality.run),
    (frozenset({17}), growth.run),
    (frozenset({18}), nodes.run),
    (frozenset({19}), slow_replica.run),
    (frozenset({20}), node_faults.run),
    (frozenset({21}), population.run),
    (frozenset({22}), on_postgres.run),
    (frozenset({23}), on_gpu.run),
)
NUMBERS = frozenset().union(*(numbers for numbers, _ in BENCHMARKS))
LONG = frozenset({16, 17})  # only measured when named: more than 20 minutes each


def main(arguments: list[str] | None = None, benchmarks: Sequence[Numbered] = BENCHMARKS) -> None:
    """Measure, print and store. Rows that were not measured in this run stay in the files unchanged."""
    options = _parser().parse_args(arguments)
    plan = Plan(options.quick, 1 if options.quick else options.repetitions)
    folder: Path | None = options.output or (None if plan.quick else results.FOLDER)
    rows = []
    for numbers, benchmark in benchmarks:
        wanted = numbers & options.only
        if not wanted:
            continue
        about = describe()
        print(f"Row {', '.join(map(str, sorted(wanted)))}: {json.dumps(about)}", file=sys.stderr, flush=True)
        began = time.monotonic()
        measured = [row.to_dict(about) for row in benchmark(plan, wanted)]
        print(f"  took {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)
        rows += measured
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)
            results.save(folder, measured)
    print(results.table(rows), end="")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "--only", type=_numbers, default=NUMBERS - LONG, help="rows, such as 1,2; by default all but 16 and 17"
    )
    parser.add_argument("--quick", action="store_true", help="small workloads, which only show that the benchmarks run")
    parser.add_argument("--repetitions", type=int, default=5, help="repetitions of each comparison; some use fewer")
    parser.add_argument("--output", type=Path, help="folder for the results; with --quick none by default")
    return parser


def _numbers(text: str) -> frozenset[int]:
    try:
        numbers = frozenset(int(word) for word in text.split(","))
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r}: write row numbers, such as 1,2") from None
    if unknown := numbers - NUMBERS:
        known = ", ".join(map(str, sorted(NUMBERS)))
        raise argparse.ArgumentTypeError(f"unknown row {min(unknown)}; known rows: {known}")
    return numbers


if __name__ == "__main__":
    main()
