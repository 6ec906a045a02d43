"""A search that starts from trials of earlier sweeps: it learns from them, and they take no numbers."""

from __future__ import annotations

import random
import statistics
from typing import Any

import pytest

from podium.sweep.search.sweep_search import Search
from podium.sweep.spec.sweep_spec import SweepSpec
from podium.sweep.values.trial import TrialState
from podium.sweep.values.trial_history import PastTrial, Planned
from tests.specs import spec

BEST = 0.8
METRICS = [{"name": "near", "goal": "minimize"}, {"name": "far", "goal": "maximize"}]
LEARNING = ["tpe", "gp", "cmaes", "nsga2", "nsga3"]


def searched(method: str, **changes: Any) -> SweepSpec:
    parameters = {"x": {"min": 0.0, "max": 1.0}, "y": {"min": 0.0, "max": 1.0}}
    return spec(method=method, parameters=parameters, run_cap=30, **changes)


def score(x: float, y: float) -> float:
    return 1.0 - (x - BEST) ** 2 - (y - BEST) ** 2


def lessons(count: int, **changes: Any) -> list[PastTrial]:
    """Trials spread over the space, and told how good they are."""
    draw = random.Random(3)
    points = [{"x": draw.random(), "y": draw.random()} for _ in range(count)]
    return [
        PastTrial(number, TrialState.FINISHED, {**point, "gone": 1}, score(point["x"], point["y"]), **changes)
        for number, point in enumerate(points)
    ]


def asked(search: Search) -> Planned:
    planned = search.ask()
    assert planned is not None
    return planned


def run(search: Search, count: int) -> list[Planned]:
    found = []
    for _ in range(count):
        planned = asked(search)
        search.tell(planned.number, TrialState.FINISHED, [score(**planned.params)])  # type: ignore[arg-type]
        found.append(planned)
    return found


@pytest.mark.parametrize("method", LEARNING)
def test_the_first_trials_are_near_the_best_of_the_earlier_ones(method: str) -> None:
    warm = run(Search(searched(method), earlier=lessons(40)), 8)
    cold = run(Search(searched(method)), 8)
    worse, better = (statistics.mean(score(**t.params) for t in trials) for trials in (cold, warm))  # type: ignore[arg-type]
    assert better > worse
    assert better > 0.9


@pytest.mark.parametrize("method", LEARNING)
def test_they_take_no_numbers_and_a_rebuilt_search_goes_on_the_same(method: str) -> None:
    search = Search(searched(method), earlier=lessons(12))
    assert (len(search), search.is_fixed(None)) == (0, False)
    assert [planned.number for planned in run(search, 5)] == list(range(5))
    past = [search.remembered(number) for number in range(5)]
    rebuilt = Search(searched(method), past, lessons(12))
    assert asked(rebuilt).params == asked(search).params


@pytest.mark.parametrize("method", LEARNING)
@pytest.mark.parametrize("count", [1, 9])
def test_few_are_enough(method: str, count: int) -> None:
    assert len(run(Search(searched(method), earlier=lessons(count)), 3)) == 3


def test_cmaes_starts_at_the_best_of_few() -> None:
    near = PastTrial(0, TrialState.FINISHED, {"x": BEST, "y": BEST}, 1.0)
    better = PastTrial(1, TrialState.FINISHED, {"x": 0.1, "y": 0.1}, 2.0, constraints={"size": 1.0})
    found = run(Search(searched("cmaes"), earlier=[near, better]), 5)
    assert all(abs(float(planned.params["x"] or 0) - BEST) < 0.5 for planned in found)


@pytest.mark.parametrize("method", LEARNING)
@pytest.mark.parametrize("count", [3, 15])
def test_choices_and_what_is_not_always_active_stop_no_method(method: str, count: int) -> None:
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


@pytest.mark.parametrize("method", ["tpe", "gp", "nsga2"])
def test_several_objectives(method: str) -> None:
    several = searched(method, metric=None, metrics=METRICS)
    earlier = [
        PastTrial(
            trial.number, trial.state, trial.params, values=(1 - (trial.value or 0), float(trial.params["x"] or 0))
        )
        for trial in lessons(15)
    ]
    search = Search(several, earlier=earlier)
    for _ in range(4):
        planned = asked(search)
        search.tell(planned.number, TrialState.FINISHED, [0.5, 0.5], constraints={"size": -1.0})
    assert len(search) == 4


@pytest.mark.parametrize("method", LEARNING)
@pytest.mark.parametrize("whose", ["earlier", "own", "both"])
def test_constraints_of_some_do_not_stop_the_others(method: str, whose: str) -> None:
    earlier = lessons(12, constraints={"size": 1.0} if whose != "own" else {})
    search = Search(searched(method), earlier=earlier + lessons(1))
    for _ in range(3):
        planned = asked(search)
        constraints = {"age": -1.0} if whose != "earlier" else {}
        search.tell(planned.number, TrialState.FINISHED, [0.5], constraints=constraints)
    assert len(search) == 3


def test_pruned_ones_teach_by_their_last_report() -> None:
    earlier = [PastTrial(0, TrialState.PRUNED, {"x": 0.5, "y": 0.5}, reports={3: 0.4}), *lessons(12)]
    assert len(run(Search(searched("tpe"), earlier=earlier), 3)) == 3


def test_what_is_no_trial_of_this_space_is_left_out() -> None:
    outside = PastTrial(0, TrialState.FINISHED, {"x": 3.0, "y": 0.5}, 9.0)
    missing = PastTrial(1, TrialState.FINISHED, {"x": 0.5}, 9.0)
    failed = PastTrial(2, TrialState.FAILED, {"x": 0.5, "y": 0.5})
    same = [run(Search(searched("tpe"), earlier=earlier), 3) for earlier in ([outside, missing, failed], [])]
    assert [t.params for t in same[0]] == [t.params for t in same[1]]
