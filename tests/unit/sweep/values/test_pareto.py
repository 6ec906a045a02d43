"""Non-dominated sorting, against its definition."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from podium.sweep.lifecycle.pareto import fronts

GOALS = st.sampled_from(["maximize", "minimize"])


def dominates(one: Sequence[float], other: Sequence[float], goals: Sequence[str]) -> bool:
    """The definition of Pareto dominance."""
    gains = [a - b if goal == "maximize" else b - a for a, b, goal in zip(one, other, goals, strict=True)]
    return min(gains) >= 0 and max(gains) > 0


@st.composite
def problems(draw: st.DrawFn) -> tuple[list[list[float]], list[str]]:
    goals = draw(st.lists(GOALS, min_size=2, max_size=4))
    # Few different values, so that there are ties; integers, so that differences are exact.
    value = st.integers(0, 4).map(float)
    points = draw(st.lists(st.lists(value, min_size=len(goals), max_size=len(goals)), max_size=30))
    return points, goals


@given(problems())
def test_first_front_is_not_dominated(problem: tuple[list[list[float]], list[str]]) -> None:
    points, goals = problem
    expected = [i for i, point in enumerate(points) if not any(dominates(other, point, goals) for other in points)]
    assert fronts(points, goals) == ([expected] if points else [])


@given(problems())
def test_each_front_is_first_front_of_remaining_points(problem: tuple[list[list[float]], list[str]]) -> None:
    points, goals = problem
    remaining = list(range(len(points)))
    for front in fronts(points, goals, at_least=len(points)):
        (expected,) = fronts([points[i] for i in remaining], goals)
        assert front == [remaining[i] for i in expected]
        remaining = [i for i in remaining if i not in front]
    assert not remaining


@given(problems(), st.integers(1, 40))
def test_number_of_fronts_is_limited(problem: tuple[list[list[float]], list[str]], at_least: int) -> None:
    points, goals = problem
    found = fronts(points, goals, at_least)
    assert sum(map(len, found)) >= min(at_least, len(points))
    assert sum(map(len, found[:-1])) < at_least
    assert found == fronts(points, goals, len(points))[: len(found)]


@given(problems())
def test_best_of_each_objective_is_on_first_front(problem: tuple[list[list[float]], list[str]]) -> None:
    points, goals = problem
    (front,) = fronts(points, goals) or [[]]
    for index, goal in enumerate(goals if points else []):
        best = (max if goal == "maximize" else min)(point[index] for point in points)
        assert best in [points[i][index] for i in front]
