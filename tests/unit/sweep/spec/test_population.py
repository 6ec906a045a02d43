"""The keys of `method: {type: pbt, …}` and `{type: replay, …}`, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from podium.sweep.spec.population import PopulationBasedTraining
from podium.sweep.spec.sweep_spec import parse_spec, spec_from_json
from podium.sweep.values.errors import InvalidSpecError
from tests.specs import builtin_document, document

PBT: dict[str, Any] = {"type": "pbt", "population": 8, "interval": {"step": 5}}
SCHEDULE: list[dict[str, Any]] = [{"until": 4, "parameters": {"x": 0.5}}, {"parameters": {"x": 0.25}}]


def refusal(wanted: dict[str, Any]) -> str:
    with pytest.raises(InvalidSpecError) as refused:
        parse_spec(wanted)
    return str(refused.value)


def test_defaults_are_those_of_the_paper_and_of_ray_tune() -> None:
    spec = parse_spec(document(method=PBT, run_cap=None))
    method = spec.population
    assert isinstance(method, PopulationBasedTraining)
    assert (method.quantile, method.resample, method.perturb, method.fixed) == (0.25, 0.25, [0.8, 1.2], [])
    assert (spec.run_cap, spec.method_name, spec.searched_by) == (8, "pbt", "random")
    assert spec_from_json(spec.to_json()) == spec


def test_replay_runs_one_trial_with_the_first_configuration() -> None:
    spec = parse_spec(document(method={"type": "replay", "schedule": SCHEDULE}, run_cap=None))
    assert (spec.run_cap, spec.enqueue) == (1, [{"x": 0.5}])
    assert spec_from_json(spec.to_json()) == spec


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"method": "pbt"}, "method: needs its keys; for example, {type: pbt, population: 16"),
        ({"method": {"type": "tpe"}}, "method.type: must be pbt or replay, got 'tpe'"),
        ({"method": {"type": "pbt"}}, "method.population: is required"),
        ({"method": {**PBT, "population": 1}}, "method.population: must be at least 2"),
        ({"method": {**PBT, "interval": 5}}, "method.interval: must be a mapping, got 5; write {step: 5}"),
        ({"method": {**PBT, "interval": {"step": 0}}}, "method.interval.step: must be at least 1"),
        ({"method": {**PBT, "quantile": 0.6}}, "method.quantile: must be at most 0.5"),
        ({"method": {**PBT, "resample": 1.5}}, "method.resample: must be at most 1"),
        ({"method": {**PBT, "perturb": []}}, "method.perturb: must not be empty"),
        ({"method": {**PBT, "perturb": [0]}}, "method.perturb.0: must be greater than 0"),
        ({"method": {**PBT, "fixed": ["y"]}}, "method.fixed.0: unknown parameter 'y'"),
        ({"method": {**PBT, "fixed": ["x"]}}, "parameters: no parameter can change between two intervals"),
        ({"run_cap": 4}, r"run_cap: must equal method.population (8), got 4"),
        ({"early_terminate": {"type": "median"}}, "early_terminate: not valid with method: {type: pbt}"),
        ({"warm_start": [1]}, "warm_start: method: pbt does not use earlier trials"),
        ({"parameters": {}}, "parameters: method: {type: pbt} needs at least one parameter"),
        ({"enqueue": [{"y": 1}]}, "method: pbt needs all parameters in the sweep file"),
        (
            {"metrics": [{"name": "a", "goal": "minimize"}, {"name": "b", "goal": "minimize"}], "metric": None},
            "metrics: method: {type: pbt} supports one objective",
        ),
    ],
)
def test_what_does_not_fit_is_refused(changes: dict[str, Any], message: str) -> None:
    assert message in refusal(document(**{"method": PBT, "run_cap": None, **changes}))


@pytest.mark.parametrize(
    ("schedule", "message"),
    [
        ([], "method.schedule: must not be empty"),
        (
            [{"parameters": {"x": 0.5}}, {"parameters": {"x": 0.5}}],
            "method.schedule.0.until: required, except in the last",
        ),
        ([{"until": 4, "parameters": {"x": 0.5}}] * 2, "method.schedule.1.until: must be greater than 4, got 4"),
        ([{"parameters": {"x": 7.0}}], "method.schedule.0.parameters.x: must be between 0 and 1"),
        ([{"parameters": {"y": 7.0}}], "method.schedule.0.parameters.y: unknown parameter"),
        ([{"until": 4, "parameters": {"x": 0.5}}, {"parameters": {}}], "method.schedule.1.parameters.x: required"),
    ],
)
def test_a_schedule_that_cannot_be_followed_is_refused(schedule: list[dict[str, Any]], message: str) -> None:
    assert message in refusal(document(method={"type": "replay", "schedule": schedule}, run_cap=None))


def test_built_in_models_change_only_what_the_weights_do_not_depend_on() -> None:
    parameters = {"lr": {"min": 0.01, "max": 0.1}, "hidden": {"values": [8, 16]}, "epochs": {"min": 4, "max": 8}}
    spec = parse_spec(builtin_document(method=PBT, run_cap=None, parameters=parameters))
    assert isinstance(spec.population, PopulationBasedTraining)
    assert spec.population.explored(spec) == {"lr"}
    del parameters["lr"]
    only = refusal(builtin_document(method=PBT, run_cap=None, parameters=parameters))
    assert "Built-in models can change batch_size, dropout, lr, momentum, weight_decay" in only
    parameters["patience"] = {"min": 1, "max": 3}
    found = refusal(builtin_document(method=PBT, run_cap=None, parameters=parameters))
    assert "parameters.patience: not valid with method: {type: pbt}" in found
    folds = builtin_document(method=PBT, run_cap=None, validation={"folds": 3})
    assert "validation.folds: not valid with method: {type: pbt}" in refusal(folds)
