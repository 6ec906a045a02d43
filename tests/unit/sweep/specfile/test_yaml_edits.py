"""Edits of sweep files by key: unchanged lines are kept as written, and the result has the edited values."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podium.sweep.specfile.document_parser import parse_document, read_document
from podium.sweep.specfile.form_edits import Change, apply_changes, number_literals
from podium.sweep.specfile.yaml_edits import rewrite
from podium.sweep.specfile.yaml_writer import scalar, to_yaml
from podium.sweep.values.errors import InvalidSpecError

DIGITS = Path("examples/digits.yaml")
EXAMPLES = sorted(Path("examples").rglob("*.yaml"))


def plain(text: str) -> dict[str, Any]:
    return parse_document(Path("sweep.yaml"), text).plain


def set_(path: str, value: str | None) -> Change:
    return Change(tuple(path.split(".")), value)


def lines_that_differ(one: str, other: str) -> list[str]:
    before = one.splitlines()
    return [line for line in other.splitlines() if line not in before]


def test_value_is_replaced_in_place() -> None:
    text = DIGITS.read_text()
    found = apply_changes(text, [set_("parameters.lr.max", "1.0"), set_("seed", "8")])
    assert lines_that_differ(text, found) == ["seed: 8", "  lr:        {min: 3e-4, max: 1.0, log: true}"]
    assert found.count("#") == text.count("#")


def test_keys_are_added_and_removed_without_changing_others() -> None:
    text = DIGITS.read_text()
    added = apply_changes(
        text, [set_("parameters.weight_decay", "{min: 1e-5, max: 0.1, log: true}"), set_("budget.wall_s", "60")]
    )
    assert lines_that_differ(text, added) == [
        "  weight_decay: {min: 1e-5, max: 0.1, log: true}",
        "budget: {wall_s: 60}",
    ]
    removed = apply_changes(text, [set_("parameters.momentum", None), set_("ensemble", None)])
    assert lines_that_differ(text, removed) == []
    assert set(plain(text)) - set(plain(removed)) == {"ensemble"}
    assert "momentum" not in plain(removed)["parameters"]


def test_empty_block_is_removed_with_its_last_key() -> None:
    assert apply_changes("a: 1\nbudget: {wall_s: 3}\n", [set_("budget.wall_s", None)]) == "a: 1\n"
    assert plain(apply_changes("parameters:\n  lr: {value: 1}\n", [set_("parameters.lr", None)])) == {"parameters": {}}


def test_integer_and_float_are_distinguished() -> None:
    assert apply_changes("a: 1\n", [set_("a", "1.0")]) == "a: 1.0\n"
    assert apply_changes("a: 1 # one\nb:\n# two\nc: 3\n", [set_("b.d", "2")]) == "a: 1 # one\nb: {d: 2}\n# two\nc: 3\n"
    assert number_literals("a: {b/c: 1e-3, d: [0x10, text]}") == {"/a/b~1c": "1e-3", "/a/d/0": "0x10"}


@pytest.mark.parametrize("text", ["a: &x {k: 1}\nb: *x\n", "a: |\n  some\n  text\nb: 2\n", "{a: 1, b: {c: 2}}", "- 1"])
def test_document_is_rewritten_when_value_cannot_be_replaced(text: str) -> None:
    if text == "- 1":
        with pytest.raises(InvalidSpecError, match="mapping"):
            apply_changes(text, [set_("a", "3")])
        return
    expected = {**plain(text), "a": 3}
    assert plain(apply_changes(text, [set_("a", "3")])) == expected


@pytest.mark.parametrize("separator", ["\u2028", "\u2029"])
def test_line_separators_in_values_are_kept(separator: str) -> None:
    text = f"a{separator}b"
    assert plain(apply_changes("a: 1\n", [set_("a", f'"{text}"')])) == {"a": text}
    assert plain(apply_changes("a: 1\n", [set_("a", '"a\\u0085b"')])) == {"a": "a\x85b"}


def test_unprintable_character_is_rejected() -> None:
    with pytest.raises(InvalidSpecError, match="is not valid YAML"):
        apply_changes("a: 1\n", [set_("a", '"a\x1cb"')])


@pytest.mark.parametrize("value", ["{", "a: b: c", "[1, 2", "*no"])
def test_invalid_yaml_value_is_rejected_with_key(value: str) -> None:
    with pytest.raises(InvalidSpecError) as caught:
        apply_changes("a: 1\n", [set_("b.c", value)])
    assert caught.value.problems[0].location == ("b", "c")


@pytest.mark.parametrize("place", ["b", "2", "-1", "9999999"])
def test_list_index_beyond_end_is_rejected(place: str) -> None:
    with pytest.raises(InvalidSpecError, match="is not an index of a list with 1 items"):
        apply_changes("a: [1]\n", [set_(f"a.{place}", "1")])
    with pytest.raises(InvalidSpecError, match="a is not a mapping"):
        apply_changes("a: 1\n", [set_(f"a.{place}", "1")])


LISTS = """\
# what to measure
metrics:
  - {name: accuracy, goal: maximize}  # on validation
  - name: size  # in MB
    goal: minimize
enqueue:  # known ones
- {lr: 1e-3}  # the old default
- {lr: 1e-2}
# the end
run_cap: 8
"""


def test_list_items_are_changed_in_place() -> None:
    found = apply_changes(LISTS, [set_("metrics.1.goal", "maximize"), set_("enqueue.0.lr", "2.0e-3")])
    assert lines_that_differ(LISTS, found) == ["    goal: maximize", "- {lr: 2.0e-3}  # the old default"]
    found = apply_changes(LISTS, [set_("metrics.0.target", "9e-1"), set_("enqueue.2", "{lr: 5e-5}")])
    assert lines_that_differ(LISTS, found) == [
        "  - {name: accuracy, goal: maximize, target: 9e-1}  # on validation",
        "- {lr: 5e-5}",
    ]
    assert found.count("#") == LISTS.count("#")
    assert found.index("5e-5") < found.index("# the end")


def test_objectives_and_enqueued_configurations_have_a_line_each() -> None:
    found = apply_changes(
        "a: 1\n", [set_("enqueue", "[{}]"), set_("enqueue.0.lr", "1e-3"), set_("enqueue.1", "{lr: 2}")]
    )
    assert found == "a: 1\nenqueue:\n  - {lr: 1e-3}\n  - {lr: 2}\n"


def test_removed_item_keeps_others_and_empty_list_is_removed() -> None:
    found = apply_changes(LISTS, [set_("enqueue.0", None)])
    assert found == LISTS.replace("- {lr: 1e-3}  # the old default\n", "")
    found = apply_changes(LISTS, [set_("metrics.0", None), set_("enqueue.1", None), set_("enqueue.0", None)])
    assert plain(found) == {"metrics": [{"name": "size", "goal": "minimize"}], "run_cap": 8}
    assert "# what to measure" in found and "# in MB" in found and "# the end" in found
    assert plain(apply_changes(LISTS, [set_("enqueue.0.lr", None)]))["enqueue"] == [{}, {"lr": 0.01}]


def test_added_key_replaces_removed_one_in_place() -> None:
    text = "a: 1\nmetric: {name: x, goal: maximize}  # by hand\nb: 1e-4\n"
    found = apply_changes(text, [set_("metric", None), set_("metrics", "[{name: x, goal: maximize, target: 1e-2}]")])
    assert found == "a: 1\nmetrics:  # by hand\n  - {name: x, goal: maximize, target: 1e-2}\nb: 1e-4\n"


def test_numbers_keep_spelling_when_block_is_rewritten() -> None:
    text = "p:\n  lr: {min: 1e-4, max: 1.0e-1, log: true}  # wide\n  w: &w {value: 0x10}\n"
    found = apply_changes(text, [set_("p.lr.log", None), set_("p.lr.step", "1e-5")])
    assert "lr: {min: 1e-4, max: 1.0e-1, step: 1e-5}  # wide" in found
    assert plain(found)["p"]["w"] == {"value": 16}


def test_other_comments_are_kept_when_block_is_emptied() -> None:
    text = "a: 1  # one\nparameters:  # of what\n  lr: {value: 1}\nb: |  # more\n  two\n  lines\nc: 3  # three\n"
    found = apply_changes(text, [set_("parameters.lr", None), set_("b", "one line")])
    assert found == 'a: 1  # one\nparameters: {}\nb: "one line"\nc: 3  # three\n'


@pytest.mark.parametrize("file", EXAMPLES, ids=str)
def test_rewritten_example_is_equal(file: Path) -> None:
    document = read_document(file).plain
    assert plain(to_yaml(document)) == document
    assert rewrite(file.read_text(), document) == file.read_text()


NAMES = st.sampled_from(["a", "b", "lr", "y", "no", "1", "x y", "é: #"])
SCALARS = st.none() | st.booleans() | st.integers(-(10**9), 10**9) | st.floats(allow_nan=False, allow_infinity=False)
TEXTS = st.text(st.characters(codec="utf-8") | st.sampled_from('\0\x7f\x85\u2028\ufeff\uffff\n\t"\\'), max_size=12)
VALUES = st.recursive(
    SCALARS | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=8,
)
DOCUMENTS = st.dictionaries(NAMES, VALUES, min_size=1, max_size=4)


@given(st.text(st.characters(codec="utf-8") | st.sampled_from("\x7f\x85\u2028\ufeff"), min_size=1, max_size=12))
def test_string_of_any_characters_round_trips(text: str) -> None:
    assert plain(apply_changes("a: 1\n", [set_("b", scalar(text))]))["b"] == text


@given(DOCUMENTS, DOCUMENTS)
def test_rewritten_document_has_new_values(old: dict[str, Any], new: dict[str, Any]) -> None:
    text = to_yaml(old)
    assert plain(text) == old
    assert plain(rewrite(text, new)) == new
