"""Reading sweep files: YAML, JSON and TOML are equivalent, and every error names file and line."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from podium.sweep.specfile.spec_file import read_spec_file
from podium.sweep.values.errors import InvalidSpecError, Problem

YAML = """\
# the learning rate matters most
name: small
metric:
  name: score
  goal: maximize
parameters:
  lr: {min: 1e-4, max: 0.1, log: true}
  depth:
    values: [1, 2]
enqueue:
  - lr: 0.01
  - lr: 0.02
    depth: 2
program:
  function: train:objective
"""
JSON = json.dumps(
    {
        "name": "small",
        "metric": {"name": "score", "goal": "maximize"},
        "parameters": {"lr": {"min": 1e-4, "max": 0.1, "log": True}, "depth": {"values": [1, 2]}},
        "enqueue": [{"lr": 0.01}, {"lr": 0.02, "depth": 2}],
        "program": {"function": "train:objective"},
    },
    indent=1,
)
TOML = """\
name = "small"
enqueue = [{lr = 0.01}, {lr = 0.02, depth = 2}]
[metric]
name = "score"
goal = "maximize"
[parameters.lr]
min = 1e-4
max = 0.1
log = true
[parameters.depth]
values = [1, 2]
[program]
function = "train:objective"
"""

_BOMB = "".join(f"{b}: &{b} [{', '.join([f'*{a}'] * 10)}]\n" for a, b in zip("abcdef", "bcdefg", strict=True))

Write = Callable[[str, str], Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Writes a sweep file: `write("sweep.yaml", text)`."""

    def write_file(name: str, text: str) -> Path:
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return path

    return write_file


def _problems(path: Path) -> list[Problem]:
    with pytest.raises(InvalidSpecError) as caught:
        read_spec_file(path)
    assert str(path) in str(caught.value)
    return caught.value.problems


@pytest.mark.parametrize(("name", "text"), [("s.yaml", YAML), ("s.yml", YAML), ("s.json", JSON), ("s.toml", TOML)])
def test_each_format_gives_the_same_spec(write: Write, name: str, text: str) -> None:
    spec, plain = read_spec_file(write(name, text))
    assert plain == json.loads(JSON)
    assert spec.parameters["lr"].min == 1e-4
    assert json.loads(json.dumps(plain)) == plain


@pytest.mark.parametrize(
    ("old", "new", "line", "key"),
    [
        ("name: small", "nam: small", 2, "nam"),
        ("goal: maximize", "goal: most", 5, "metric.goal"),
        ("{min: 1e-4, max: 0.1, log: true}", "{min: 1.0, max: 0.1}", 7, "parameters.lr.min"),
        ("{min: 1e-4,", "{min: 0,", 7, "parameters.lr.min"),
        ("values: [1, 2]", "values: []", 9, "parameters.depth.values"),
        ("lr: 0.02", "lr: 5.0", 12, "enqueue.1.lr"),
        ("depth: 2", "depth: 3", 13, "enqueue.1.depth"),
        ("train:objective", "train", 15, "program.function"),
    ],
)
def test_problem_names_line_of_its_key(write: Write, old: str, new: str, line: int, key: str) -> None:
    problems = _problems(write("s.yaml", YAML.replace(old, new, 1)))
    assert (line, key) in [(problem.line, problem.key) for problem in problems]


def test_missing_key_has_line_of_its_parent(write: Write) -> None:
    (problem,) = _problems(write("s.yaml", YAML.replace("  goal: maximize\n", "")))
    assert (problem.key, problem.line) == ("metric.goal", 3)


def test_json_and_toml_problems_have_lines(write: Write) -> None:
    (in_json,) = _problems(write("s.json", JSON.replace('"maximize"', '"most"')))
    assert (in_json.key, in_json.line) == ("metric.goal", 5)
    (in_toml,) = _problems(write("s.toml", TOML.replace('"maximize"', '"most"')))
    assert (in_toml.key, in_toml.line) == ("metric.goal", 5)


def test_json_may_be_indented_by_tabs(write: Write) -> None:
    (problem,) = _problems(write("s.json", JSON.replace("\n ", "\n\t").replace('"maximize"', '"most"')))
    assert (problem.key, problem.line) == ("metric.goal", 5)


def test_unknown_key_has_line_and_hint_in_each_format(write: Write) -> None:
    for name, text, line in (("s.yaml", YAML, 2), ("s.json", JSON, 2), ("s.toml", TOML, 1)):
        problems = _problems(write(name, text.replace("name", "nmae", 1)))
        assert (line, "unknown key 'nmae'; did you mean 'name'?") in [(p.line, p.message) for p in problems]


@pytest.mark.parametrize(
    ("name", "text", "message", "line"),
    [
        ("s.yaml", "name: [1, 2\nmetric: 3\n", "expected", 2),
        ("s.yaml", "name: a\nname: b\n", "duplicate key 'name' in the mapping", 2),
        ("s.json", '{"a": 1,\n "a": 2}', "duplicate key 'a' in the mapping", 2),
        ("s.toml", "a = 1\na = 2\n", "overwrite", 2),
        ("s.yaml", "metric:\n\tname: a\n", "indented with a tab; YAML requires spaces", 2),
        ("s.yaml", "name: a\n---\nname: b\n", "a second document begins here", 2),
        ("s.json", f'{{"a": {"9" * 5000}}}', "a number has too many digits", None),
        ("s.toml", f"a = {'9' * 5000}", "a number has too many digits", None),
        ("s.json", '{"a": 1,}', "not valid JSON: ", 1),
        ("s.json", "", "the file is empty", None),
        ("s.yaml", "   \n", "the file is empty", None),
        ("s.yaml", "# nothing yet\n", "a sweep file must be a mapping", None),
        ("s.yaml", "a: b: c\n", "not allowed here", 1),
        ("s.yaml", "just text", "a sweep file must be a mapping", None),
        ("s.yaml", "", "the file is empty; a sweep file must be a mapping", None),
        ("s.yaml", "- a\n- b\n", "a sweep file must be a mapping", None),
        ("s.toml", "name = \n", "not valid TOML: invalid value", 1),
        ("s.toml", "name = 'a\n", "not valid TOML", 1),
        ("s.yaml", "a: " + "[" * 40 + "]" * 40, "a is nested more than 32 levels deep", None),
        ("s.yaml", "a: \0", "a binary file", None),
        ("s.yaml", "a: &a [1,1,1,1,1,1,1,1,1,1]\n" + _BOMB, "must have at most 100,000 values", None),
    ],
)
def test_unparsable_file_is_rejected_with_line(
    write: Write, name: str, text: str, message: str, line: int | None
) -> None:
    (problem,) = _problems(write(name, text))
    assert message in problem.message
    assert problem.line == line


def test_missing_file_is_named(tmp_path: Path) -> None:
    (problem,) = _problems(tmp_path / "none.yaml")
    assert "No such file" in problem.message


def test_file_that_is_not_text_is_rejected(tmp_path: Path) -> None:
    path = tmp_path / "s.yaml"
    path.write_bytes(b"name: \xff\xfe")
    (problem,) = _problems(path)
    assert "not UTF-8 text (byte 6)" in problem.message


def test_yaml_tag_executes_nothing(write: Write, tmp_path: Path) -> None:
    tag = f"!!python/object/apply:os.mkdir [{tmp_path / 'made'}]"
    assert _problems(write("s.yaml", YAML.replace("name: small", f"name: {tag}")))
    assert not (tmp_path / "made").exists()


@pytest.mark.parametrize("number", [".inf", "-.inf", ".nan"])
def test_non_finite_number_is_rejected(write: Write, number: str) -> None:
    (problem,) = _problems(write("s.yaml", YAML.replace("lr: 0.02", f"lr: {number}")))
    assert (problem.key, problem.line) == ("enqueue.1.lr", 12)
    assert "must be a finite number" in problem.message


def test_non_finite_number_among_values_is_rejected_in_each_format(write: Write) -> None:
    """Read as a string, it would be an unintended choice."""
    for name, text, number in (("s.yaml", YAML, ".inf"), ("s.json", JSON, "NaN"), ("s.toml", TOML, "inf")):
        old = "1,\n    2" if name == "s.json" else "[1, 2]"
        new = f"1,\n    {number}" if name == "s.json" else f"[1, {number}]"
        (problem,) = _problems(write(name, text.replace(old, new)))
        assert (problem.key, problem.line is not None) == ("parameters.depth.values.1", True)


def test_quoted_non_finite_number_is_a_string(write: Write) -> None:
    _, plain = read_spec_file(write("s.yaml", YAML.replace("values: [1, 2]", "values: [1, 2, 'inf']")))
    assert plain["parameters"]["depth"]["values"] == [1, 2, "inf"]


def test_byte_order_mark_is_ignored(tmp_path: Path) -> None:
    for name, text in (("s.yaml", YAML), ("s.json", JSON), ("s.toml", TOML)):
        path = tmp_path / name
        path.write_text(text, encoding="utf-8-sig")
        assert read_spec_file(path)[1] == json.loads(JSON)


def test_windows_line_ends_count_as_lines(write: Write) -> None:
    for name, text, line in (("s.yaml", YAML, 5), ("s.json", JSON, 5), ("s.toml", TOML, 5)):
        path = write(name, "")
        path.write_bytes(text.replace("maximize", "most").replace("\n", "\r\n").encode())
        assert _problems(path)[0].line == line


def test_other_encoding_is_named(tmp_path: Path) -> None:
    path = tmp_path / "s.yaml"
    path.write_text(YAML, encoding="utf-16")
    assert "has the encoding UTF-16; save it as UTF-8" in _problems(path)[0].message


def test_huge_file_is_not_read_completely(tmp_path: Path) -> None:
    path = tmp_path / "s.yaml"
    with path.open("wb") as file:
        file.truncate(1 << 40)
    assert "exceeds 1 MB, too large for a sweep file" in _problems(path)[0].message


def test_folder_is_rejected(tmp_path: Path) -> None:
    assert "is a folder, not a file" in _problems(tmp_path)[0].message


def test_merged_key_has_line_of_its_anchor_or_use(write: Write) -> None:
    text = YAML.replace("lr: {min: 1e-4", "lr: &lr {min: 1e-4").replace(
        "  depth:\n    values: [1, 2]\n", "  depth: {<<: *lr, stepp: 1}\n"
    )
    problems = _problems(write("s.yaml", text))
    assert (8, "parameters.depth.stepp") in [(p.line, p.key) for p in problems]
