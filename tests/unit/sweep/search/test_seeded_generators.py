"""A generator that is constructed faster gives the numbers of NumPy's own."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from podium.sweep.search.seeded_generators import seeded_generator


@given(st.integers(0, 2**32 - 1))
def test_numbers_equal_those_of_numpys_generator(seed: int) -> None:
    own, numpys = seeded_generator(seed), np.random.RandomState(seed)
    for size in (1, 700):  # the second exceeds the 624 words of the state
        assert own.random_sample(size).tolist() == numpys.random_sample(size).tolist()
        assert own.standard_normal(size).tolist() == numpys.standard_normal(size).tolist()
        assert own.randint(0, 1000, size).tolist() == numpys.randint(0, 1000, size).tolist()
    assert own.choice(9, 4, replace=False).tolist() == numpys.choice(9, 4, replace=False).tolist()


def test_generators_are_independent() -> None:
    first, second = seeded_generator(1), seeded_generator(1)
    values = first.random_sample(3).tolist()
    assert second.random_sample(3).tolist() == values
    assert first.random_sample(3).tolist() != values
