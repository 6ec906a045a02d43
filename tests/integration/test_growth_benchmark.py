"""The benchmark of growth: exponents, its page, and short runs of its parts."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import __main__ as benchmarks
from benchmarks import growth, results, service_parts
from benchmarks.growth_series import Series, load, part, save, series_of, table
from benchmarks.run_settings import Plan

SIZES = (10, 1_000, 10_000, 100_000)
ABOUT = {
    "date": "2026-01-02T03:04:05",
    "machine": {"cores": 2, "memory_gib": 8.0, "system": "Linux x86_64", "load_1min": 0.5},
    "versions": {"python": "3.11", "sqlite": "3.53", "ray": "2.56", "torch": "2.10"},
}


def series(name: str, *values: float, each: bool = False) -> Series:
    return Series(name, "ms", "trials", dict(zip(SIZES, values, strict=True)), each=each)


@pytest.mark.parametrize(
    ("measured", "exponent", "linear"),
    [
        (series("constant", 5, 5, 5, 5), 0.0, True),
        (series("linear", 10, 1_000, 10_000, 100_000), 1.0, True),
        (series("with a fixed cost at small sizes", 900, 1_000, 10_000, 100_000), 1.0, True),
        (series("squared", 0.1, 1e3, 1e5, 1e7), 2.0, False),
        (series("constant for each trial", 3, 3, 3, 3, each=True), 1.0, True),
        (series("in proportion to the trials for each", 0.1, 1, 10, 100, each=True), 2.0, False),
    ],
)
def test_exponent_is_of_the_total_at_the_largest_sizes(measured: Series, exponent: float, linear: bool) -> None:
    assert measured.exponent == pytest.approx(exponent)
    assert measured.target().reached is linear


def test_stored_parts_are_kept_until_measured_again(tmp_path: Path) -> None:
    file = tmp_path / "growth.json"
    save(file, {"trials": part([series("a", 1, 2, 3, 4)], ABOUT), "points": part([series("b", 1, 1, 1, 1)], ABOUT)})
    save(file, {"points": part([series("c", 2, 2, 2, 2)], ABOUT)})
    assert {name: [each.name for each in series_of(stored)] for name, stored in load(file).items()} == {
        "trials": ["a"],
        "points": ["c"],
    }
    assert series_of(load(file)["trials"]) == [series("a", 1, 2, 3, 4)]


def test_table_has_a_row_per_quantity_and_a_column_per_size() -> None:
    rate = Series("rate", "1/s", "trials", {10: 5.0}, grows=False)
    lines = table([series("memory", 1, 2.5, 3, 4_000), rate]).splitlines()
    assert lines[0] == "|  | 10 trials | 1,000 trials | 10,000 trials | 100,000 trials | exponent |"
    assert lines[2].startswith("| memory, ms | 1 | 2.5 | 3 | 4,000 | ")
    assert lines[3] == "| rate, 1/s | 5 | – | – | – | – |"


def test_page_gets_tables_and_plots(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")  # needs the extra `bench`
    page, stored = tmp_path / "performance.md", tmp_path / "growth.json"
    page.write_text("# Title\n\n<!-- growth: begin -->\nold\n<!-- growth: end -->\n\nend\n")
    save(stored, {"points": part([series("memory", 1, 2, 3, 4), series("cost", 1, 1, 1, 1, each=True)], ABOUT)})
    for _ in range(2):
        growth.write_page(stored, page)
        text = page.read_text()
        assert text.startswith("# Title\n") and text.endswith("\n\nend\n") and "old" not in text
        assert text.count("## Metric points") == text.count("](images/growth-points.svg)") == 1
        assert "2026-01-02, 2 cores, 8.0 GiB, Linux x86_64, load 0.5" in text
        plot = (tmp_path / "images" / "growth-points.svg").read_text()
        assert "memory" in plot and "cost" in plot
    page.write_text("# Title\n")
    with pytest.raises(ValueError, match="0 places for the tables"):
        growth.write_page(stored, page)


def test_long_row_is_measured_only_when_named(tmp_path: Path) -> None:
    measured: list[int] = []

    def record(number: int) -> benchmarks.Benchmark:
        def run(plan: Plan, numbers: frozenset[int]) -> list[results.Row]:
            measured.append(number)
            return []

        return run

    recorded = [(numbers, record(min(numbers))) for numbers, _ in benchmarks.BENCHMARKS]
    benchmarks.main(["--quick", "--output", str(tmp_path)], recorded)
    assert 17 not in measured and 3 in measured
    measured.clear()
    benchmarks.main(["--quick", "--only", "17", "--output", str(tmp_path)], recorded)
    assert measured == [17]


@pytest.mark.parametrize(
    "name", [*(pytest.param(name, marks=pytest.mark.slow) for name in ("trials", "simulated-slots")), "points"]
)
def test_simulated_parts_run(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    growth.main([name, "--quick"])
    rows = capsys.readouterr().out.splitlines()[2:-1]
    assert len(rows) == {"trials": 4, "simulated-slots": 2, "points": 6}[name]
    assert all("–" not in row.split(" | ")[1:-1] for row in rows), "each quantity has a value at each size"


def test_larger_sizes_are_left_out() -> None:
    assert Plan().sizes((1,), (10, 100, 1000)) == (10, 100, 1000)
    assert Plan(largest=100).sizes((1,), (10, 100, 1000)) == (10, 100)
    assert Plan(quick=True, largest=100).sizes((1,), (10, 100)) == (1,)


def test_unknown_part_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        growth.main(["trails"])
    assert "unknown part 'trails'; known parts: trials, pages" in capsys.readouterr().err


def test_used_time_is_of_the_processes_that_still_run() -> None:
    before = {("members", 1): 5.0, ("members", 2): 3.0, ("api", 3): 1.0}
    after = {("members", 2): 4.0, ("members", 4): 0.5, ("api", 3): 1.5}
    assert service_parts.used_s(before, after) == {"members": 1.5, "api": 0.5}


@pytest.mark.timeout(600)
@pytest.mark.slow
def test_row_of_growth_is_complete(tmp_path: Path) -> None:
    benchmarks.main(["--quick", "--only", "17", "--output", str(tmp_path)])
    (row,) = results.load(tmp_path)
    names = [figure["name"] for figure in row["podium"]]
    assert row["row"] == 17
    assert len(names) == len(set(names)) > 30
    for part_name in ("api", "scheduler", "slots", "members"):
        assert any(part_name in name for name in names)
