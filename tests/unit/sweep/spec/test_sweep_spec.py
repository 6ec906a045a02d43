"""The sweep spec: a valid one survives a round trip; an invalid one is rejected with its key and a fix."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podium.sweep.spec.program import FunctionProgram
from podium.sweep.spec.search_space import Parameter
from podium.sweep.spec.sweep_spec import MAX_ENQUEUED, MAX_PARAMETERS, SweepSpec, parse_spec, spec_from_json
from podium.sweep.values.errors import InvalidSpecError
from tests.specs import builtin_document, document, spec

# Round trip.

_NUMBERS = st.floats(-1e6, 1e6, allow_nan=False)
_SCALARS = st.one_of(st.none(), st.booleans(), st.integers(-(10**9), 10**9), _NUMBERS, st.text(max_size=8))
_RANGES = st.one_of(
    st.tuples(st.integers(-100, 100), st.integers(0, 100)).map(lambda pair: {"min": pair[0], "max": sum(pair)}),
    st.tuples(_NUMBERS, st.floats(0, 1e6)).map(lambda pair: {"min": pair[0], "max": pair[0] + pair[1]}),
    st.tuples(st.floats(1e-9, 1.0), st.floats(0, 1e6)).map(
        lambda pair: {"min": pair[0], "max": pair[0] + pair[1], "log": True}
    ),
    st.tuples(st.integers(-900, 900), st.integers(1, 500), st.integers(1, 50), st.sampled_from([10, 100, 1000])).map(
        lambda each: {"min": each[0] / each[3], "max": (each[0] + each[1]) / each[3], "step": each[2] / each[3]}
    ),
    st.tuples(st.integers(-9, 9), st.integers(1, 9)).map(lambda pair: {"min": pair[0], "max": 99, "step": pair[1]}),
)
_PARAMETERS = st.one_of(
    st.builds(lambda value: {"value": value}, _SCALARS),
    st.builds(lambda values: {"values": values}, st.lists(_SCALARS, min_size=1, max_size=5)),
    _RANGES,
)


@st.composite
def documents(draw: st.DrawFn) -> dict[str, Any]:
    """Valid sweep files, with conditions and enqueued values that fit them."""
    names = draw(st.lists(st.text(min_size=1, max_size=6), min_size=1, max_size=4, unique=True))
    parameters = {name: dict(draw(_PARAMETERS)) for name in names}
    if "value" in parameters[names[0]]:
        for name in names[1:]:
            parameters[name] |= draw(st.sampled_from([{}, {"when": {names[0]: parameters[names[0]]["value"]}}]))
    optional: dict[str, st.SearchStrategy[Any]] = {
        "seed": st.integers(0, 2**63 - 1),
        "method": st.sampled_from(["tpe", "random", "bayes"]),
        "run_cap": st.integers(1, 10**6),
        "early_terminate": st.fixed_dictionaries(
            {"type": st.sampled_from(["asha", "hyperband", "none"])}, optional={"eta": st.integers(2, 9)}
        ),
        "limits": st.fixed_dictionaries({}, optional={"trial_s": st.floats(0.1, 1e6), "grace_s": st.floats(0, 300)}),
        "retries": st.fixed_dictionaries({}, optional={"user": st.integers(0, 100)}),
        "resources": st.fixed_dictionaries({}, optional={"threads": st.integers(1, 1024)}),
        "enqueue": st.just([{n: p["value"] for n, p in parameters.items() if "value" in p}]),
    }
    chosen = draw(st.fixed_dictionaries({}, optional=optional))
    return document(method=None, parameters=parameters) | chosen


@given(documents())
def test_spec_survives_json_round_trips(plain: dict[str, Any]) -> None:
    parsed = parse_spec(plain)
    assert spec_from_json(parsed.to_json()) == parsed
    assert parse_spec(json.loads(json.dumps(plain))) == parsed
    assert parsed.to_json() == spec_from_json(parsed.to_json()).to_json()


def test_defaults_match_documentation() -> None:
    parsed = parse_spec(document(method=None, run_cap=None))
    assert (parsed.method, parsed.seed, parsed.run_cap, parsed.early_terminate.type) == ("tpe", 0, 60, "none")
    assert parsed.validation.split == (0.7, 0.1, 0.1, 0.1)
    assert (parsed.retries.infrastructure, parsed.retries.user) == (3, 0)


def test_bayes_is_an_alias_of_tpe() -> None:
    assert spec(method="bayes").method == "tpe"


def test_json_schema_has_required_keys() -> None:
    assert set(SweepSpec.model_json_schema()["required"]) == {"name", "metric", "program"}


# Invalid specs.


def _x(**parameter: Any) -> dict[str, Any]:
    return document(parameters={"x": parameter})


def _values_combined(**ensemble: Any) -> dict[str, Any]:
    return builtin_document(**_DIABETES, metric=_RMSE, ensemble=ensemble)


_DIGITS = {"model": "mlp", "data": {"name": "digits"}}
_DIABETES = {"program": {"model": "mlp", "data": {"name": "diabetes"}}}
_RMSE = {"name": "val_rmse", "goal": "minimize"}
_CYCLE = {"a": {"value": 1, "when": {"b": 1}}, "b": {"value": 1, "when": {"a": 1}}}
_BIG = {name: {"min": 0, "max": 10**9} for name in "xyz"}
_NORMAL = {"x": {"distribution": "normal"}}
_CONDITIONAL: dict[str, Any] = {
    "o": {"values": ["adam", "sgd"]},
    "m": {"min": 0.0, "max": 0.9, "when": {"o": "sgd"}},
    "n": {"values": [1, 2], "when": {"m": [0.5, 0.9]}},
}
_SCRIPT = {"script": "train.py"}
_HYPERBAND = {"type": "hyperband", "max_iter": 81}
_PATIENT = {"type": "patient", "patience": 3}

BAD: list[tuple[str, dict[str, Any], str, str]] = [
    ("unknown key", document(metrik=1), "metrik", "unknown key 'metrik'; did you mean 'metric'?"),
    ("far from any key", document(zzz=1), "zzz", "known: after, budget, description, early_terminate, enqueue"),
    ("unknown key below", _x(min=0, max=1, lgo=True), "parameters.x.lgo", "did you mean 'log'?"),
    ("unknown program key", builtin_document(program=_DIGITS | {"modle": 1}), "program.modle", "did you mean 'model'?"),
    ("no metric", document(metric=None), "metric", "is required"),
    ("no parameters", builtin_document(parameters={}), "parameters", "at least one"),
    ("no goal", document(metric={"name": "m"}), "metric.goal", "is required"),
    ("a wrong goal", document(metric={"name": "m", "goal": "max"}), "metric.goal", "did you mean 'maximize'?"),
    ("a wrong type", document(run_cap="12"), "run_cap", "must be an integer, got '12'; remove the quotes"),
    ("a bool for a number", document(run_cap=True), "run_cap", "must be an integer"),
    ("run_cap too small", document(run_cap=0), "run_cap", "must be at least 1, got 0"),
    ("an infinite target", document(metric={"name": "m", "goal": "minimize", "target": math.inf}), "metric.target",
     "finite"),
    ("seed too big", document(seed=2**63), "seed", "must be less than"),
    ("min above max", _x(min=2, max=1), "parameters.x.min", "min (2) must not exceed max (1)"),
    ("log from 0", _x(min=0.0, max=1.0, log=True), "parameters.x.min", "must be greater than 0 on a log scale"),
    ("min without max", _x(min=0), "parameters.x", "min requires max, which is missing"),
    ("an infinite end", _x(min=0.0, max=math.inf), "parameters.x.max", "must be a finite number, got inf"),
    ("no kind", _x(), "parameters.x", "exactly one of"),
    ("two kinds", _x(value=1, values=[1]), "parameters.x", "exactly one of"),
    ("an empty list", _x(values=[]), "parameters.x.values", "must not be empty"),
    ("log on a list", _x(values=[1], log=True), "parameters.x", "log and step are only valid with min and max"),
    ("log and step", _x(min=1, max=9, log=True, step=2), "parameters.x.step", "mutually exclusive"),
    ("step of 0", _x(min=1, max=9, step=0), "parameters.x.step", "must be greater than 0, got 0"),
    ("a fractional step of integers", _x(min=1, max=9, step=0.5), "parameters.x.step",
     "must be an integer in an integer range, got 0.5"),
    ("unknown model", builtin_document(program={"model": "mpl", "data": {"name": "digits"}}), "program.model",
     "unknown model 'mpl'; did you mean 'mlp'?"),
    ("unknown data", builtin_document(program={"model": "mlp", "data": {"name": "digit"}}), "program.data.name",
     "did you mean 'digits'?"),
    ("no root", builtin_document(program={"model": "mlp", "data": {"name": "mnist"}}), "program.data.root", "folder"),
    ("no colon", document(program={"function": "train.objective"}), "program.function", "such as train:objective"),
    ("unknown setting", builtin_document(parameters={"learning": {"value": 1}}), "parameters.learning",
     "mlp has no setting 'learning'; "),
    ("a setting out of bounds", builtin_document(parameters={"dropout": {"min": 0.0, "max": 2.0}}),
     "parameters.dropout", "must be at most 0.95, got 2.0"),
    ("a wrong choice", builtin_document(parameters={"optimizer": {"values": ["adm"]}}), "parameters.optimizer",
     "must be one of adam, adamw, sgd; got 'adm'"),
    ("a metric that is not reported", builtin_document(metric={"name": "acc", "goal": "maximize"}), "metric.name",
     "built-in models report val_accuracy, val_loss on digits; got 'acc'"),
    ("a metric of classes for values", builtin_document(**_DIABETES), "metric.name",
     "built-in models report val_rmse, val_mae, val_loss on diabetes; got 'val_accuracy'"),
    ("a metric of values for classes", builtin_document(metric={"name": "val_rmse", "goal": "minimize"}),
     "metric.name", "val_accuracy, val_loss on digits; got 'val_rmse'"),
    ("an error to maximize", builtin_document(**_DIABETES, metric={"name": "val_rmse", "goal": "maximize"}),
     "metric.goal", "must be minimize for val_rmse, got maximize"),
    ("an accuracy to minimize", builtin_document(metric={"name": "val_accuracy", "goal": "minimize"}),
     "metric.goal", "must be maximize for val_accuracy, got minimize"),
    ("a table for a cnn", builtin_document(program={"model": "cnn", "data": {"name": "diabetes"}}), "program.model",
     "cnn needs images, but diabetes is tabular; use mlp"),
    ("a vote on values", _values_combined(combine="hard_vote"), "ensemble.combine",
     "hard_vote needs classification, but diabetes is regression; supported: mean, median, stacking"),
    ("a temperature of values", _values_combined(calibrate=True), "ensemble.calibrate",
     "needs classification, but diabetes is regression"),
    ("a cycle", document(parameters=_CYCLE), "parameters", "form a cycle"),
    ("its own condition", _x(value=1, when={"x": 1}), "parameters", "form a cycle"),
    ("an unknown condition", _x(value=1, when={"xx": 1}), "parameters.x.when",
     "unknown parameter 'xx'; did you mean 'x'?"),
    ("a condition that never holds", document(parameters={"x": {"value": 1}, "y": {"value": 1, "when": {"x": [1, 2]}}}),
     "parameters.y.when", "x: must be one of [1], got 2"),
    ("a continuous grid", document(method="grid"), "parameters.x", "method: grid needs a finite number of values"),
    ("a big grid", document(method="grid", parameters=_BIG), "parameters",
     "more than 1,000,000,000,000,000,000 points; use method: random"),
    ("enqueued out of range", document(enqueue=[{"x": 0.5}, {"x": 1.5}]), "enqueue.1.x",
     "must be between 0 and 1, got 1.5"),
    ("enqueued text", document(enqueue=[{"x": "big"}]), "enqueue.0.x", "must be a number, got 'big'"),
    ("enqueued, huge", document(parameters=_NORMAL, enqueue=[{"x": 10**400}]), "enqueue.0.x", "2**"),
    ("enqueued, not exact", document(parameters=_NORMAL, enqueue=[{"x": 2**54}]), "enqueue.0.x", "2**53"),
    ("enqueued infinity", document(parameters=_NORMAL, enqueue=[{"x": math.inf}]), "enqueue.0.x",
     "must be a finite number, got inf"),
    ("enqueued NaN", document(enqueue=[{"x": math.nan}]), "enqueue.0.x", "must be a finite number, got nan"),
    ("a condition on a huge value", document(parameters=_NORMAL | {"y": {"value": 1, "when": {"x": 2**54}}}),
     "parameters.y.when", "2**"),
    ("enqueued, inactive", document(parameters=_CONDITIONAL, enqueue=[{"o": "adam", "m": 0.9}]), "enqueue.0.m",
     "active only if o is 'sgd', but o is 'adam' here; remove it or change o"),
    ("enqueued, inactive with another", document(parameters=_CONDITIONAL, enqueue=[{"o": "adam", "n": 1}]),
     "enqueue.0.n", "active only if m is one of [0.5, 0.9], but m is inactive here; remove it"),
    ("enqueued, between others", document(parameters=_CONDITIONAL, enqueue=[{"n": 1, "m": 0.7}]), "enqueue.0.n",
     "active only if m is one of [0.5, 0.9], but m is 0.7 here"),
    ("a condition on nothing", document(parameters=_CONDITIONAL | {"p": {"value": 1, "when": {"o": []}}}),
     "parameters.p.when.o", "must not be empty"),
    ("enqueued unknown", builtin_document(enqueue=[{"lrr": 1.0}]), "enqueue.0.lrr", "did you mean 'lr'?"),
    ("fractions that do not sum to 1", document(validation={"split": [0.5, 0.1, 0.1, 0.1]}), "validation.split",
     "sum to 1, got a sum of 0.8"),
    ("a fraction of 0", document(validation={"split": [1.0, 0.0, 0.0, 0.0]}), "validation.split",
     "must be greater than 0"),
    ("eta of 1", document(early_terminate={"type": "asha", "eta": 1}), "early_terminate.eta", "2"),
    ("more rungs than steps", document(early_terminate=_HYPERBAND | {"s": 2**60}), "early_terminate.s",
     "max_iter: 81 with eta: 3 allows at most 4 rungs"),
    ("one rung too many", document(early_terminate=_HYPERBAND | {"s": 5}), "early_terminate.s", "write s: 4 or less"),
    ("no rung below", document(early_terminate=_HYPERBAND | {"s": 1, "eta": 82}), "early_terminate.s", "lower eta"),
    ("rungs of a wrapped rule", document(early_terminate=_PATIENT | {"wrap": _HYPERBAND | {"s": 5}}),
     "early_terminate.wrap.s", "write s: 4 or less"),
    ("a huge step", document(early_terminate={"type": "asha", "min_iter": 2**54}), "early_terminate.min_iter",
     "at most"),
    ("no bound on starting", document(limits={"start_s": math.inf}), "limits.start_s",
     "must be a finite number, got inf"),
    ("infinite memory", document(limits={"memory_mb": math.inf}), "limits.memory_mb", "must be a finite number"),
    ("a split of NaN", document(validation={"split": [math.nan] * 4}), "validation.split.0", "must be a finite number"),
    ("a priority of NaN", document(priority=math.nan), "priority", "must be a finite number"),
    ("a condition on NaN", document(parameters=_NORMAL | {"y": {"value": 1, "when": {"x": math.nan}}}),
     "parameters.y.when.x", "must be a finite number"),
    ("too large to be stored", document(budget={"plateau": {"trials": 2**64}}), "budget.plateau.trials",
     "must be at most 2**63 in absolute value, got 18446744073709551616"),
    ("too many digits", document(keep={"models": 10**9999}), "keep.models", "a number with about 10000 digits"),
    ("lone surrogate", _x(values=["a", "\ud800"]), "parameters.x.values.1", "contains a lone surrogate, '\\ud800'"),
    ("a lone surrogate as a name", document(parameters={"\ud800": {"value": 1}}), "parameters", "lone surrogate"),
    ("a lone surrogate elsewhere", document(program={"script": "a.py", "env": {"A": "\ud800"}}), "program.env.A",
     "lone surrogate"),
    ("too wide a range", _x(min=-1.7e308, max=1.7e308), "parameters.x.max", "too wide"),
    ("an infinite step", _x(min=0.0, max=1.0, step=math.inf), "parameters.x.step", "must be a finite number"),
    ("a huge step", _x(min=0.0, max=1.0, step=10**400), "parameters.x.step", "401 digits"),
    ("a step that is not exact", _x(min=0.0, max=1.0, step=2**54), "parameters.x.step", "at most 2**53"),
    ("split without data", document(validation={"split": [0.7, 0.1, 0.1, 0.1]}), "validation.split",
     "only valid with program.data; remove it"),
    ("split seed without data", document(validation={"seed": 1}), "validation.seed",
     "only valid with program.data; remove it"),
    ("split for a script", document(program=_SCRIPT, validation={"split": [0.7, 0.1, 0.1, 0.1]}), "validation.split",
     "program.data"),
    ("weights of a script", document(program=_SCRIPT, keep={"models": 3}), "keep.models",
     "not valid for scripts, which save no models or checkpoints"),
    ("checkpoints of a script", document(program=_SCRIPT, keep={"checkpoints": "best"}), "keep.checkpoints",
     "remove it"),
    ("a time limit of 0", document(limits={"trial_s": 0}), "limits.trial_s", "must be greater than 0"),
]  # fmt: skip


@pytest.mark.parametrize(("plain", "key", "message"), [case[1:] for case in BAD], ids=[case[0] for case in BAD])
def test_invalid_spec_is_rejected_with_key_and_fix(plain: dict[str, Any], key: str, message: str) -> None:
    with pytest.raises(InvalidSpecError) as caught:
        parse_spec(plain)
    assert [problem.key for problem in caught.value.problems] == [key]
    assert message in caught.value.problems[0].message


def test_all_problems_are_reported_at_once() -> None:
    with pytest.raises(InvalidSpecError) as caught:
        parse_spec(document(run_cap=0, seed=-1, metric=None))
    assert {problem.key for problem in caught.value.problems} == {"run_cap", "seed", "metric"}


@pytest.mark.parametrize("plain", [None, [], "name: x", 3, {}])
def test_document_that_is_not_a_mapping_is_rejected(plain: Any) -> None:
    with pytest.raises(InvalidSpecError):
        parse_spec(plain)


@pytest.mark.parametrize("metric", ["val_rmse", "val_mae", "val_loss"])
def test_regression_sweep_may_minimize_any_error_metric(metric: str) -> None:
    parsed = parse_spec(builtin_document(**_DIABETES, metric={"name": metric, "goal": "minimize"}))
    assert parsed.metric.name == metric


@pytest.mark.parametrize("goal", ["maximize", "minimize"])
def test_function_may_use_any_metric_name_and_goal(goal: str) -> None:
    assert spec(metric={"name": "val_rmse", "goal": goal}).metric.goal == goal


# Properties of valid specs.


@pytest.mark.parametrize(
    ("parameter", "choices"),
    [
        ({"value": 3}, [3]),
        ({"value": None}, [None]),
        ({"values": ["a", 1, None]}, ["a", 1, None]),
        ({"min": 1, "max": 4}, [1, 2, 3, 4]),
        ({"min": 1, "max": 8, "step": 3}, [1, 4, 7]),
        ({"min": 0.0, "max": 1.0, "step": 0.25}, [0.0, 0.25, 0.5, 0.75, 1.0]),
        ({"min": 0.0, "max": 0.3, "step": 0.1}, [0.0, 0.1, 0.2, 0.3]),
        ({"min": 0.1, "max": 0.75, "step": 0.2}, [0.1, 0.3, 0.5, 0.7]),
        ({"min": 0, "max": 0.3, "step": 0.1}, [0.0, 0.1, 0.2, 0.3]),
        ({"min": 1e-3, "max": 3e-3, "step": 1e-3}, [0.001, 0.002, 0.003]),
        ({"min": 0.0, "max": 1.0}, None),
        ({"min": 1, "max": 100, "log": True}, None),
    ],
)
def test_choices_of_parameter(parameter: dict[str, Any], choices: list[Any] | None) -> None:
    assert Parameter.model_validate(parameter).choices() == choices


@given(st.data())
def test_every_choice_of_a_parameter_is_valid(data: st.DataObject) -> None:
    parameter = Parameter.model_validate(data.draw(_PARAMETERS))
    choices = parameter.choices() or []
    assert len(choices) == (parameter.count() or 0)
    for choice in choices[:20] + choices[-1:]:
        assert parameter.invalid_reason(choice) is None


def test_parameters_are_ordered_after_those_in_their_conditions() -> None:
    parsed = spec(parameters={"b": {"value": 1, "when": {"a": 2}}, "a": {"values": [2, 3]}, "c": {"value": 0}})
    names = [name for name, _ in parsed.ordered()]
    assert names.index("a") < names.index("b") and sorted(names) == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("when", "params", "active"),
    [
        (None, {}, True),
        ({"a": 1}, {"a": 1}, True),
        ({"a": [1, 2]}, {"a": 2}, True),
        ({"a": 1}, {"a": 2}, False),
        ({"a": 1}, {}, False),
        ({"a": 1, "b": 1}, {"a": 1, "b": 2}, False),
    ],
)
def test_parameter_is_active_only_when_its_conditions_hold(when: Any, params: Any, active: bool) -> None:
    assert Parameter.model_validate({"value": 0, "when": when}).active(params) is active


def test_program_may_have_a_bundle() -> None:
    program = spec(program={"function": "a.b:c", "code": "src", "bundle": "0" * 64}).program
    assert isinstance(program, FunctionProgram) and program.bundle == "0" * 64


@pytest.mark.parametrize(
    "params", [{}, {"m": 0.5}, {"n": 1}, {"m": 0.5, "n": 1}, {"o": "sgd", "m": 0.9, "n": 2}, {"o": "adam"}], ids=str
)
def test_enqueued_value_may_depend_on_proposed_values(params: dict[str, Any]) -> None:
    assert spec(parameters=_CONDITIONAL, enqueue=[params]).enqueue == [params]


def test_zero_folds_are_valid_without_data() -> None:
    assert spec(validation={"folds": 0}).validation.folds == 0


def test_long_chain_of_conditions_is_ordered() -> None:
    last = MAX_PARAMETERS - 1
    chain: dict[str, Any] = {f"p{n}": {"values": [1, 2], "when": {f"p{n + 1}": 1}} for n in range(last)}
    parsed = parse_spec(document(parameters=chain | {f"p{last}": {"values": [1, 2]}}))
    assert [name for name, _ in parsed.ordered()] == [f"p{n}" for n in range(last, -1, -1)]


@pytest.mark.parametrize(
    "changes",
    [
        {"parameters": {f"p{n}": {"values": [1, 2]} for n in range(MAX_PARAMETERS + 1)}},
        {"enqueue": [{}] * (MAX_ENQUEUED + 1)},
    ],
    ids=list,
)
def test_number_of_parameters_and_enqueued_is_limited(changes: dict[str, Any]) -> None:
    with pytest.raises(InvalidSpecError) as caught:
        parse_spec(document(**changes))
    (problem,) = caught.value.problems
    assert problem.location == (*changes,)
    assert "must have at most" in problem.message


def test_many_problems_are_truncated_with_count() -> None:
    with pytest.raises(InvalidSpecError) as caught:
        parse_spec(document(**{f"key{n}": n for n in range(4000)}))
    *problems, last = caught.value.problems
    assert (len(problems), last.message) == (20, "3,980 more problems are not shown")


def test_huge_grid_is_rejected_without_computing_its_size() -> None:
    ranges = {f"p{n}": {"min": 0, "max": 2**50, "step": 1} for n in range(300)}
    with pytest.raises(InvalidSpecError, match="the grid has more than 1,000,000,000,000,000,000 points"):
        parse_spec(document(method="grid", parameters=ranges))


def test_problem_of_first_objective_is_reported_once() -> None:
    several = [{"name": "val_accuracy", "goal": "maximize", "target": "high"}, {"name": "val_loss", "goal": "minimize"}]
    with pytest.raises(InvalidSpecError) as caught:
        parse_spec(builtin_document(metric=None, metrics=several))
    assert [problem.location for problem in caught.value.problems] == [("metrics", "0", "target")]
