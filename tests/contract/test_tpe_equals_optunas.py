"""TPE proposes what `optuna.samplers.TPESampler` proposes, for the same trials."""

from __future__ import annotations

import functools
import math
import random
from typing import Any

import numpy as np
import pytest
from optuna.samplers import TPESampler

from podium.sweep.search.optuna_study import Study
from podium.sweep.search.sweep_search import Search
from podium.sweep.search.trials_bounding_proposal_time import SearchLimits
from podium.sweep.values.attempt_assignment import Params
from podium.sweep.values.search_messages import PastTrial
from podium.sweep.values.states import TrialState
from tests.specs import spec

NUMBERS = {
    "a": {"min": 0.0, "max": 1.0},
    "b": {"min": 1e-5, "max": 1e-1, "distribution": "log_uniform_values"},
    "c": {"min": -5.0, "max": 5.0},
}
MIXED = {**NUMBERS, "kind": {"values": ["x", "y", "z"]}, "flag": {"values": [True, False]}}
CONDITIONAL = {**MIXED, "d": {"min": 0.0, "max": 1.0, "when": {"kind": "x"}}}
WIDE = {"n": {"min": 1, "max": 100_000}, "units": {"min": 16, "max": 1024, "log": True}, **NUMBERS}
STEPPED = {"n": {"min": 1, "max": 9}, "layers": {"min": 1, "max": 300, "log": True}, **NUMBERS}


METRIC = {"name": "score", "goal": "minimize"}


def _value(params: Any) -> float:
    found = (float(params["a"]) - 0.3) ** 2 + (math.log(float(params["b"])) + 5) ** 2 / 40 + abs(float(params["c"]) - 1)
    return float(found + (params.get("kind") == "y") + float(params.get("d") or 0.0))


@pytest.fixture
def optunas(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Asks Optuna's sampler instead. Its order of equal values depends on the processor; here it is that of trials."""
    stable = functools.partial(np.argsort, kind="stable")

    def ask(search: Search) -> Any:
        with monkeypatch.context() as patch:
            patch.setattr(np, "argsort", stable)
            patch.setattr(Study, "build_tpe", lambda _, seed: TPESampler(seed=seed))
            return search.ask()

    return ask


def _assert_equal(found: Params, expected: Params) -> None:
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        assert found[name] == (pytest.approx(value, rel=1e-7) if isinstance(value, float) else value), name


@pytest.mark.parametrize("goal", ["minimize", pytest.param("maximize", marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    ("parameters", "trials"),
    [
        pytest.param(NUMBERS, 160, marks=pytest.mark.slow),
        pytest.param(MIXED, 160, marks=pytest.mark.slow),
        (CONDITIONAL, 160),
        pytest.param(WIDE, 240, marks=pytest.mark.slow),
    ],
    ids=["numbers", "mixed", "conditional", "wide"],
)
def test_same_proposals_throughout_a_sweep(parameters: Any, trials: int, goal: str, optunas: Any) -> None:
    """With trials that run at the same time, fail, are pruned, violate a constraint, and are retried."""
    searched = spec(method="tpe", seed=7, metric={"name": "score", "goal": goal}, parameters=parameters, run_cap=trials)
    one, other = Search(searched), Search(searched)
    rng, running = random.Random(1), []
    for _ in range(trials):
        found, expected = one.ask(), optunas(other)
        assert found is not None
        _assert_equal(found.params, expected.params)
        running.append(found)
        if len(running) < 4:
            continue
        ended = running.pop(rng.randrange(4))
        value = _value(ended.params) * (1 if goal == "minimize" else -1)
        kind, step = rng.random(), rng.randrange(1, 3)
        for search in (one, other):
            if kind < 0.1:
                search.tell(ended.number, TrialState.FAILED, None)
            elif kind < 0.15:
                search.tell(ended.number, TrialState.FINISHED, [value])
                search.retry(ended.number)
            elif kind < 0.25:
                search.report(ended.number, step, value)
                search.tell(ended.number, TrialState.PRUNED, None)
            else:
                violated = {"size": 1.0 if kind < 0.35 else -1.0}
                search.tell(ended.number, TrialState.FINISHED, [value], constraints=violated)


@pytest.mark.parametrize("before", [40, 1500])
def test_same_proposals_over_a_grid(before: int, optunas: Any) -> None:
    searched = spec(method="tpe", seed=3, metric=METRIC, parameters=STEPPED, run_cap=2000)
    rng, past = random.Random(2), []
    for number in range(before):
        params: Params = {
            "n": rng.randint(1, 9), "layers": int(300 ** rng.random()), "a": rng.random(),
            "b": 10 ** rng.uniform(-5, -1), "c": rng.uniform(-5, 5),
        }  # fmt: skip
        past.append(PastTrial(number, TrialState.FINISHED, params, values=(_value(params),), sampler="tpe"))
    one, other = Search(searched, past), Search(searched, past)
    for _ in range(12):
        found, expected = one.ask(), optunas(other)
        assert found is not None
        _assert_equal(found.params, expected.params)
        for search in (one, other):
            search.tell(found.number, TrialState.FINISHED, [_value(found.params)])


def _value_of_choices(params: Params) -> int:
    """A value that depends on all parameters."""
    return sum((index + 1) * ord(str(value)) for index, value in enumerate(params.values())) % 97


CHOICES = {name: {"values": list("abcdefgh")} for name in ("first", "second")}


@pytest.mark.parametrize("parameters", [CONDITIONAL, CHOICES], ids=["conditional", "choices"])
def test_rebuilt_search_proposes_the_same(parameters: Any) -> None:
    searched = spec(method="tpe", seed=5, metric=METRIC, parameters=parameters, run_cap=400)
    search = Search(searched)
    for number in range(250):
        planned = search.ask()
        assert planned is not None
        if number % 9:
            value = _value(planned.params) if "a" in planned.params else float(_value_of_choices(planned.params))
            search.tell(number, TrialState.FINISHED, [value])
    for _ in range(5):
        rebuilt = Search(searched, list(search.past_trials()))
        found, expected = rebuilt.ask(), search.ask()
        assert found is not None and expected is not None
        _assert_equal(found.params, expected.params)


def test_history_beyond_the_window_counts_among_the_best_only() -> None:
    """Old trials that are not among the best do not change a proposal; the best of all do."""
    searched = spec(method="tpe", seed=5, metric=METRIC, parameters=NUMBERS, run_cap=900)
    rng = random.Random(1)
    shares = [rng.random() for _ in range(600)]

    def past(old: float) -> list[PastTrial]:
        """`old`: the value of a parameter of the old trials, which are bad, except for the first 20."""
        trials = []
        for number in range(600):
            params: Params = {"a": shares[number], "b": 1e-3, "c": old if 20 <= number < 400 else 0.5}
            value = 0.01 * number if number < 20 else 10.0 + shares[number] + (number < 400)
            trials.append(PastTrial(number, TrialState.FINISHED, params, values=(value,), sampler="tpe"))
        return trials

    def proposed(old: float, window: int) -> Params:
        planned = Search(searched, past(old), limits=SearchLimits(tpe_window=window)).ask()
        assert planned is not None
        return planned.params

    assert proposed(0.4, window=150) == proposed(0.6, window=150)
    assert proposed(0.4, window=10_000) != proposed(0.6, window=10_000)
