"""The line of each key in a TOML document."""

from __future__ import annotations

import tomllib
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from podium.sweep.specfile.toml_lines import lines_of

TEXT = '''\
# a = 1
name = "a = [ # no comment"   # b = 2
"quoted key" = \'x\'
when = 1979-05-27 07:32:00
long = """
x = 1
[no]
"""
[a.b]
c.d = 1.5e-3
rows = [
  1,
  # between
  [2,
   3],
  {x = 4, y.z = [5]},
]
[[many]]
one = 1
[[many]]
two = {three = {four = 4}}
[many.below]
five = 5
[[many.more]]
six = 6
'''
LINES = {
    ("name",): 2, ("quoted key",): 3, ("when",): 4, ("long",): 5, ("a",): 9, ("a", "b"): 9, ("a", "b", "c"): 10,
    ("a", "b", "c", "d"): 10, ("a", "b", "rows"): 11, ("a", "b", "rows", "0"): 12, ("a", "b", "rows", "1"): 14,
    ("a", "b", "rows", "1", "0"): 14, ("a", "b", "rows", "1", "1"): 15, ("a", "b", "rows", "2"): 16,
    ("a", "b", "rows", "2", "x"): 16, ("a", "b", "rows", "2", "y"): 16, ("a", "b", "rows", "2", "y", "z"): 16,
    ("a", "b", "rows", "2", "y", "z", "0"): 16, ("many",): 18, ("many", "0"): 18, ("many", "0", "one"): 19,
    ("many", "1"): 20, ("many", "1", "two"): 21, ("many", "1", "two", "three"): 21,
    ("many", "1", "two", "three", "four"): 21, ("many", "1", "below"): 22, ("many", "1", "below", "five"): 23,
    ("many", "1", "more"): 24, ("many", "1", "more", "0"): 24, ("many", "1", "more", "0", "six"): 25,
}  # fmt: skip


def test_each_key_and_element_has_its_line() -> None:
    assert lines_of(TEXT) == LINES


def test_keys_match_those_of_tomllib() -> None:
    assert set(lines_of(TEXT)) == set(_locations(tomllib.loads(TEXT), ()))


@given(
    st.lists(
        st.tuples(
            st.from_regex(r"[A-Za-z0-9_-]{1,6}", fullmatch=True),
            st.sampled_from(["1", "'#'", '"]"', "[1, [2]]", "{a = 1}", "true", "-1.5", "[\n1,\n2 # two\n]"]),
        ),
        unique_by=lambda pair: pair[0],
    )
)
def test_arbitrary_plain_keys_match_those_of_tomllib(pairs: list[tuple[str, str]]) -> None:
    text = "".join(f"{key} = {value}\n" for key, value in pairs)
    assert set(lines_of(text)) == set(_locations(tomllib.loads(text), ()))


def _locations(node: Any, where: tuple[str, ...]) -> list[tuple[str, ...]]:
    pairs = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else []
    found: list[tuple[str, ...]] = []
    for key, value in pairs:
        found += [(*where, str(key)), *_locations(value, (*where, str(key)))]
    return found
