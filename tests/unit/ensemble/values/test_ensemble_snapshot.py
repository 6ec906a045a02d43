"""The snapshot of a version: its combination is read back as stored."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from podium.ensemble.values.ensemble_snapshot import Combination, Stacking
from podium.ensemble.values.ensemble_spec import Rule, Task

numbers = st.floats(allow_nan=False, allow_infinity=False)


@given(
    st.builds(
        Combination,
        task=st.sampled_from(Task),
        rule=st.sampled_from(Rule),
        weights=st.lists(numbers).map(tuple),
        temperature=numbers,
        noise_variance=st.lists(numbers).map(tuple),
        stacking=st.none()
        | st.builds(Stacking, st.lists(st.lists(numbers).map(tuple)).map(tuple), st.lists(numbers).map(tuple)),
    )
)
def test_combination_is_read_back_as_stored(combination: Combination) -> None:
    assert Combination.from_json(combination.to_json()) == combination
