"""Ordered values: samplers search positions as integers, and all other code uses the values."""

from __future__ import annotations

import itertools
import random
from typing import Any

import pytest
from optuna.distributions import CategoricalDistribution, IntDistribution

from podium.sweep.search.sweep_search import Search
from podium.sweep.spec.search_space import Parameter
from podium.sweep.studies.parameter_importance import compute_importances
from podium.sweep.studies.study_conversion import to_study
from podium.sweep.values.attempt_assignment import AttemptKey, Params
from podium.sweep.values.errors import InvalidSpecError
from podium.sweep.values.search_messages import PastTrial, TrialPlan
from podium.sweep.values.slot_events import SuggestRequested
from podium.sweep.values.states import TrialState
from tests.specs import document, spec
from tests.unit.sweep.search.test_sweep_search import RESTARTS, Sweep

WIDTHS = [2**power for power in range(4, 12)]
SIZES = ["small", "medium", "large"]
SPACE: dict[str, Any] = {
    "lr": {"min": 1e-4, "max": 0.1, "log": True},
    "width": {"values": WIDTHS, "ordered": True},
    "size": {"values": SIZES, "ordered": True},
    "depth": {"values": [4, 2, 1], "ordered": True, "when": {"size": ["medium", "large"]}},
}
METHODS = ["tpe", "random", "qmc", "cmaes", "nsga2"]


def _ask(search: Search) -> TrialPlan:
    planned = search.ask()
    assert planned is not None
    return planned


@pytest.mark.parametrize("method", METHODS)
def test_trial_has_value_and_sampler_has_position(method: str) -> None:
    searched = spec(method=method, parameters=SPACE, enqueue=[{"width": 64, "size": "large"}])
    search = Search(searched)
    for number in range(20):
        planned = _ask(search)
        assert planned.params["width"] in WIDTHS and planned.params["size"] in SIZES
        assert ("depth" in planned.params) == (planned.params["size"] != "small")
        frozen = search.study[number]
        assert frozen.distributions["width"] == IntDistribution(0, 7)
        assert frozen.params["width"] == WIDTHS.index(planned.params["width"])
        assert search.past_trial(number).params == planned.params
        search.tell(number, TrialState.FINISHED, [random.Random(number).random()])
    assert search.past_trial(0).params["width"] == 64


@pytest.mark.parametrize("method", METHODS)
def test_rebuilt_search_continues_like_uninterrupted_one(method: str) -> None:
    searched = spec(method=method, seed=5, parameters=SPACE, run_cap=60)
    assert Sweep(searched, RESTARTS).play(45) == Sweep(searched).play(45)


def test_grid_contains_each_ordered_value() -> None:
    search = Search(spec(method="grid", parameters={name: SPACE[name] for name in ("width", "size", "depth")}))
    points = list(itertools.takewhile(lambda planned: planned is not None, (search.ask() for _ in range(100))))
    assert len(points) == 8 * (1 + 2 * 3)
    assert {point.params["width"] for point in points if point is not None} == set(WIDTHS)


def test_cmaes_moves_along_order() -> None:
    values = [f"step-{number}" for number in range(64)]
    searched = spec(method="cmaes", parameters={name: {"values": values, "ordered": True} for name in "ab"}, run_cap=90)
    search, late = Search(searched), []
    for number in range(90):
        params = _ask(search).params
        positions = [values.index(str(params[name])) for name in "ab"]
        search.tell(number, TrialState.FINISHED, [-abs(positions[0] - 50) - abs(positions[1] - 50)])
        late.append(max(abs(position - 50) for position in positions))
    assert sum(late[60:]) / 30 < 8  # about 25 at random


def test_warm_start_maps_unordered_values_to_positions() -> None:
    earlier = [
        PastTrial(n, TrialState.FINISHED, {"width": WIDTHS[n % 8], "size": "small", "lr": 0.01}, value=float(n))
        for n in range(12)
    ]
    search = Search(spec(method="tpe", parameters=SPACE), earlier=earlier)
    assert [trial.params["width"] for trial in search.earlier_frozen] == [n % 8 for n in range(12)]
    assert _ask(search).params["width"] in WIDTHS


def test_suggested_parameters_are_combined_with_ordered_values() -> None:
    search = Search(spec(method="tpe", parameters=SPACE))
    planned = _ask(search)
    request = SuggestRequested(AttemptKey(1, 1), "momentum", {"min": 0.0, "max": 0.9})
    value = search.suggest(0, request)
    remembered = search.past_trial(0)
    assert remembered.params == {**planned.params, "momentum": value}
    search.put(remembered)
    assert search.past_trial(0).params == remembered.params


def test_clone_keeps_ordered_values() -> None:
    wanted: Params = {"lr": 0.01, "width": 128, "size": "large", "depth": 2}
    planned = Search(spec(method="tpe", parameters=SPACE)).ask(wanted)
    assert planned is not None and planned.params == wanted


def test_exported_study_has_values() -> None:
    trial = {
        "number": 0, "state": "finished", "params": {"width": 64}, "values": {"score": 0.5}, "metrics": {},
        "created_at": "2026-01-01T00:00:00Z", "started_at": "2026-01-01T00:00:00Z", "ended_at": "2026-01-01T00:01:00Z",
    }  # fmt: skip
    searched = document(parameters={"width": SPACE["width"]})
    study = to_study({"name": "s", "spec": searched}, [trial])
    assert study.trials[0].params == {"width": 64}
    assert study.trials[0].distributions == {"width": CategoricalDistribution(WIDTHS)}


def test_importance_follows_order() -> None:
    chance = random.Random(1)
    trials = [{"params": {"width": chance.choice(WIDTHS), "noise": chance.random()}} for _ in range(60)]
    evaluated = [{**trial, "value": WIDTHS.index(int(trial["params"]["width"]))} for trial in trials]
    parameters = {"width": SPACE["width"], "noise": {"min": 0.0, "max": 1.0}}
    found = compute_importances({"parameters": parameters, "trials": evaluated})["importances"]
    assert list(found) == ["width", "noise"] and found["width"] > 0.9


@pytest.mark.parametrize(
    ("parameter", "key", "words"),
    [
        ({"min": 1, "max": 4, "ordered": True}, "parameters.x.ordered", "only valid with values"),
        ({"values": [1, 2], "probabilities": [1, 2], "ordered": True}, "parameters.x.ordered", "mutually exclusive"),
        ({"values": [1, 2, 1], "ordered": True}, "parameters.x.values", "duplicate value 1"),
        (
            {"values": [64, 16, 32], "ordered": True},
            "parameters.x.values",
            "must be ascending or descending; for example, [16, 32, 64]",
        ),
    ],
)
def test_values_without_order_are_rejected(parameter: dict[str, Any], key: str, words: str) -> None:
    with pytest.raises(InvalidSpecError) as caught:
        spec(parameters={"x": parameter})
    assert [problem.key for problem in caught.value.problems] == [key]
    assert words in caught.value.problems[0].message


def test_wandb_categorical_may_be_ordered() -> None:
    assert Parameter.model_validate({"distribution": "categorical", "values": [1, 2], "ordered": True}).ordered
