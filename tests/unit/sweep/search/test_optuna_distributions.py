"""W&B distribution names: their meaning, the drawn values, and errors with the fix."""

from __future__ import annotations

import json
import math
import statistics
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from podium.sweep.search.non_optuna_random_draws import draw
from podium.sweep.search.optuna_distributions import distribution_of
from podium.sweep.search.sweep_search import Search
from podium.sweep.spec.search_space import Parameter
from podium.sweep.spec.sweep_spec import parse_spec, spec_from_json
from podium.sweep.spec.wandb_distributions import KEYS
from podium.sweep.values.errors import InvalidSpecError
from podium.sweep.values.states import TrialState
from tests.specs import document, spec


def parameter(**keys: Any) -> Parameter:
    return spec(parameters={"p": keys}).parameters["p"]


@pytest.mark.parametrize(
    ("named", "plain"),
    [
        ({"distribution": "constant", "value": 3}, {"value": 3}),
        ({"distribution": "categorical", "values": [1, "a"]}, {"values": [1, "a"]}),
        ({"distribution": "int_uniform", "min": 1, "max": 9}, {"min": 1, "max": 9}),
        ({"distribution": "uniform", "min": 0, "max": 1}, {"min": 0.0, "max": 1.0}),
        ({"distribution": "q_uniform", "min": 0, "max": 10, "q": 2}, {"min": 0, "max": 10, "step": 2}),
        ({"distribution": "q_uniform", "min": 0, "max": 10}, {"min": 0, "max": 10, "step": 1}),
        ({"distribution": "q_uniform", "min": 0, "max": 1, "q": 0.25}, {"min": 0.0, "max": 1.0, "step": 0.25}),
        ({"distribution": "q_uniform", "min": 1, "max": 10, "q": 4}, {"min": 4, "max": 8, "step": 4}),
        ({"distribution": "q_uniform", "min": -5, "max": -1, "q": 2}, {"min": -4, "max": -2, "step": 2}),
        ({"distribution": "q_uniform", "min": 0.1, "max": 1, "q": 0.3}, {"min": 0.3, "max": 0.9, "step": 0.3}),
        ({"distribution": "q_uniform", "min": 3, "max": 5, "q": 4}, {"min": 4, "max": 4, "step": 4}),
        ({"distribution": "log_uniform_values", "min": 1, "max": 100}, {"min": 1.0, "max": 100.0, "log": True}),
        ({"distribution": "inv_log_uniform_values", "min": 1e-4, "max": 1}, {"min": 1e-4, "max": 1.0, "log": True}),
        ({"distribution": "q_log_uniform_values", "min": 8, "max": 256}, {"min": 8, "max": 256, "log": True}),
        ({"distribution": "q_log_uniform_values", "min": 8.5, "max": 9.9}, {"min": 9, "max": 9, "log": True}),
        (
            {"distribution": "log_uniform", "min": -9, "max": -2},
            {"min": math.exp(-9), "max": math.exp(-2), "log": True},
        ),
        (
            {"distribution": "inv_log_uniform", "min": 2, "max": 9},
            {"min": math.exp(-9), "max": math.exp(-2), "log": True},
        ),
        ({"distribution": "q_log_uniform", "min": 0, "max": 3, "q": 1}, {"min": 1, "max": 20, "log": True}),
    ],
)
def test_most_names_are_shorthand_for_range_or_list(named: dict[str, Any], plain: dict[str, Any]) -> None:
    assert parameter(**named) == parameter(**plain)
    assert not parameter(**named).is_custom_distribution


def test_condition_of_named_distribution_is_kept() -> None:
    parameters = {"o": {"values": ["a", "b"]}, "p": {"distribution": "uniform", "min": 0, "max": 1, "when": {"o": "a"}}}
    assert spec(parameters=parameters).parameters["p"].when == {"o": "a"}


DRAWN: list[dict[str, Any]] = [
    {"distribution": "normal", "mu": 3.0, "sigma": 0.5},
    {"distribution": "q_normal", "mu": 3.0, "sigma": 2.0, "q": 0.5},
    {"distribution": "log_normal", "mu": 0.0, "sigma": 0.5},
    {"distribution": "q_log_normal", "mu": 2.0, "sigma": 0.5, "q": 1},
    {"distribution": "beta", "a": 2, "b": 5},
    {"distribution": "q_beta", "a": 2, "b": 5, "q": 0.1},
    {"distribution": "q_log_uniform_values", "min": 8, "max": 256, "q": 8},
    {"distribution": "categorical", "values": [1, 2, 3], "probabilities": [0.8, 0.2, 0.0]},
    {"values": [1, 2, 3], "probabilities": [0.8, 0.2, 0.0]},
]


@pytest.mark.parametrize("keys", DRAWN, ids=lambda keys: keys.get("distribution", "weighted"))
def test_distribution_unknown_to_optuna_is_drawn_and_valid(keys: dict[str, Any]) -> None:
    drawn = parameter(**keys)
    assert drawn.is_custom_distribution
    assert distribution_of(drawn) is None
    values = [draw(drawn, f"7:{number}:p") for number in range(300)]
    assert len(set(values)) > 1
    assert values == [draw(drawn, f"7:{number}:p") for number in range(300)]
    assert [complaint for value in values if (complaint := drawn.invalid_reason(value))] == []


def _mean(keys: dict[str, Any]) -> float:
    drawn = parameter(**keys)
    values = [draw(drawn, f"{number}") for number in range(3000)]
    return statistics.fmean(float(value or 0) for value in values)


def test_draws_have_moments_of_their_distribution() -> None:
    assert _mean(DRAWN[0]) == pytest.approx(3.0, abs=0.05)
    assert _mean(DRAWN[2]) == pytest.approx(math.exp(0.125), rel=0.05)
    assert _mean(DRAWN[4]) == pytest.approx(2 / 7, abs=0.02)
    assert _mean(DRAWN[7]) == pytest.approx(1.2, abs=0.05)


def test_multiples_are_integers_within_bounds() -> None:
    multiples = parameter(**DRAWN[6])
    values = {draw(multiples, f"{number}") for number in range(500)}
    assert all(isinstance(value, int) and value % 8 == 0 and 8 <= value <= 256 for value in values)


def test_multiples_beyond_exact_integers_are_floats() -> None:
    far = parameter(distribution="q_log_normal", mu=100.0, sigma=1.0, q=1)
    assert all(isinstance(draw(far, f"{number}"), float) for number in range(20))


@pytest.mark.parametrize("method", ["random", "auto"])
def test_drawn_values_are_reproducible_after_restart(method: str) -> None:
    drawn = spec(method=method, parameters={"x": {"min": 0.0, "max": 1.0}, "n": DRAWN[0], "w": DRAWN[7]}, seed=5)
    search = Search(drawn)
    asked = [search.ask() for _ in range(6)]
    assert all(planned is not None and planned.params.keys() == {"x", "n", "w"} for planned in asked)
    again = Search(drawn)
    assert [again.ask() for _ in range(6)] == asked
    search.tell(0, TrialState.FINISHED, [0.5])
    assert search.ask({"n": 2.5, "w": 2}).params["n"] == 2.5  # type: ignore[union-attr]


@given(st.sampled_from(DRAWN), st.integers(0, 2**63 - 1))
def test_draw_is_determined_by_seed(keys: dict[str, Any], seed: int) -> None:
    assert draw(parameter(**keys), str(seed)) == draw(parameter(**keys), str(seed))


@pytest.mark.parametrize("keys", DRAWN, ids=lambda keys: keys.get("distribution", "weighted"))
def test_spec_with_distribution_survives_json_round_trip(keys: dict[str, Any]) -> None:
    parsed = spec(parameters={"p": keys})
    assert spec_from_json(parsed.to_json()) == parsed
    json.loads(parsed.to_json())


def _one(method: str = "random", **keys: Any) -> dict[str, Any]:
    return document(method=method, parameters={"p": keys})


@pytest.mark.parametrize(
    ("refused", "key", "words"),
    [
        (_one(distribution="log_uniform", min=1e-5, max=0.1), "min", "write {min: 1e-05, max: 0.1, log: true}"),
        (_one(distribution="log_uniform", min=16, max=256), "min", "log_uniform takes exponents"),
        (_one(distribution="q_log_uniform", min=16, max=256, q=8), "min", "distribution: q_log_uniform_values"),
        (_one(distribution="log_uniform", min=-800, max=800), "max", "overflows a float"),
        (_one(distribution="log_uniform_values", min=0, max=1), "min", "must be greater than 0"),
        (_one(distribution="q_log_uniform_values", min=0, max=1), "min", "must be greater than 0"),
        (_one(distribution="q_log_uniform_values", min=9, max=15, q=8), "q", "no multiple of 8"),
        (_one(distribution="int_uniform", min=0.5, max=2), "min", "must be an integer"),
        (_one(distribution="uniform", min=0), "", "requires max"),
        (_one(distribution="uniform", min="a", max=2), "min", "must be a finite number, got 'a'"),
        (_one(distribution="uniform", min=0, max=1, sigma=2), "sigma", "not a key of distribution: uniform"),
        (_one(distribution="normal", mu=0, sigma=-1), "sigma", "must be greater than 0"),
        (_one(distribution="normal", mu=10**400), "mu", "401 digits"),
        (_one(distribution="normal", mu=2**54), "mu", "at most 2**53"),
        (_one(distribution="normal", mu=1.7e308, sigma=1.7e308), "mu", "too large"),
        (_one(distribution="log_normal", mu=1000), "mu", "they apply to the logarithm"),
        (_one(distribution="log_normal", mu=-1000), "mu", "too large"),
        (_one(distribution="q_normal", q=1e-320), "q", "too small for values up to 10"),
        (_one(distribution="q_beta", a=1, b=1, q=1e-320), "q", "too small"),
        (_one(distribution="q_uniform", min=5, max=7, q=4), "q", "no multiple of 4 lies between 5 and 7"),
        (_one(distribution="q_uniform", min=9, max=7, q=4), "min", "must not exceed max"),
        (_one(distribution="q_uniform", min=0.0, max=1.0, q=1e-320), "step", "too small for the range"),
        (_one(distribution="q_uniform", min=0.0, max=1.0, q=10**400), "q", "401 digits"),
        (
            _one(distribution="q_log_uniform_values", min=1.0, max=10.0, q=1e-320),
            "q",
            "a bound of 10; for example, q: 1",
        ),
        (_one(distribution="uniform", min=10**400, max=1), "min", "401 digits"),
        (_one(distribution="beta", a=1e308, b=1.0), "a", "at most 1e+09"),
        (_one(distribution="beta", a=1.0, b=1e308), "b", "at most 1e+09"),
        (_one(values=[1, 2], probabilities=[1e308, 1e308]), "probabilities", "divide each by 1e+308"),
        (_one(distribution="q_normal", mu=0, sigma=1), "", "for example, q: 1"),
        (_one(distribution="gaussian", mu=0), "distribution", "normal, q_normal"),
        (_one(mu=0, sigma=1), "mu", "distribution: normal"),
        (
            _one(values=[1, 2], probabilities=[0.5]),
            "probabilities",
            "must have one entry for each of the 2 values, got 1",
        ),
        (_one(values=[1, 2], probabilities=[0.0, 0.0]), "probabilities", "at least one must be greater than 0"),
        (_one(value=1, probabilities=[1.0]), "probabilities", "only valid with values"),
        (_one("tpe", distribution="normal", mu=1.0, sigma=0.5), "", "or use a range: {min: 0, max: 2}"),
        (_one("grid", distribution="beta", a=1, b=2), "", "method: grid needs a finite number of values"),
        (_one("gp", distribution="beta", a=1, b=2), "", "{min: 0.0, max: 1.0}"),
        (_one("tpe", values=[1, 2], probabilities=[0.5, 0.5]), "", "probabilities need method: random"),
        (_one("tpe", distribution="q_log_uniform_values", min=8, max=64, q=8), "", "{min: 8, max: 64, log: true}"),
    ],
)
def test_invalid_distribution_is_rejected_with_fix(refused: dict[str, Any], key: str, words: str) -> None:
    with pytest.raises(InvalidSpecError) as caught:
        parse_spec(refused)
    problem = caught.value.problems[0]
    assert problem.key == f"parameters.p.{key}".rstrip(".")
    assert words in problem.message, problem.message


def test_every_name_has_its_keys() -> None:
    names = Parameter.model_json_schema()["properties"]["distribution"]["anyOf"][0]["enum"]
    assert set(names) == set(KEYS)


# Methods.


@pytest.mark.parametrize(
    ("changes", "method"),
    [
        ({"run_cap": 60}, "gp"),
        ({"run_cap": 101}, "tpe"),
        ({"run_cap": 1000}, "cmaes"),
        ({"run_cap": 1000, "parameters": {"x": {"values": ["a", "b"]}}}, "tpe"),
        ({"parameters": {"x": {"values": [1, 2]}, "y": {"min": 0.0, "max": 1.0, "when": {"x": 1}}}}, "tpe"),
        ({"parameters": {"x": DRAWN[0]}}, "random"),
        ({"run_cap": 60, "parameters": {f"x{n}": {"min": 0.0, "max": 1.0} for n in range(21)}}, "tpe"),
    ],
)
def test_auto_selects_method_and_records_it_on_each_trial(changes: dict[str, Any], method: str) -> None:
    search = Search(spec(method="auto", **changes))
    planned = search.ask()
    assert planned is not None and planned.sampler == method


@pytest.mark.parametrize(("run_cap", "method"), [(60, "tpe"), (1000, "nsga2")])
def test_auto_selects_method_for_several_objectives(run_cap: int, method: str) -> None:
    two = [{"name": "score", "goal": "maximize"}, {"name": "size", "goal": "minimize"}]
    assert spec(method="auto", metric=None, metrics=two, run_cap=run_cap).searched_by == method


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"metric": None, "metrics": [{"name": n, "goal": "minimize"} for n in "ab"]}, "cmaes supports one objective"),
        ({"parameters": {"x": {"values": [1, 2]}}}, "cmaes needs a range or ordered values"),
    ],
)
def test_cmaes_is_rejected_when_unsupported(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidSpecError, match=words):
        spec(method="cmaes", **changes)


_ANY = st.one_of(st.integers(-(2**70), 2**70), st.floats())


@given(
    st.sampled_from(sorted(name for name, keys in KEYS.items() if {"mu", "a", "q"} & set(keys))),
    st.fixed_dictionaries(dict.fromkeys(("min", "max", "mu", "sigma", "a", "b", "q"), _ANY)),
)
@example("q_log_uniform_values", {"min": 9e307, "max": 0, "q": 0.5})  # min / q is infinite
@example("q_log_uniform_values", {"min": 1.2e-308, "max": 1.0, "q": 2.0**52})  # min / q is 0
@example("q_log_uniform_values", {"min": 1e-308, "max": 1e305, "q": 1e300})  # the same, with multiples in the range
def test_accepted_distribution_can_be_drawn_and_validated(name: str, numbers: dict[str, Any]) -> None:
    keys = {"distribution": name} | {key: value for key, value in numbers.items() if key in KEYS[name]}
    try:
        parsed = parse_spec(_one(**keys))
    except InvalidSpecError:
        return
    assert spec_from_json(parsed.to_json()) == parsed
    accepted = parsed.parameters["p"]
    for number in range(20 if accepted.is_custom_distribution else 0):
        value = draw(accepted, str(number))
        assert accepted.invalid_reason(value) is None, value
        json.dumps(value, allow_nan=False)
