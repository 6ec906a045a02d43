"""Parameters that only the code suggests: chosen on request, stored with the trial, and known to later ones."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podium.sweep.lifecycle.allowed_commands import cloned_params
from podium.sweep.scheduling.past_trials_for_search import past_trials
from podium.sweep.search.sweep_search import Search
from podium.sweep.spec.builtin_catalog import did_you_mean
from podium.sweep.spec.search_space import Parameter
from podium.sweep.specfile.spec_lint import search_hints
from podium.sweep.trial_process import suggested_distributions
from podium.sweep.values.attempt_assignment import AttemptKey
from podium.sweep.values.errors import InvalidSpecError, UserCodeError
from podium.sweep.values.failure_causes import Cause
from podium.sweep.values.search_messages import PastTrial
from podium.sweep.values.slot_events import SuggestRequested
from podium.sweep.values.states import TrialState
from tests.rig import Rig
from tests.specs import spec

MakeRig = Callable[..., Rig]
KEY = AttemptKey(1, 1)
WIDTH = {"min": 8, "max": 64, "log": True}
KIND = {"values": ["a", "b", None]}
EMPTY: dict[str, Any] = {"parameters": {}}


def _search(**changes: Any) -> Search:
    return Search(spec(**{**EMPTY, **changes}))


def _suggested(search: Search, number: int, name: str = "width", distribution: dict[str, Any] = WIDTH) -> Any:
    return search.suggest(number, SuggestRequested(KEY, name, distribution))


# The search.


@pytest.mark.parametrize("method", ["tpe", "random", "auto", "nsga2"])
def test_suggested_value_is_within_bounds_and_stable(method: str) -> None:
    search = _search(method=method)
    for number in range(15):
        assert search.ask() is not None
        width, kind = _suggested(search, number), _suggested(search, number, "kind", KIND)
        assert isinstance(width, int) and 8 <= width <= 64 and kind in KIND["values"]
        assert _suggested(search, number) == width
        search.tell(number, TrialState.FINISHED, [-abs(width - 20.0)])


def test_tpe_learns_suggested_parameters() -> None:
    search = _search(method="tpe", seed=1)
    found = []
    for number in range(60):
        search.ask()
        x = _suggested(search, number, "x", {"min": 0.0, "max": 1.0})
        found.append(x)
        search.tell(number, TrialState.FINISHED, [-abs(x - 0.3)])
    assert sum(abs(x - 0.3) < 0.1 for x in found[30:]) > 15


def test_rebuilt_search_knows_suggested_parameters() -> None:
    search = _search(method="tpe")
    for number in range(12):
        search.ask()
        search.tell(number, TrialState.FINISHED, [float(_suggested(search, number))])
    rebuilt = Search(search.spec, [PastTrial.from_dict(search.past_trial(n).to_dict()) for n in range(12)])
    assert rebuilt.past_trial(3) == search.past_trial(3)
    assert rebuilt.past_trial(3).distributions == {"width": WIDTH}
    search.ask(), rebuilt.ask()
    assert _suggested(search, 12) == _suggested(rebuilt, 12)


def test_self_drawn_value_replaces_pending_answer() -> None:
    search = _search()
    search.ask()
    _suggested(search, 0)
    assert search.suggest(0, SuggestRequested(KEY, "width", WIDTH, drawn=True, value=9)) == 9
    assert search.past_trial(0).params == {"width": 9}


def test_earlier_sweep_informs_suggested_parameters() -> None:
    search = _search(method="tpe")
    for number in range(12):
        search.ask()
        search.tell(number, TrialState.FINISHED, [float(_suggested(search, number))])
    earlier = [search.past_trial(number) for number in range(12)]
    later = Search(spec(**EMPTY, method="tpe", seed=5), [], earlier)
    later.ask()
    assert isinstance(_suggested(later, 0), int)
    assert later.study.optuna.trials[0].params == earlier[0].params


EARLIER_CHOICES = [
    ({"values": ["a", "b"]}, {"values": ["a", "b", "c"]}),
    ({"values": ["a", "b"]}, {"min": 0.0, "max": 1.0}),
    ({"min": 0.0, "max": 1.0}, {"values": ["a", "b"]}),
    ({"min": -1.0, "max": 1.0}, {"min": 0.001, "max": 1.0, "log": True}),
    ({"min": 0.001, "max": 1.0, "log": True}, {"min": -1.0, "max": 1.0}),
    ({"min": 0, "max": 100}, {"min": 0.0, "max": 1.0}),
    ({"min": 0, "max": 100}, {"min": 8, "max": 16}),
    ({"min": 8, "max": 16}, {"min": 0, "max": 100}),
]


@pytest.mark.parametrize(
    "method", ["tpe", *(pytest.param(name, marks=pytest.mark.slow) for name in ("nsga2", "cmaes"))]
)
@pytest.mark.parametrize(("was", "now"), EARLIER_CHOICES)
def test_other_distribution_in_earlier_sweep_does_not_fail_search(
    method: str, was: dict[str, Any], now: dict[str, Any]
) -> None:
    both = {"parameters": {"y": {"min": 0.0, "max": 1.0}}}
    first = _search(method="random", **both)
    for number in range(25):
        first.ask()
        _suggested(first, number, "x", was)
        first.tell(number, TrialState.FINISHED, [float(number % 7)])
    later = Search(spec(**both, method=method), [], [first.past_trial(number) for number in range(25)])
    fits = Parameter.model_validate(now)
    for number in range(15):
        assert later.ask() is not None
        assert fits.invalid_reason(_suggested(later, number, "x", now)) is None
        later.tell(number, TrialState.FINISHED, [float(number % 5)])
    rebuilt = Search(later.spec, [later.past_trial(number) for number in range(15)], later.earlier)
    assert rebuilt.ask() == later.ask()
    assert _suggested(rebuilt, 15, "x", now) == _suggested(later, 15, "x", now)


def test_same_distribution_in_earlier_sweep_informs_search() -> None:
    first = _search(method="random", seed=2)
    for number in range(60):
        first.ask()
        x = _suggested(first, number, "x", {"min": 0.0, "max": 1.0})
        first.tell(number, TrialState.FINISHED, [-abs(x - 0.3)])
    later = Search(spec(**EMPTY, method="tpe"), [], [first.past_trial(number) for number in range(60)])
    found = []
    for number in range(20):
        later.ask()
        found.append(_suggested(later, number, "x", {"min": 0.0, "max": 1.0}))
    assert sum(abs(x - 0.3) < 0.1 for x in found) > 10


def test_failing_sampler_falls_back_to_random_value(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: Any) -> Any:
        raise RuntimeError("simulated")

    search = _search(method="tpe")
    search.ask()
    monkeypatch.setattr("podium.sweep.search.tpe.tpe_sampler.TpeSampler.sample_independent", fails)
    names = ["a", "b"]
    a, b = (_suggested(search, 0, name, {"min": 0.0, "max": 1.0}) for name in names)
    assert 0 <= a <= 1 and 0 <= b <= 1 and a != b


@pytest.mark.parametrize(
    ("changes", "query", "message"),
    [
        ({}, SuggestRequested(KEY, "width", {"low": 1}), "suggest width"),
        ({}, SuggestRequested(KEY, "width", {"min": 2, "max": 1}), "min (2) must not exceed max (1)"),
        ({}, SuggestRequested(KEY, "width", {"distribution": "normal"}), "is not supported"),
        ({}, SuggestRequested(KEY, "width", WIDTH, drawn=True, value=3), "must be between 8 and 64, got 3"),
        ({}, SuggestRequested(KEY, "kind", {"values": ["a", "c"]}), "invalid, or incompatible with an earlier trial"),
        ({}, SuggestRequested(KEY, "kind", {"min": 0.0, "max": 1.0}), "invalid, or incompatible with an earlier trial"),
        (
            {"method": "grid", "parameters": {"x": {"values": [1]}}},
            SuggestRequested(KEY, "width", WIDTH),
            "method: grid needs all parameters",
        ),
        (
            {
                "parameters": {"o": {"values": ["adam", "sgd"]}, "m": {"min": 0.0, "max": 1.0, "when": {"o": "sgd"}}},
                "enqueue": [{"o": "adam"}],
            },
            SuggestRequested(KEY, "m", {"min": 0.0, "max": 1.0}),
            "m is inactive in this trial",
        ),
    ],
)
def test_invalid_suggestion_is_a_user_code_error(
    changes: dict[str, Any], query: SuggestRequested, message: str
) -> None:
    search = _search(**changes)
    search.ask()
    if not changes:
        _suggested(search, 0, "kind", KIND)
        search.ask()
    with pytest.raises(UserCodeError) as caught:
        search.suggest(len(search) - 1, query)
    assert message in str(caught.value)


# From slot to search and back, without a trial process.


def _request(rig: Rig, name: str = "width", distribution: dict[str, Any] = WIDTH, **drawn: Any) -> None:
    rig.pool.request_suggestion("cpu-0", name, distribution, **drawn)
    rig.settle()


def test_suggested_value_is_answered_and_written(rig: Rig) -> None:
    rig.submit(**EMPTY)
    _request(rig)
    ((name, value, error),) = rig.pool["cpu-0"].suggestions
    assert (name, error) == ("width", "") and isinstance(value, int)
    assert rig.trials()[0].params == {"width": value}
    assert rig.trials()[0].distributions == {"width": WIDTH}


def test_rejected_suggestion_is_answered_and_not_written(rig: Rig) -> None:
    rig.submit(**EMPTY)
    _request(rig, distribution={"min": 2, "max": 1})
    ((name, value, error),) = rig.pool["cpu-0"].suggestions
    assert (name, value) == ("width", None) and "min (2) must not exceed max (1)" in error
    assert rig.trials()[0].params == {}


def test_self_drawn_value_is_written_and_not_answered(rig: Rig) -> None:
    rig.submit(**EMPTY)
    _request(rig, drawn=True, value=9)
    assert rig.pool["cpu-0"].suggestions == []
    assert rig.trials()[0].params == {"width": 9}


@pytest.mark.parametrize("restarted", [False, True])
def test_self_drawn_value_is_written_when_trial_ends_before_answer(rig: Rig, restarted: bool) -> None:
    rig.submit(**EMPTY, run_cap=1)
    rig.pool.request_suggestion("cpu-0", "width", WIDTH)
    rig.pool.request_suggestion("cpu-0", "width", WIDTH, drawn=True, value=9)
    rig.pool.finish("cpu-0")
    if restarted:
        rig.restart()
    else:
        rig.settle()
    trial = rig.trials()[0]
    assert (trial.state, trial.params, trial.distributions) == (TrialState.FINISHED, {"width": 9}, {"width": WIDTH})


def test_late_answer_after_self_drawn_value_is_dropped(rig: Rig) -> None:
    rig.submit(**EMPTY)
    rig.pool.request_suggestion("cpu-0", "width", WIDTH)
    rig.pool.request_suggestion("cpu-0", "width", WIDTH, drawn=True, value=9)
    rig.settle()
    assert rig.pool["cpu-0"].suggestions == []
    assert rig.trials()[0].params == {"width": 9}
    rig.pool.fail("cpu-0", Cause.INFRASTRUCTURE)
    rig.settle()
    assignment = rig.pool["cpu-0"].running
    assert assignment is not None and assignment.params == {"width": 9}


@pytest.mark.parametrize(
    ("distribution", "value"), [({"min": 1, "max": 10**400}, 9), (WIDTH, 99), ({"values": ["x" * 20_000]}, 9)]
)
def test_invalid_self_drawn_value_is_not_written(rig: Rig, distribution: dict[str, Any], value: int) -> None:
    rig.submit(**EMPTY)
    _request(rig, distribution=distribution, drawn=True, value=value)
    assert rig.trials()[0].params == {}
    rig.finish_all()


def test_next_attempt_has_values_of_previous_one(rig: Rig) -> None:
    rig.submit(**EMPTY)
    _request(rig)
    rig.pool.fail("cpu-0", Cause.INFRASTRUCTURE)
    rig.settle()
    assignment = rig.pool["cpu-0"].running
    assert assignment is not None and assignment.attempt == 2
    assert assignment.params == rig.trials()[0].params != {}
    assert assignment.defined == ("width",)


def test_suggested_values_survive_restart(rig: Rig) -> None:
    rig.submit(**EMPTY)
    _request(rig)
    params = rig.trials()[0].params
    rig.restart()
    _request(rig)
    assert rig.pool["cpu-0"].suggestions[-1] == ("width", params["width"], "")
    rig.pool.finish("cpu-0")
    rig.settle()
    (past,) = [t for t in past_trials(rig.recorder.open_sweeps(frozenset())[0]) if t.number == 0]
    assert (past.params, past.distributions) == (params, {"width": WIDTH})


def test_clone_has_suggested_values_from_start(rig: Rig) -> None:
    rig.submit(**EMPTY, run_cap=2)
    _request(rig)
    enqueued = rig.recorder.enqueue(1, {"width": 9})
    rig.recorder.enqueued[enqueued] = replace(rig.recorder.enqueued[enqueued], distributions={"width": WIDTH})
    rig.settle()
    rig.pool.finish("cpu-0")
    rig.settle()
    assignment = rig.pool["cpu-0"].running
    assert assignment is not None and (assignment.params, assignment.defined) == ({"width": 9}, ("width",))


def test_clone_may_change_suggested_values_within_bounds() -> None:
    empty = spec(**EMPTY)
    assert cloned_params(empty, {"width": 9}, {"width": 10}, {"width": WIDTH}) == {"width": 10}
    with pytest.raises(InvalidSpecError, match="width: must be between 8 and 64, got 3"):
        cloned_params(empty, {"width": 9}, {"width": 3}, {"width": WIDTH})
    with pytest.raises(InvalidSpecError, match="did you mean 'width'"):
        cloned_params(empty, {"width": 9}, {"widht": 10}, {"width": WIDTH})


# Distributions that a trial can request.

LOW, WIDE = st.integers(1, 1000), st.integers(0, 1000)
FLOATS = st.builds(
    lambda low, wide, step: suggested_distributions.float_range("x", low / 7, (low + wide) / 7, step, log=False),
    LOW, WIDE, st.none() | st.floats(0.01, 10),
)  # fmt: skip
LOGS = st.builds(
    lambda low, wide: suggested_distributions.float_range("x", low / 7, (low + wide) / 7, None, log=True), LOW, WIDE
)
INTS = st.builds(
    lambda low, wide, step: suggested_distributions.int_range("x", low, low + wide, step, log=False),
    LOW,
    WIDE,
    st.integers(1, 50),
)
INT_LOGS = st.builds(lambda low, wide: suggested_distributions.int_range("x", low, low + wide, 1, log=True), LOW, WIDE)
CHOICES = st.builds(
    lambda values: suggested_distributions.choice_of("x", values),
    st.lists(st.integers(0, 9) | st.text() | st.none(), min_size=1),
)


@given(FLOATS | LOGS | INTS | INT_LOGS | CHOICES, st.randoms(use_true_random=False))
def test_drawn_value_fits_request_and_sweep_file_parameter(distribution: dict[str, Any], chance: random.Random) -> None:
    value = suggested_distributions.sample(distribution, chance)
    assert suggested_distributions.invalid_reason(value, distribution) is None
    assert Parameter.model_validate(distribution).invalid_reason(value) is None


def test_ends_of_integer_log_range_are_as_likely_as_in_optuna() -> None:
    chance = random.Random(1)
    distribution = suggested_distributions.int_range("x", 1, 2, 1, log=True)
    ones = sum(suggested_distributions.sample(distribution, chance) == 1 for _ in range(4000)) / 4000
    assert ones == pytest.approx(math.log(1.5 / 0.5) / math.log(2.5 / 0.5), abs=0.03)  # the logarithm of its width


def test_steps_end_at_upper_bound() -> None:
    distribution = suggested_distributions.float_range("x", 0, 0.3, 0.1, log=False)
    assert distribution == {"min": 0.0, "max": 0.3, "step": 0.1}
    chance = random.Random(1)
    assert {suggested_distributions.sample(distribution, chance) for _ in range(50)} == {0.0, 0.1, 0.2, 0.3}


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda: suggested_distributions.float_range("x", 2, 1, None, False), "low (2) must not exceed high (1)"),
        (
            lambda: suggested_distributions.float_range("x", 0, 1, None, True),
            "low must be greater than 0 with log=True",
        ),
        (lambda: suggested_distributions.float_range("x", 1, 2, 0.1, True), "step and log are mutually exclusive"),
        (lambda: suggested_distributions.float_range("x", 1, 2, -1, False), "step must be a number greater than 0"),
        (
            lambda: suggested_distributions.float_range("x", float("nan"), 2, None, False),
            "bounds must be finite numbers up to 2**53, got nan",
        ),
        (lambda: suggested_distributions.int_range("x", 1, 2, 0, False), "step must be a positive integer"),
        (lambda: suggested_distributions.int_range("x", 1, 9, 2, True), "step and log are mutually exclusive"),
        (lambda: suggested_distributions.int_range("x", 1.5, 9, 1, False), "low and high must be integers"),  # type: ignore[arg-type]
        (lambda: suggested_distributions.choice_of("x", []), "choices must not be empty"),
        (lambda: suggested_distributions.choice_of("x", [2**60]), "is not finite or exceeds 2**53"),
        (lambda: suggested_distributions.choice_of("x", [10**400]), "is not finite or exceeds 2**53"),
        (lambda: suggested_distributions.choice_of("x", ["\ud800"]), "lone surrogate"),
        (lambda: suggested_distributions.float_range("x", 10**400, 1, None, False), "must be finite numbers"),
        (
            lambda: suggested_distributions.float_range("x", -1.7e308, 1.7e308, None, False),
            "the range is too wide",
        ),
        (lambda: suggested_distributions.float_range("x", 0.0, 1.0, 1e-320, False), "too small for this range"),
        (lambda: suggested_distributions.check_name(""), "parameter name must be a string"),
        (lambda: suggested_distributions.check_name("a\nb"), "parameter name must be a string"),
    ],
)
def test_invalid_request_is_rejected_immediately(ask: Callable[[], object], message: str) -> None:
    with pytest.raises(UserCodeError) as caught:
        ask()
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("value", "distribution", "message"),
    [
        (0.25, {"min": 0.0, "max": 1.0, "step": 0.1}, "not a multiple of step 0.1 from 0.0; set `step: 0.1`"),
        (2.5, {"min": 1, "max": 3}, "not an integer"),
        (True, {"min": 0, "max": 3}, "not between 0 and 3"),
        ("c", KIND, "not one of ['a', 'b', None]"),
    ],
)
def test_planned_value_outside_distribution_is_rejected(value: Any, distribution: Any, message: str) -> None:
    complaint = suggested_distributions.invalid_reason(value, distribution)
    assert complaint is not None and message in complaint


# Enqueued values of parameters that are not in the sweep file.

ENQUEUED: dict[str, Any] = {**EMPTY, "enqueue": [{"width": 9, "kind": "b"}, {"width": 64}]}


@pytest.mark.parametrize("method", ["tpe", "random", "gp", "nsga2"])
def test_enqueued_value_is_used_when_code_suggests_it(method: str) -> None:
    search = _search(**ENQUEUED, method=method)
    for number, width in ((0, 9), (1, 64)):
        planned = search.ask()
        assert planned is not None and (planned.params, planned.sampler) == ({}, "enqueue")
        assert _suggested(search, number) == width
        search.tell(number, TrialState.FINISHED, [1.0])
    assert search.past_trial(0).params == {"width": 9}
    assert _suggested(search, 0, "kind", KIND) == "b"


def test_enqueued_value_is_kept_after_restart() -> None:
    search = _search(**ENQUEUED)
    planned = search.ask()
    assert planned is not None and planned.attributes["podium:enqueued"] == {"width": 9, "kind": "b"}
    rebuilt = Search(search.spec, [PastTrial.from_dict(search.past_trial(0).to_dict())])
    assert (_suggested(rebuilt, 0), _suggested(rebuilt, 0, "kind", KIND)) == (9, "b")
    assert rebuilt.ask() is not None and _suggested(rebuilt, 1) == 64


def test_enqueued_value_outside_range_is_rejected() -> None:
    search = _search(**EMPTY, enqueue=[{"width": 100}])
    search.ask()
    with pytest.raises(UserCodeError, match="invalid enqueued value of width: must be"):
        _suggested(search, 0)


def test_enqueued_value_has_type_of_its_range() -> None:
    search = _search(**EMPTY, enqueue=[{"x": 1, "n": 2.0}])
    search.ask()
    x, n = _suggested(search, 0, "x", {"min": 0.0, "max": 1.0}), _suggested(search, 0, "n", {"min": 1, "max": 3})
    assert (x, type(x), n, type(n)) == (1.0, float, 2, int)


def test_repeated_trial_receives_enqueued_values(rig: Rig) -> None:
    rig.submit(**ENQUEUED)
    assignment = rig.pool["cpu-0"].running
    assert assignment is not None and assignment.enqueued == {"width": 9, "kind": "b"}
    rig.pool.lose("cpu-0")
    rig.settle()
    rig.restart()
    _request(rig)
    assignment = rig.pool["cpu-0"].running
    assert assignment is not None and (assignment.attempt, assignment.enqueued["width"]) == (2, 9)
    assert rig.pool["cpu-0"].suggestions[-1] == ("width", 9, "")
    assert rig.trials()[0].params == {"width": 9}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"program": {"command": ["true"]}, "parameters": {"x": {"values": [1, 2]}}},
            "unknown parameter 'width'; known: x (only functions that take a trial can suggest further parameters",
        ),
        ({"program": {"function": "a:b", "argument": "config"}}, "unknown parameter 'width'; none are defined"),
        (
            {"method": "grid", "parameters": {"x": {"values": [1, 2]}}},
            "unknown parameter 'width'; method: grid needs all parameters in the sweep file; add it under parameters",
        ),
        ({"parameters": {"width": {"min": 0, "max": 1}}}, "must be between 0 and 1, got 9"),
    ],
)
def test_enqueued_value_that_cannot_be_suggested_is_rejected(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidSpecError) as caught:
        spec(**{**EMPTY, "enqueue": [{"width": 9}], **changes})
    assert message in str(caught.value) and "known: (" not in str(caught.value)


def test_validate_notes_values_only_code_can_use() -> None:
    (note,) = search_hints(spec(parameters={"lr": {"min": 0.0, "max": 1.0}}, enqueue=[{"lrr": 0.5}]))
    assert note == (
        "enqueue: 'lrr' is not in parameters (did you mean 'lr'?); "
        "its value is used only if the function suggests 'lrr'"
    )
    (note,) = search_hints(spec(**ENQUEUED | {"enqueue": [{"width": 9}]}))
    assert "known" not in note and "did you mean" not in note


def test_empty_suggestion_list_is_worded() -> None:
    assert did_you_mean("lr", []) == "none are defined"
    assert did_you_mean("lr", ["width", "depth", "width"]) == "known: depth, width"
