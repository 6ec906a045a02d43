"""Reading sweep files: YAML, JSON and TOML say the same, and every error names file and line."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from sweep.errors import InvalidSpecError, Problem
from sweep.spec_file import read_spec_file

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
        ("depth: 2", "dept: 2", 13, "enqueue.1.dept"),
        ("train:objective", "train", 15, "program.function"),
    ],
)
def test_a_problem_names_the_line_of_its_key(write: Write, old: str, new: str, line: int, key: str) -> None:
    problems = _problems(write("s.yaml", YAML.replace(old, new, 1)))
    assert (line, key) in [(problem.line, problem.key) for problem in problems]


def test_what_is_missing_has_the_line_of_the_key_above_it(write: Write) -> None:
    (problem,) = _problems(write("s.yaml", YAML.replace("  goal: maximize\n", "")))
    assert (problem.key, problem.line) == ("metric.goal", 3)


def test_json_has_lines_and_toml_has_keys(write: Write) -> None:
    (in_json,) = _problems(write("s.json", JSON.replace('"maximize"', '"most"')))
    assert (in_json.key, in_json.line) == ("metric.goal", 5)
    (in_toml,) = _problems(write("s.toml", TOML.replace('"maximize"', '"most"')))
    assert (in_toml.key, in_toml.line) == ("metric.goal", None)


@pytest.mark.parametrize(
    ("name", "text", "message", "line"),
    [
        ("s.yaml", "name: [1, 2\nmetric: 3\n", "expected", 2),
        ("s.yaml", "name: a\nname: b\n", "name", 2),
        ("s.yaml", "a: b: c\n", "not allowed here", 1),
        ("s.yaml", "just text", "a mapping of keys to values", None),
        ("s.yaml", "", "a mapping of keys to values", None),
        ("s.yaml", "- a\n- b\n", "a mapping of keys to values", None),
        ("s.toml", "name = \n", "line 1", None),
    ],
)
def test_a_file_that_cannot_be_parsed_says_where(
    write: Write, name: str, text: str, message: str, line: int | None
) -> None:
    (problem,) = _problems(write(name, text))
    assert message in problem.message
    assert problem.line == line


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    (problem,) = _problems(tmp_path / "none.yaml")
    assert "No such file" in problem.message


def test_a_file_that_is_not_text_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "s.yaml"
    path.write_bytes(b"name: \xff\xfe")
    (problem,) = _problems(path)
    assert "not UTF-8 text (byte 6)" in problem.message


def test_a_yaml_tag_runs_nothing(write: Write, tmp_path: Path) -> None:
    tag = f"!!python/object/apply:os.mkdir [{tmp_path / 'made'}]"
    assert _problems(write("s.yaml", YAML.replace("name: small", f"name: {tag}")))
    assert not (tmp_path / "made").exists()


@pytest.mark.parametrize("number", [".inf", "-.inf", ".nan"])
def test_a_number_that_is_not_finite_is_refused(write: Write, number: str) -> None:
    problems = _problems(write("s.yaml", YAML.replace("lr: 0.02", f"lr: {number}")))
    assert problems[0].key == "enqueue.1.lr"
