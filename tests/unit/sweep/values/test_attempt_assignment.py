"""The assignment of an attempt is unchanged after a JSON round trip."""

from __future__ import annotations

import json
from dataclasses import fields

from hypothesis import given
from hypothesis import strategies as st

from podium.sweep.values.attempt_assignment import Assignment, Limits

_FINITE = st.floats(allow_nan=False, allow_infinity=False)


@given(
    st.builds(
        Assignment,
        params=st.dictionaries(st.text(), st.none() | st.booleans() | st.integers() | _FINITE | st.text()),
        program=st.just({"function": "a:b"}),
        split=st.just({"split": [0.7, 0.1, 0.1, 0.1], "seed": 0}),
        limits=st.builds(Limits, *[_FINITE] * len(fields(Limits))),
    )
)
def test_assignment_is_unchanged_after_json_round_trip(assignment: Assignment) -> None:
    assert Assignment.from_dict(json.loads(json.dumps(assignment.to_dict()))) == assignment
