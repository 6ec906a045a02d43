"""Selection: the k best, ties to the earlier trial, NaN never, too few is an error that says so."""

from __future__ import annotations

import math
from itertools import pairwise
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ensemble.selection import Candidate, top_k
from sweep.errors import EnsembleError

# Few distinct values, so that ties are common.
values = st.one_of(st.sampled_from([0.0, 0.5, -0.0, 1.0]), st.floats(allow_nan=False), st.just(math.nan))
candidates = st.lists(values, max_size=12).map(
    lambda found: [Candidate(100 + number, number, value) for number, value in enumerate(found)]
)
goals = st.sampled_from(["maximize", "minimize"])


def _better(one: float, other: float, goal: str) -> bool:
    return one > other if goal == "maximize" else one < other


@given(candidates, goals, st.data())
def test_no_one_left_out_is_better_than_one_chosen(found: list[Candidate], goal: str, data: st.DataObject) -> None:
    valid = [c for c in found if not math.isnan(c.value)]
    k = data.draw(st.integers(0, len(valid)))
    chosen = top_k(found, k, goal)
    assert len(chosen) == len(set(chosen)) == k
    assert not any(math.isnan(c.value) for c in chosen)
    left = [c for c in valid if c not in chosen]
    assert not any(_better(out.value, member.value, goal) for out in left for member in chosen)
    assert not any(out.value == member.value and out.number < member.number for out in left for member in chosen)


@given(candidates, goals)
def test_best_first_and_ties_by_earlier_trial(found: list[Candidate], goal: str) -> None:
    valid = [c for c in found if not math.isnan(c.value)]
    chosen = top_k(found, len(valid), goal)
    for one, following in pairwise(chosen):
        assert not _better(following.value, one.value, goal)
        assert one.value != following.value or one.number < following.number


@given(candidates, goals, st.randoms())
def test_the_order_in_which_candidates_come_does_not_matter(found: list[Candidate], goal: str, random: Random) -> None:
    k = sum(not math.isnan(c.value) for c in found) // 2
    shuffled = sorted(found, key=lambda _: random.random())
    assert top_k(shuffled, k, goal) == top_k(found, k, goal)


@pytest.mark.parametrize("goal", ["maximize", "minimize"])
@pytest.mark.parametrize(
    ("found", "k", "there_are"),
    [([], 1, 0), ([0.5], 2, 1), ([0.5, math.nan, math.nan], 2, 1), ([math.nan], 1, 0)],
)
def test_fewer_than_k_is_an_error_with_both_numbers(found: list[float], k: int, there_are: int, goal: str) -> None:
    with pytest.raises(EnsembleError, match=f"k is {k}, but only {there_are} finished trials"):
        top_k([Candidate(n, n, value) for n, value in enumerate(found)], k, goal)


def test_infinite_values_are_values() -> None:
    found = [Candidate(n, n, value) for n, value in enumerate([0.0, math.inf, -math.inf])]
    assert [c.number for c in top_k(found, 3, "maximize")] == [1, 0, 2]
    assert [c.number for c in top_k(found, 3, "minimize")] == [2, 0, 1]
