"""The keys `after` and `fix_from`, checked without a service."""

from __future__ import annotations

from typing import Any

import pytest

from podium.sweep.spec.predecessors import FixFrom
from podium.sweep.values.errors import InvalidSpecError
from tests.specs import spec

FIX_X = {"sweep": "coarse", "parameters": ["x"]}


def test_sweeps_are_named_by_id_or_name() -> None:
    accepted = spec(after=[3, "coarse"], fix_from=FIX_X)
    assert accepted.after == [3, "coarse"]
    assert accepted.fix_from == FixFrom(sweep="coarse", parameters=["x"])


@pytest.mark.parametrize("changes, where, words", [
    ({"after": [3, 3]}, "after.1", "duplicate sweep 3; remove one"),
    ({"after": [0]}, "after.0", "must be the id or the name of a sweep, got 0"),
    ({"after": [True]}, "after.0", "must be"),
    ({"after": [""]}, "after.0", "must not be empty; write the id or the name of a sweep"),
    ({"after": 3}, "after", "list"),
    ({"fix_from": {"sweep": 3, "parameters": []}}, "fix_from.parameters", "must not be empty"),
    ({"fix_from": {"sweep": 3}}, "fix_from.parameters", ""),
    ({"fix_from": {"sweep": 3, "parameters": ["y"]}}, "fix_from.parameters.0", "unknown parameter 'y'"),
    ({"fix_from": {"sweep": 3, "parameters": ["x", "x"]}}, "fix_from.parameters.1", "duplicate parameter 'x'"),
    ({"fix_from": FIX_X, "enqueue": [{"x": 0.5}]}, "enqueue.0.x", "its value is taken by fix_from; remove it here"),
])  # fmt: skip
def test_invalid_references_are_refused_at_their_key(changes: dict[str, Any], where: str, words: str) -> None:
    with pytest.raises(InvalidSpecError) as caught:
        spec(**changes)
    assert where in [problem.key for problem in caught.value.problems]
    assert words in str(caught.value)
