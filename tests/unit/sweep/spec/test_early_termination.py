"""Early termination: when each type prunes, its keys, and its metric."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

import pytest

from podium.sweep.search.sweep_search import Search
from podium.sweep.values.errors import InvalidSpecError
from podium.sweep.values.search_messages import PastTrial
from podium.sweep.values.states import TrialState
from tests.specs import builtin_document, document, spec

TWO = [{"name": "score", "goal": "maximize"}, {"name": "size", "goal": "minimize"}]


def _search(early: dict[str, Any], *curves: list[float], **changes: Any) -> Search:
    """A search with trials that finished with these curves (maximized), and one running trial."""
    past = [
        PastTrial(n, TrialState.FINISHED, {"x": 0.5}, value=curve[-1], reports=dict(enumerate(curve)))
        for n, curve in enumerate(curves)
    ]
    search = Search(spec(early_terminate=early, run_cap=50, **changes), past)
    search.ask()
    return search


def _pruned_at(search: Search, curve: list[float]) -> int | None:
    """The step at which the running trial is pruned."""
    number = len(search) - 1
    for step, value in enumerate(curve):
        verdict = search.report(number, step, value)
        json.dumps(asdict(verdict))  # not a NumPy boolean: the verdict is stored and sent to the slot
        if verdict.prune:
            return step
    return None


GOOD = [[0.1, 0.2, 0.3, 0.4, 0.5], [0.2, 0.3, 0.4, 0.5, 0.6], [0.3, 0.4, 0.5, 0.6, 0.7], [0.4, 0.5, 0.6, 0.7, 0.8]] * 2


@pytest.mark.parametrize(
    ("early", "curve", "step"),
    [
        ({"type": "median"}, [0.0, 0.0, 0.0], 1),
        ({"type": "median", "min_iter": 2}, [0.0, 0.0, 0.0], 2),
        ({"type": "median", "min_trials": 9}, [0.0, 0.0, 0.0], None),
        ({"type": "median"}, [0.9, 0.9, 0.9], None),
        ({"type": "percentile", "percentile": 10}, [0.3, 0.4, 0.5], 1),
        ({"type": "percentile", "percentile": 90}, [0.3, 0.4, 0.5], None),
        ({"type": "threshold", "lower": 0.2}, [0.3, 0.1], 1),
        ({"type": "threshold", "upper": 0.8}, [0.3, 0.9], 1),
        ({"type": "threshold", "lower": 0.2, "min_iter": 2}, [0.1, 0.1, 0.1], 2),
        ({"type": "threshold", "lower": 0.2, "upper": 0.8}, [0.2, 0.8], None),
        ({"type": "patient", "patience": 1}, [0.5, 0.4, 0.3, 0.2], 2),
        ({"type": "patient", "patience": 1}, [0.1, 0.2, 0.3, 0.4], None),
        ({"type": "patient", "patience": 1, "wrap": {"type": "median"}}, [0.9, 0.8, 0.7, 0.6, 0.5], None),
        ({"type": "patient", "patience": 1, "wrap": {"type": "median"}}, [0.2, 0.1, 0.0], 2),
        ({"type": "none"}, [0.0, 0.0, 0.0], None),
    ],
)
def test_each_type_prunes_at_expected_step(early: dict[str, Any], curve: list[float], step: int | None) -> None:
    assert _pruned_at(_search(early, *GOOD), curve) == step


@pytest.mark.parametrize("type_", ["median", "asha", "hyperband"])
def test_verdict_is_json_serializable(type_: str) -> None:
    verdicts = [_search({"type": type_}, *GOOD).report(len(GOOD), step, 0.0).prune for step in (0, 1, 2)]
    assert set(map(type, verdicts)) == {bool}, "NumPy booleans are not JSON serializable"


@pytest.mark.parametrize(
    ("early", "rungs"),
    [
        ({"type": "asha", "min_iter": 2, "eta": 2}, [2, 4, 8, 16]),
        ({"type": "hyperband", "min_iter": 2, "eta": 2}, [2, 4, 8, 16]),
        ({"type": "hyperband", "max_iter": 8, "s": 2, "eta": 2}, [2, 4]),
        ({"type": "hyperband", "max_iter": 27, "s": 2}, [3, 9]),
        ({"type": "hyperband", "max_iter": 10, "s": 2}, [1, 3]),
    ],
)
def test_one_bracket_evaluates_at_its_rungs(early: dict[str, Any], rungs: list[int]) -> None:
    search = Search(spec(early_terminate=early))
    search.ask()
    noted = [step for step in range(30) if search.report(0, step, 0.5).attributes]
    assert noted == rungs


def test_hyperband_brackets_start_at_increasing_steps() -> None:
    search = Search(spec(early_terminate={"type": "hyperband", "min_iter": 1, "max_iter": 9, "eta": 3}, run_cap=50))
    first = set()
    for number in range(20):
        search.ask()
        first.add(next(step for step in range(12) if search.report(number, step, 0.5).attributes))
    assert first == {1, 3, 9}


def test_non_finite_report_does_not_prune() -> None:
    assert not _search({"type": "threshold", "lower": 0.5}).report(0, 0, float("nan")).prune


def test_several_objectives_are_pruned_by_named_metric() -> None:
    early = {"type": "threshold", "upper": 5.0, "metric": "size"}
    search = Search(spec(metric=None, metrics=TWO, early_terminate=early))
    search.ask()
    assert search.spec.pruned_on.goal == "minimize"
    assert _pruned_at(search, [1.0, 6.0]) == 1


def test_metric_that_is_not_an_objective_has_its_own_goal() -> None:
    early = {"type": "patient", "patience": 1, "metric": "loss", "goal": "minimize"}
    search = Search(spec(early_terminate=early))
    search.ask()
    assert _pruned_at(search, [0.1, 0.2, 0.3]) == 2


def test_built_in_loop_knows_goals_of_its_metrics() -> None:
    from podium.sweep.spec.sweep_spec import parse_spec

    parsed = parse_spec(builtin_document(early_terminate={"type": "asha", "metric": "val_loss"}))
    assert (parsed.pruned_on.name, parsed.pruned_on.goal) == ("val_loss", "minimize")


def _early(**early: Any) -> dict[str, Any]:
    return document(early_terminate=early)


@pytest.mark.parametrize(
    ("refused", "key", "words"),
    [
        (
            _early(type="median", eta=3),
            "eta",
            "only valid with type: asha or hyperband; the keys of type: median are min_iter, min_trials",
        ),
        (_early(type="asha", percentile=3), "percentile", "only valid with type: percentile"),
        (_early(type="percentile"), "", "for example, percentile: 25"),
        (_early(type="patient"), "", "for example, patience: 3"),
        (_early(type="threshold"), "", "for example, lower: 0.1"),
        (_early(type="threshold", lower=2.0, upper=1.0), "lower", "must not exceed upper (1)"),
        (_early(type="hyperband", s=2), "s", "add max_iter"),
        (_early(type="hyperband", s=2, max_iter=9, min_iter=2), "s", "mutually exclusive"),
        (_early(type="hyperband", min_iter=9, max_iter=9), "max_iter", "must be greater than min_iter (9)"),
        (
            _early(type="patient", patience=1, wrap={"type": "patient", "patience": 2}),
            "wrap.type",
            "cannot wrap patient",
        ),
        (
            _early(type="patient", patience=1, wrap={"type": "median", "eta": 2}),
            "wrap.eta",
            "only valid with type: asha or hyperband",
        ),
        (_early(type="asha", metric="loss"), "metric", "add goal: minimize or goal: maximize"),
        (_early(type="asha", metric="score", goal="minimize"), "goal", "conflicts with the objective: maximize score"),
        (_early(type="asha", goal="minimize"), "goal", "only valid with metric"),
        (_early(type="ahsa"), "type", "'asha'"),
        (
            builtin_document(early_terminate={"type": "asha", "metric": "f1"}),
            "metric",
            "report val_accuracy, val_loss",
        ),
    ],
)
def test_invalid_combination_is_rejected_with_fix(refused: dict[str, Any], key: str, words: str) -> None:
    from podium.sweep.spec.sweep_spec import parse_spec

    with pytest.raises(InvalidSpecError) as caught:
        parse_spec(refused)
    (problem,) = caught.value.problems
    assert problem.key == f"early_terminate.{key}".rstrip(".")
    assert words in problem.message


def test_disabled_early_termination_accepts_other_keys() -> None:
    assert spec(early_terminate={"type": "none", "min_iter": 3, "eta": 2}).early_terminate.type == "none"
