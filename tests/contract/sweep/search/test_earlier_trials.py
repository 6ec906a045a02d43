"""Warm starts: a search learns from trials of earlier sweeps, which get no trial numbers."""

from __future__ import annotations

import random
import statistics
from typing import Any

import pytest

from podium.sweep.search.sweep_search import Search
from podium.sweep.spec.search_method_registry import METHODS
from podium.sweep.spec.sweep_spec import SweepSpec
from podium.sweep.values.search_messages import PastTrial, TrialPlan
from podium.sweep.values.states import TrialState
from tests.specs import spec

BEST = 0.8
METRICS = [{"name": "near", "goal": "minimize"}, {"name": "far", "goal": "maximize"}]
GP = pytest.param("gp", marks=pytest.mark.slow)
LEARNING = [GP if name == "gp" else name for name, method in METHODS.items() if method.uses_results]


def searched(method: str, **changes: Any) -> SweepSpec:
    parameters = {"x": {"min": 0.0, "max": 1.0}, "y": {"min": 0.0, "max": 1.0}}
    return spec(method=method, parameters=parameters, run_cap=30, **changes)


def score(x: float, y: float) -> float:
    return 1.0 - (x - BEST) ** 2 - (y - BEST) ** 2


def evaluated_trials(count: int, **changes: Any) -> list[PastTrial]:
    """Evaluated trials spread over the space."""
    draw = random.Random(3)
    points = [{"x": draw.random(), "y": draw.random()} for _ in range(count)]
    return [
        PastTrial(number, TrialState.FINISHED, {**point, "gone": 1}, score(point["x"], point["y"]), **changes)
        for number, point in enumerate(points)
    ]


def asked(search: Search) -> TrialPlan:
    planned = search.ask()
    assert planned is not None
    return planned


def run(search: Search, count: int) -> list[TrialPlan]:
    found = []
    for _ in range(count):
        planned = asked(search)
        search.tell(planned.number, TrialState.FINISHED, [score(**planned.params)])  # type: ignore[arg-type]
        found.append(planned)
    return found


@pytest.mark.parametrize("method", LEARNING)
def test_warm_start_begins_near_best_earlier_trials(method: str) -> None:
    warm = run(Search(searched(method), earlier=evaluated_trials(40)), 8)
    cold = run(Search(searched(method)), 8)
    worse, better = (statistics.mean(score(**t.params) for t in trials) for trials in (cold, warm))  # type: ignore[arg-type]
    assert better > worse
    assert better > 0.9


@pytest.mark.parametrize("method", LEARNING)
def test_earlier_trials_have_no_numbers_and_rebuilt_search_continues(method: str) -> None:
    search = Search(searched(method), earlier=evaluated_trials(12))
    assert (len(search), search.is_fixed(None)) == (0, False)
    assert [planned.number for planned in run(search, 5)] == list(range(5))
    past = [search.past_trial(number) for number in range(5)]
    rebuilt = Search(searched(method), past, evaluated_trials(12))
    assert asked(rebuilt).params == asked(search).params


@pytest.mark.parametrize("method", LEARNING)
@pytest.mark.parametrize("count", [1, 9])
def test_few_earlier_trials_are_sufficient(method: str, count: int) -> None:
    assert len(run(Search(searched(method), earlier=evaluated_trials(count)), 3)) == 3


def test_cmaes_starts_at_best_of_few_trials() -> None:
    near = PastTrial(0, TrialState.FINISHED, {"x": BEST, "y": BEST}, 1.0)
    better = PastTrial(1, TrialState.FINISHED, {"x": 0.1, "y": 0.1}, 2.0, constraints={"size": 1.0})
    found = run(Search(searched("cmaes"), earlier=[near, better]), 5)
    assert all(abs(float(planned.params["x"] or 0) - BEST) < 0.5 for planned in found)


@pytest.mark.parametrize("method", LEARNING)
@pytest.mark.parametrize("count", [3, 15])
def test_categorical_and_conditional_parameters_fail_no_method(method: str, count: int) -> None:
    parameters: dict[str, Any] = {
        "x": {"min": 0.0, "max": 1.0},
        "kind": {"values": ["a", "b"]},
        "width": {"min": 1, "max": 9, "when": {"kind": "b"}},
    }
    wanted = spec(method=method, parameters=parameters)
    earlier = [
        PastTrial(n, TrialState.FINISHED, {"x": n / 20, **({"kind": "b", "width": 3} if n % 2 else {"kind": "a"})}, -n)
        for n in range(count)
    ]
    search = Search(wanted, earlier=earlier)
    for number in range(4):
        asked(search)
        search.tell(number, TrialState.FINISHED, [0.5])
    assert len(search) == 4


@pytest.mark.parametrize("method", ["tpe", GP, "nsga2"])
def test_warm_start_with_several_objectives(method: str) -> None:
    several = searched(method, metric=None, metrics=METRICS)
    earlier = [
        PastTrial(
            trial.number, trial.state, trial.params, values=(1 - (trial.value or 0), float(trial.params["x"] or 0))
        )
        for trial in evaluated_trials(15)
    ]
    search = Search(several, earlier=earlier)
    for _ in range(4):
        planned = asked(search)
        search.tell(planned.number, TrialState.FINISHED, [0.5, 0.5], constraints={"size": -1.0})
    assert len(search) == 4


@pytest.mark.parametrize("method", LEARNING)
@pytest.mark.parametrize("whose", [*(pytest.param(who, marks=pytest.mark.slow) for who in ("earlier", "own")), "both"])
def test_partial_constraints_fail_no_method(method: str, whose: str) -> None:
    earlier = evaluated_trials(12, constraints={"size": 1.0} if whose != "own" else {})
    search = Search(searched(method), earlier=earlier + evaluated_trials(1))
    for _ in range(3):
        planned = asked(search)
        constraints = {"age": -1.0} if whose != "earlier" else {}
        search.tell(planned.number, TrialState.FINISHED, [0.5], constraints=constraints)
    assert len(search) == 3


def test_pruned_trials_count_by_last_report() -> None:
    earlier = [PastTrial(0, TrialState.PRUNED, {"x": 0.5, "y": 0.5}, reports={3: 0.4}), *evaluated_trials(12)]
    assert len(run(Search(searched("tpe"), earlier=earlier), 3)) == 3


def test_trials_outside_space_are_ignored() -> None:
    outside = PastTrial(0, TrialState.FINISHED, {"x": 3.0, "y": 0.5}, 9.0)
    missing = PastTrial(1, TrialState.FINISHED, {"x": 0.5}, 9.0)
    failed = PastTrial(2, TrialState.FAILED, {"x": 0.5, "y": 0.5})
    same = [run(Search(searched("tpe"), earlier=earlier), 3) for earlier in ([outside, missing, failed], [])]
    assert [t.params for t in same[0]] == [t.params for t in same[1]]
