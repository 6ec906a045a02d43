"""The value of a trial among its reports, and the conditions of `stop`; also as keys of the sweep file."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podium.sweep.protocol.trial_messages import TrialMessage, parse_from_trial
from podium.sweep.spec.sweep_spec import spec_from_json
from podium.sweep.trial_process.stop_condition_check import EarlyFinish, TrialStopped
from podium.sweep.values.attempt_assignment import Assignment, AttemptKey
from podium.sweep.values.attempt_outcomes import ReducedResult
from podium.sweep.values.errors import InvalidSpecError
from podium.sweep.values.objective_reduction import ReportedValues
from tests.specs import builtin_document, document, spec

ASSIGNMENT: dict[str, Any] = {
    "sweep_id": 1, "trial_id": 1, "number": 0, "attempt": 1, "params": {}, "seed": 0, "metric": "score", "program": {},
    "split": {}, "directory": "/nowhere", "data_cache": "/nowhere",
}  # fmt: skip


@given(st.lists(st.floats(-1e6, 1e6), min_size=1), st.sampled_from(["last", "min", "max"]))
def test_rule_selects_among_all_reported_values(curve: list[float], rule: str) -> None:
    reported = ReportedValues(["score"], rule)
    for step, value in enumerate(curve):
        reported.record(step, {"score": value, "other": 7.0})
    assert reported.values == ({"last": curve[-1], "min": min(curve), "max": max(curve)}[rule],)


def test_nan_is_never_selected() -> None:
    reported = ReportedValues(["score"], "max")
    reported.record(0, {"score": float("nan")})
    assert reported.values is None
    reported.record(1, {"score": 0.5})
    reported.record(2, {"score": float("nan")})
    assert reported.values == (0.5,)


@pytest.mark.parametrize("size_first", [False, True])
def test_other_objectives_are_from_the_best_step(size_first: bool) -> None:
    reported = ReportedValues(["score", "size"], "max")
    for step, (score, size) in enumerate([(0.1, 10.0), (0.9, 20.0), (0.5, 30.0)]):
        one, other = {"size": size}, {"score": score}
        for values in (one, other) if size_first else (other, one):
            reported.record(step, values)
    assert reported.values == (0.9, 20.0)


def test_late_objective_completes_the_value() -> None:
    reported = ReportedValues(["score", "size"], "max")
    reported.record(0, {"score": 0.9})
    assert (reported.values, reported.by_name) == (None, {"score": 0.9})
    reported.record(7, {"size": 3.0})
    assert reported.values == (0.9, 3.0)


def early_finish(*stop: tuple[str, float], **changes: Any) -> tuple[EarlyFinish, list[TrialMessage]]:
    sent: list[TrialMessage] = []
    assignment = Assignment(**{**ASSIGNMENT, "stop": stop, **changes})
    return EarlyFinish(assignment, sent.append, lambda: None), sent


def test_slot_receives_decision_before_exception_is_raised() -> None:
    early, sent = early_finish(("step", 1))
    early.record(0, {"score": 0.1})
    assert sent == []
    with pytest.raises(TrialStopped):
        early.record(1, {"score": 0.2})
    assert sent == [ReducedResult((0.2,), "stop: step 1 reached 1")]
    assert early.decided


def test_last_step_waits_for_values_until_next_step_starts() -> None:
    early, sent = early_finish(("step", 1), objectives=("score", "size"))
    early.record(1, {"score": 0.2})
    early.before(1)
    with pytest.raises(TrialStopped):
        early.before(2)
    assert sent == [ReducedResult(None, "stop: step 1 reached 1")]
    early, sent = early_finish(("step", 1), objectives=("score", "size"))
    early.record(1, {"score": 0.2})
    with pytest.raises(TrialStopped):
        early.record(1, {"size": 3.0})
    assert sent == [ReducedResult((0.2, 3.0), "stop: step 1 reached 1")]


def test_deferred_loop_ends_after_the_step() -> None:
    early, sent = early_finish(("score", 0.5))
    early.defer()
    early.record(0, {"score": 0.1})
    assert not early.should_end()
    early.record(1, {"score": 0.5})
    assert early.should_end() and sent == []


def test_value_message_is_validated() -> None:
    line = b'{"kind": "value", "values": [0.5], "reason": ""}'
    assert parse_from_trial(line, AttemptKey(1, 1)) == ReducedResult((0.5,))
    for wrong in (
        b'{"kind": "value", "values": ["x"]}',
        b'{"kind": "value", "values": [1.0], "reason": 5}',
        b'{"kind": "value", "values": [1.0], "constrained": 1}',
    ):
        with pytest.raises(ValueError, match=r"not floats|not a boolean"):
            parse_from_trial(wrong, AttemptKey(1, 1))


@pytest.mark.parametrize(
    "written",
    [{"metric": "step", "at": 200}, [{"metric": "step", "at": 200}], {"step": 200}],
)
def test_conditions_have_three_equivalent_forms(written: Any) -> None:
    (condition,) = spec(stop=written).stop
    assert (condition.metric, condition.at) == ("step", 200)
    assert spec_from_json(spec(stop=written).to_json()).stop == spec(stop=written).stop


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"stop": {"metric": "step"}}, "stop.0.at: is required"),
        ({"stop": {"score": "high"}}, "stop.0.at: must be a number"),
        ({"objective": "mean"}, "objective: must be one of last, best, min, max"),
        ({"limits": {"on_timeout": "finish"}}, "limits.on_timeout: only valid with limits.trial_s"),
    ],
)
def test_invalid_objective_keys_are_rejected(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidSpecError, match=message):
        spec(**changes)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"stop": {"acuracy": 1}}, "do not report 'acuracy'; did you mean 'val_accuracy'"),
        ({"objective": "last"}, "which return their best epoch; remove it"),
    ],
)
def test_built_in_loop_knows_its_metrics(changes: dict[str, Any], message: str) -> None:
    from podium.sweep.spec.sweep_spec import parse_spec

    with pytest.raises(InvalidSpecError, match=message):
        parse_spec(builtin_document(**changes))


@pytest.mark.parametrize(("goal", "rule"), [("maximize", "max"), ("minimize", "min")])
def test_best_follows_the_goal(goal: str, rule: str) -> None:
    assert spec(metric={"name": "score", "goal": goal}, objective="best").reported_rule == rule
    assert document()["metric"]["goal"] == "maximize"
