"""Macros of a script's command, and programs that are rejected before a trial runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from podium.sweep.spec.command_macros import (
    DEFAULT_COMMAND,
    MacroValues,
    expand_command,
    expand_word,
    invalid_word_reason,
)
from podium.sweep.spec.program import CommandProgram
from podium.sweep.spec.sweep_spec import parse_spec
from podium.sweep.values.attempt_assignment import Params
from podium.sweep.values.errors import InvalidSpecError, UserCodeError
from tests.specs import document

PARAMS: Params = {"lr": 0.01, "name": "a b", "nesterov": True, "amp": False, "clip": None}


def _meaning(tmp_path: Path, params: Params = PARAMS) -> MacroValues:
    return MacroValues(params, "/usr/bin/python3", "train.py", tmp_path / "args.json", {"HOME": "/home/me"})


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (["${args}"], ["--lr=0.01", "--name=a b", "--nesterov=True", "--amp=False", "--clip=None"]),
        (["${args_no_hyphens}"], ["lr=0.01", "name=a b", "nesterov=True", "amp=False", "clip=None"]),
        (["${args_no_boolean_flags}"], ["--lr=0.01", "--name=a b", "--nesterov", "--clip=None"]),
        (["a", "--rate=${lr}", "${lr}-${name}"], ["a", "--rate=0.01", "0.01-a b"]),
        (["${env}", "${interpreter}", "${program}"], ["/usr/bin/env", "/usr/bin/python3", "train.py"]),
        (["${envvar:HOME}/data", "$HOME", "{lr}"], ["/home/me/data", "$HOME", "{lr}"]),
        (["--momentum=${momentum}", "b"], ["b"]),
    ],
)
def test_macros_expand_to_words(tmp_path: Path, command: list[str], words: list[str]) -> None:
    assert expand_command(command, _meaning(tmp_path)) == words


def test_value_is_never_expanded_as_macro(tmp_path: Path) -> None:
    meaning = _meaning(tmp_path, {"a": "${b}", "b": "x"})
    assert expand_command(["${a}", "${args}"], meaning) == ["${b}", "--a=${b}", "--b=x"]


def test_args_json_contains_all_parameters(tmp_path: Path) -> None:
    word, path = expand_command(["${args_json}", "${args_json_file}"], _meaning(tmp_path))
    assert json.loads(word) == json.loads(Path(path).read_text()) == PARAMS


def test_missing_environment_variable_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserCodeError, match="environment variable 'NOWHERE' is not set"):
        expand_word("${envvar:NOWHERE}", _meaning(tmp_path))


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("${lrr}", "no parameter or macro is named 'lrr'; did you mean 'lr'?"),
        ("${arg}", "did you mean 'args'?"),
        ("--all=${args}", "must be a word of its own"),
    ],
)
def test_unknown_macro_is_rejected(word: str, message: str) -> None:
    complaint = invalid_word_reason(word, ["lr"])
    assert complaint is not None and message in complaint


def _program(**changes: Any) -> dict[str, Any]:
    return {"command": ["python", "train.py", "${args}"], "code": ".", **changes}


def test_script_is_a_program() -> None:
    spec = parse_spec(document(program=_program(metrics={"score": "score ([0-9.]+)"}, env={"A": "${x}"})))
    assert isinstance(spec.program, CommandProgram)
    assert parse_spec(json.loads(spec.to_json())) == spec


def test_script_without_command_gets_wandb_default() -> None:
    program = parse_spec(document(program={"script": "train.py", "code": "."})).program
    assert isinstance(program, CommandProgram) and tuple(program.command) == DEFAULT_COMMAND


@pytest.mark.parametrize(
    ("changes", "key", "message"),
    [
        (
            {"command": "python train.py ${args}"},
            "program.command",
            'must be a list of words, got a string; write [python, train.py, "${ar',
        ),
        ({"command": []}, "program.command", "must not be empty"),
        ({"command": ["python", "${xx}"]}, "program.command.1", "did you mean 'x'?"),
        ({"command": ["python", "${program}"]}, "program.script", "for example, script: train.py"),
        ({"metrics": {"score": "score ([0-9"}}, "program.metrics.score", "invalid regular expression"),
        ({"metrics": {"score": "score [0-9]+"}}, "program.metrics.score", "has no capturing group for the value"),
        ({"metrics": {"score": "(?P<step>[0-9]+)"}}, "program.metrics.score", "has no capturing group for the value"),
        ({"env": {"A": "${y}"}}, "program.env.A", "no parameter or macro is named 'y'"),
        ({"env": {"A": "${args}"}}, "program.env.A", "must be a word of its own"),
        ({"env": {"CUDA_VISIBLE_DEVICES": "0"}}, "program.env.CUDA_VISIBLE_DEVICES", "Podium sets it"),
        ({"env": {"PODIUM_METRICS": "x"}}, "program.env.PODIUM_METRICS", "Podium sets it"),
        ({"env": {"A B": "x"}}, "program.env.A B", "not a valid environment variable name"),
        ({"preload": ["torch"]}, "program.preload", "cannot be combined with the other keys"),
    ],
)
def test_invalid_script_program_is_rejected_with_key(changes: dict[str, Any], key: str, message: str) -> None:
    with pytest.raises(InvalidSpecError) as caught:
        parse_spec(document(program=_program(**changes)))
    (problem,) = caught.value.problems
    assert problem.key == key and message in problem.message


@pytest.mark.parametrize(
    ("changes", "key", "message"),
    [
        ({"preload": ["a-b"]}, "program.preload.0", "not a package name"),
        ({"preload": ["torch", "podium.db"]}, "program.preload.1", "part of Podium"),
        ({"argument": "both"}, "program.argument", "one of trial, config"),
    ],
)
def test_invalid_function_program_is_rejected_with_key(changes: dict[str, Any], key: str, message: str) -> None:
    with pytest.raises(InvalidSpecError) as caught:
        parse_spec(document(program={"function": "train:objective", **changes}))
    (problem,) = caught.value.problems
    assert problem.key == key and message in problem.message


def test_only_function_may_have_no_parameters() -> None:
    assert parse_spec(document(parameters={})).parameters == {}
    for changes in ({"program": _program(command=["a"])}, {"method": "grid"}):
        with pytest.raises(InvalidSpecError, match=r"at least (1|one)"):
            parse_spec(document(parameters={}, **changes))


def test_script_with_ensemble_is_rejected() -> None:
    with pytest.raises(InvalidSpecError, match="save no networks"):
        parse_spec(document(program=_program(), ensemble={"k": 2}))
