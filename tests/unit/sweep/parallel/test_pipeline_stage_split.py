"""How layers are split into stages."""

from __future__ import annotations

from itertools import combinations, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podium.sweep.parallel import pipeline_stage_split
from podium.sweep.values.errors import ParallelError


def largest(weights: list[int], starts: list[int]) -> int:
    """The weight of the largest stage."""
    return max(sum(weights[start:end]) for start, end in pairwise([0, *starts, len(weights)]))


@given(st.lists(st.integers(0, 50), min_size=1, max_size=8), st.data())
def test_no_other_split_has_a_smaller_largest_stage(weights: list[int], data: st.DataObject) -> None:
    stages = data.draw(st.integers(1, len(weights)))
    starts = pipeline_stage_split.balanced(weights, stages)
    assert pipeline_stage_split.check(starts, len(weights), stages) == starts
    others = (largest(weights, list(each)) for each in combinations(range(1, len(weights)), stages - 1))
    assert largest(weights, starts) == min(others)


def test_fewer_layers_than_stages_are_refused() -> None:
    with pytest.raises(ParallelError, match="2 layers cannot be split into 3 stages"):
        pipeline_stage_split.balanced([5, 5], 3)


@pytest.mark.parametrize("starts", [[], [0, 1], [2, 1], [1, 5], [2, 2]])
def test_a_split_with_an_empty_stage_is_refused(starts: list[int]) -> None:
    with pytest.raises(ParallelError, match=r"write 2 ascending layer numbers from 1 to 4"):
        pipeline_stage_split.check(starts, layers=5, stages=3)
