"""Which limit of a sweep's budget is reached, compared with its definition."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podium.sweep.lifecycle.budget_usage import (
    BestValueTracker,
    BudgetTerms,
    BudgetUsage,
    CountedTrial,
    continuation_advice,
    exhausted_reason,
)
from podium.sweep.spec.budget import Plateau
from tests.specs import spec

NOTHING = BudgetUsage(0.0, 0.0, 0, None)
VALUES = st.lists(st.none() | st.integers(-8, 8).map(float), max_size=40)


def outcomes(values: list[float | None]) -> list[CountedTrial]:
    return [CountedTrial(number, value) for number, value in enumerate(values)]


@given(VALUES, st.sampled_from(["maximize", "minimize"]), st.sampled_from([0.0, 1.0, 2.5]))
def test_plateau_counts_trials_since_last_sufficient_improvement(
    values: list[float | None], goal: str, min_delta: float
) -> None:
    terms = BudgetTerms(plateau=Plateau(trials=3, min_delta=min_delta))
    sign = 1 if goal == "maximize" else -1
    marks: list[tuple[int, float]] = []
    for number, value in enumerate(values):
        if value is not None and (not marks or sign * (value - marks[-1][1]) > min_delta):
            marks.append((number, value))
    expected = len(values) - 1 - marks[-1][0] if marks else 0
    assert BestValueTracker(goal, terms, outcomes(values)).trials_without_improvement == expected


@given(VALUES, st.integers(1, 5), st.sampled_from([0.0, 1.0]))
def test_plateau_has_no_sufficiently_better_value(values: list[float | None], trials: int, min_delta: float) -> None:
    terms = BudgetTerms(plateau=Plateau(trials=trials, min_delta=min_delta))
    progress = BestValueTracker("maximize", terms, outcomes(values))
    if exhausted_reason(terms, BudgetUsage(0.0, 0.0, progress.trials_without_improvement, None)):
        before = [value for value in values[:-trials] if value is not None]
        last = [value for value in values[-trials:] if value is not None]
        assert before and all(value <= max(before) + min_delta for value in last)


@given(VALUES, st.sampled_from(["maximize", "minimize"]), st.integers(-8, 8).map(float))
def test_first_value_that_meets_target_reaches_it(values: list[float | None], goal: str, target: float) -> None:
    meets = [
        number
        for number, value in enumerate(values)
        if value is not None and (value >= target if goal == "maximize" else value <= target)
    ]
    found = BestValueTracker(goal, BudgetTerms(target=target), outcomes(values)).reached_by
    assert (None if found is None else found.number) == (meets[0] if meets else None)


@given(st.floats(0, 1e6), st.floats(0, 1e6), st.floats(0.001, 1e6), st.floats(0.001, 1e6))
def test_time_is_spent_when_used_up_and_stays_spent(
    wall_s: float, device_s: float, wall_allowed: float, device_allowed: float
) -> None:
    terms = BudgetTerms(wall_s=wall_allowed, device_s=device_allowed)
    is_spent = bool(exhausted_reason(terms, BudgetUsage(wall_s, device_s, 0, None)))
    assert is_spent == (wall_s >= wall_allowed or device_s >= device_allowed)
    assert not is_spent or exhausted_reason(terms, BudgetUsage(wall_s + 1, device_s + 1, 0, None))


@pytest.mark.parametrize(
    ("terms", "used", "reason", "fix"),
    [
        (BudgetTerms(device_s=7200), BudgetUsage(10, 7200.04, 0, None), "budget.device_s of 7,200 s is spent",
         "raise budget.device_s above 7,200.1"),
        (BudgetTerms(wall_s=0.5), BudgetUsage(1.25, 0, 0, None), "budget.wall_s of 0.5 s is spent",
         "raise budget.wall_s above 1.3"),
        (BudgetTerms(plateau=Plateau(trials=20, min_delta=1e-4)), BudgetUsage(0, 0, 20, None),
         "no better value by more than 0.0001 in 20 trials", "raise budget.plateau.trials above 20"),
        (BudgetTerms(plateau=Plateau(trials=1)), BudgetUsage(0, 0, 2, None), "no better value in 1 trial",
         "raise budget.plateau.trials above 2"),
        (BudgetTerms(target=0.92), BudgetUsage(0, 0, 0, CountedTrial(14, 0.923)),
         "target 0.92 reached by trial 14: 0.923", "give another target"),
    ],
)  # fmt: skip
def test_reached_limit_is_reported_with_fix(terms: BudgetTerms, used: BudgetUsage, reason: str, fix: str) -> None:
    assert exhausted_reason(terms, used) == reason
    assert continuation_advice(terms, used) == fix


def test_sweep_without_budget_is_never_spent() -> None:
    assert exhausted_reason(BudgetTerms(), BudgetUsage(1e9, 1e9, 10**6, None)) == ""


def test_terms_come_from_file_and_only_given_ones_change() -> None:
    found = spec(
        budget={"wall_s": 60, "plateau": {"trials": 5}}, metric={"name": "score", "goal": "maximize", "target": 0.9}
    )
    terms = BudgetTerms.of(found)
    assert (terms.wall_s, terms.device_s, terms.plateau, terms.target) == (60, None, Plateau(trials=5), 0.9)
    assert BudgetTerms.read(terms.to_json()) == terms
    changed = terms.changed(BudgetTerms(wall_s=90, target=None))
    assert (changed.wall_s, changed.plateau, changed.target) == (90, Plateau(trials=5), None)
    assert exhausted_reason(terms, NOTHING) == ""
