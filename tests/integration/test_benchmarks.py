"""The benchmarks run: small ones end to end, and the files with results that are kept are whole."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks import __main__ as benchmarks
from benchmarks import results
from benchmarks.results import Figure, Row, at_least, at_most, ratio, times_less
from benchmarks.simulation import least_s, simulate

FIELDS = {
    "row", "work", "podium", "peer_name", "peer", "ratio", "target", "reached", "repetitions", "notes", "date",
    "machine", "versions",
}  # fmt: skip


def check(row: dict[str, Any]) -> None:
    """A row that people can trust: nothing is missing, and each figure is within its own spread."""
    assert set(row) == FIELDS
    assert row["podium"]
    assert row["reached"] is all(target["reached"] for target in row["target"])
    assert bool(row["peer"]) is bool(row["peer_name"]) is bool(row["ratio"])
    for figure in [*row["podium"], *row["peer"]]:
        assert figure["samples"]
        assert figure["min"] <= figure["median"] <= figure["max"]
        assert figure["unit"]
    assert {"cores", "load_1min", "fsync_ms"} <= set(row["machine"])
    assert {"python", "torch", "ray", "optuna", "sqlite"} <= set(row["versions"])


def test_search_storage_and_simulated_slots_run_and_leave_whole_results(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    benchmarks.main(["--quick", "--only", "3,4", "--output", str(tmp_path)])
    rows = results.load(tmp_path)
    assert [row["row"] for row in rows] == [3, 4]
    for row in rows:
        check(row)
    table = (tmp_path / "results.md").read_text("utf-8")
    assert capsys.readouterr().out == table
    assert [line.split(" | ")[0] for line in table.splitlines()[2:]] == ["| 3", "| 4"]


def test_results_kept_in_the_repository_are_whole() -> None:
    rows = results.load(results.FOLDER)
    assert [row["row"] for row in rows] == sorted({row["row"] for row in rows})
    for row in rows:
        check(row)
    assert (results.FOLDER / "results.md").read_text("utf-8") == results.table(rows)


def test_row_measured_again_takes_the_place_of_the_old_one(tmp_path: Path) -> None:
    def row(number: int, value: float) -> dict[str, Any]:
        return Row(number, "some work", [Figure("a trial", "ms", (value,))], 1).to_dict({"date": "today"})

    results.save(tmp_path, [row(3, 1.0), row(1, 2.0)])
    results.save(tmp_path, [row(3, 4.0)])
    kept = json.loads((tmp_path / "results.json").read_text("utf-8"))["rows"]
    assert [(row["row"], row["podium"][0]["median"]) for row in kept] == [(1, 2.0), (3, 4.0)]


def test_targets_are_judged_by_medians() -> None:
    podium, peer = Figure("a trial", "ms", (1.0, 2.0, 90.0)), Figure("a trial", "ms", (21.0, 20.0, 1.0))
    assert ratio(podium, peer) == 10
    assert [times_less(podium, peer, times).reached for times in (10, 10.1)] == [True, False]
    assert [at_most(podium, limit).reached for limit in (2, 1.9)] == [True, False]
    assert [at_least(podium, limit).reached for limit in (2, 2.1)] == [True, False]


@pytest.mark.parametrize("text", ["5x", "", "99"])
def test_unknown_row_is_refused(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        benchmarks.main(["--only", text])
    assert "--only" in capsys.readouterr().err


def test_least_time_gives_each_free_slot_its_next_trial_at_once() -> None:
    assert least_s([1.0] * 17, 16) == 2
    assert least_s([3.0, 1.0, 1.0, 1.0], 2) == 3


def test_simulated_sweep_runs_every_trial_and_never_beats_the_ideal(tmp_path: Path) -> None:
    outcome = simulate(tmp_path, slots=3, trials=10, trial_s=60.0)
    assert 0 < outcome.efficiency <= 1
