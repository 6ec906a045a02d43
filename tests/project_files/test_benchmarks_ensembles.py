"""Row 7 of the benchmarks: its aims and ratios, and the measurements that it refuses."""

from __future__ import annotations

import pytest

from benchmarks import ensemble_between_graph as row_7
from benchmarks.ensemble_between_graph import ALONE, BENTO, BETWEEN, COMPOSED, IN_GRAPH, LIT, RAW, TOGETHER, TUNED
from benchmarks.ensemble_servers import Answers
from benchmarks.load import Answer, LoadResult
from benchmarks.run_settings import Plan

RATES = {BETWEEN: 4000.0, RAW: 4400.0, IN_GRAPH: 4000.0, COMPOSED: 100.0, TUNED: 401.0, LIT: 1000.0, BENTO: 500.0}
PLAN = Plan(repetitions=3)


def samples(rates: dict[str, float]) -> dict[tuple[str, str], list[float]]:
    return {
        (name, side): values
        for side, rate in rates.items()
        for name, values in {ALONE: [1e3 / rate] * 3, TOGETHER: [1.0, rate, 9e9]}.items()
    }


def answers(statuses: list[int], processor_s: float = 0.5) -> Answers:
    heard = tuple(Answer(float(number), 2.0 + number, status, 3) for number, status in enumerate(statuses))
    return Answers(LoadResult(heard, 2.0, processor_s), {"gateway": 0.003, "members": 0.001})


def test_aims_compare_medians_with_each_peer() -> None:
    found = {
        target.aim: (target.measured, target.reached) for target in row_7.targets(row_7.as_figures(samples(RATES)))
    }
    assert found == {
        "requests/s, 16 clients, between-graph ≥ 40 × Ray Serve": ("40 ×", True),
        "requests/s, 16 clients, between-graph ≥ 10 × Ray Serve, tuned": ("9.98 ×", False),
        "requests/s, 16 clients, in-graph ≥ 4 × LitServe": ("4 ×", True),
        "requests/s, 16 clients, between-graph ≥ 2.5 × LitServe": ("4 ×", True),
        "p50, 1 client, between-graph ≤ 2.5 ms": ("0.25 ms", True),
    }


def test_row_has_every_side_and_names_the_peers() -> None:
    row = row_7.row(row_7.as_figures(samples(RATES)), PLAN, ["a note"], "Ray Serve 1, LitServe 2, BentoML 3")
    assert [figure.name for figure in row.podium] == [
        f"{name}, {side}" for side in row_7.OURS for name in (ALONE, TOGETHER)
    ]
    assert [figure.name for figure in row.peer] == [
        f"{name}, {side}" for side in row_7.PEERS for name in (ALONE, TOGETHER)
    ]
    assert {figure.unit for figure in [*row.podium, *row.peer]} == {"ms", "1/s"}
    assert row.peer_name == "Ray Serve 1, LitServe 2, BentoML 3"
    assert row.ratios[f"{TOGETHER}, between-graph to BentoML"] == 8
    assert row.ratios[f"{ALONE}, in-graph to LitServe"] == 4
    assert len(row.ratios) == 2 * len(row_7.PAIRS)


def test_quick_run_has_the_aims_of_its_sides() -> None:
    measured = {side: rate for side, rate in RATES.items() if side not in row_7.NOT_QUICK}
    found = row_7.targets(row_7.as_figures(samples(measured)))
    assert len(found) == len(row_7.AIMS)
    assert not any("tuned" in target.aim for target in found)


def test_cost_is_that_of_all_server_processes_per_response() -> None:
    found = row_7.quantities(answers([200, 200]), 16)
    assert found["processor time a request, 16 clients"] == pytest.approx(2000)
    assert found["requests/s, 16 clients"] == 1
    assert set(row_7.quantities(answers([200]), 1)) == {
        "p50, 1 client", "p95, 1 client", "p99, 1 client", "processor time a request, 1 client",
    }  # fmt: skip


def test_failed_requests_of_few_clients_are_refused_and_of_many_recorded() -> None:
    row_7.check(answers([200, 503]), LIT, 64)
    assert row_7.quantities(answers([200, 503]), 64)["answered, 64 clients"] == 50
    with pytest.raises(RuntimeError, match="LitServe: 1 of 2 requests of 16 clients failed"):
        row_7.check(answers([200, 503]), LIT, 16)
    with pytest.raises(RuntimeError, match="LitServe: 2 of 2 requests of 64 clients failed"):
        row_7.check(answers([503, 504]), LIT, 64)


def test_load_that_may_limit_the_rate_is_refused() -> None:
    row_7.check(answers([200], processor_s=1.7), IN_GRAPH, 256)
    with pytest.raises(RuntimeError, match=r"used 0\.95 of one core"):
        row_7.check(answers([200], processor_s=1.9), IN_GRAPH, 256)
