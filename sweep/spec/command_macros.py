"""Expands the macros of a script's command, with the syntax of W&B sweeps; api and trial process.

`${args}` expands to one word for each parameter, `--lr=0.01`; `${args_no_hyphens}` to `lr=0.01`;
`${args_no_boolean_flags}` is `${args}` with `--flag` for true and nothing for false; `${args_json}` is one word of
JSON, and `${args_json_file}` the path of a file with that JSON. `${lr}` is the value of one parameter, anywhere in a
word.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from podium.sweep.runtime.thread_count_variables import THREAD_VARIABLES
from podium.sweep.spec import builtin_catalog
from podium.sweep.values.attempt_assignment import Params, Scalar
from podium.sweep.values.errors import UserCodeError

DEFAULT_COMMAND = ("${env}", "${interpreter}", "${program}", "${args}")
_MACRO = re.compile(r"\$\{([^{}]*)\}")
_SEVERAL_WORDS = ("args", "args_no_hyphens", "args_no_boolean_flags")
_ONE_WORD = ("args_json", "args_json_file", "program", "interpreter", "env")
_VARIABLE = "envvar:"
# Environment variables that every trial has, wherever the service was started.
TRIAL_VARIABLES = (
    "CUDA_VISIBLE_DEVICES", "PATH", "PYTHONUNBUFFERED", "TMPDIR", *THREAD_VARIABLES,
    "PODIUM_ARTIFACTS", "PODIUM_METRICS", "PODIUM_OBJECTIVES", "PODIUM_PARAMS", "PODIUM_SEED", "PODIUM_TRIAL",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class MacroValues:
    """The values that the macros of one trial expand to."""

    params: Params
    interpreter: str
    script: str
    json_file: Path  # for `${args_json_file}`; written when that macro is expanded
    variables: Mapping[str, str]


def invalid_word_reason(word: str, parameters: Iterable[str], *, alone: bool = True) -> str | None:
    """Why the macros of a command word are invalid, or None; `alone`: whether the word may expand to several."""
    names = list(parameters)
    for name in _MACRO.findall(word):
        if name in _SEVERAL_WORDS:
            if not alone or word != f"${{{name}}}":
                return f"${{{name}}} expands to several words and must be a word of its own in the command"
        elif name not in _ONE_WORD and name not in names and not name.startswith(_VARIABLE):
            hint = builtin_catalog.did_you_mean(name, [*names, *_SEVERAL_WORDS, *_ONE_WORD])
            return f"${{{name}}}: no parameter or macro is named {name!r}; {hint}"
    return None


def expand_command(command: Iterable[str], meaning: MacroValues) -> list[str]:
    """The command with its macros expanded. A word that names an inactive parameter is omitted.

    Raises `UserCodeError` if an environment variable is not set.
    """
    words: list[str] = []
    for word in command:
        whole = _MACRO.fullmatch(word)
        if whole is not None and whole[1] in _SEVERAL_WORDS:
            words += macro_arguments(whole[1], meaning.params)
        elif (text := expand_word(word, meaning)) is not None:
            words.append(text)
    return words


def expand_variables(env: Mapping[str, str], meaning: MacroValues) -> dict[str, str]:
    """The variables of `program.env` with macros expanded; one that names an inactive parameter is omitted.

    Raises `UserCodeError` if an environment variable is not set.
    """
    values = {name: expand_word(word, meaning) for name, word in env.items()}
    return {name: value for name, value in values.items() if value is not None}


def environment_of_function(program: Mapping[str, Any], params: Params, json_file: Path) -> dict[str, str]:
    """The variables that `program.env` adds for a function; sweeps stored by older versions lack the key."""
    env = program.get("env")
    if not env:
        return {}
    return expand_variables(env, MacroValues(params, sys.executable, "", json_file, os.environ))


def missing_variables(words: Iterable[str], variables: Iterable[str]) -> list[str]:
    """The names after `${envvar:` in words that are not among `variables`, sorted."""
    known = {*variables, *TRIAL_VARIABLES}
    named = {
        name.removeprefix(_VARIABLE) for word in words for name in _MACRO.findall(word) if name.startswith(_VARIABLE)
    }
    return sorted(named - known)


def expand_word(word: str, meaning: MacroValues) -> str | None:
    """A word with its macros expanded; None if one names an inactive parameter."""
    names = _MACRO.findall(word)
    values = {name: _value(name, meaning) for name in names}
    if any(value is None for value in values.values()):
        return None
    return _MACRO.sub(lambda match: str(values[match[1]]), word)


def macro_arguments(macro: str, params: Params) -> list[str]:
    """The words that `${args}` or one of its variants expands to."""
    if macro == "args_no_hyphens":
        return [f"{name}={value}" for name, value in params.items()]
    if macro == "args_no_boolean_flags":
        return [_flag(name, value) for name, value in params.items() if value is not False]
    return [f"--{name}={value}" for name, value in params.items()]


def _flag(name: str, value: Scalar) -> str:
    return f"--{name}" if value is True else f"--{name}={value}"


def _value(name: str, meaning: MacroValues) -> str | None:
    if name in meaning.params:
        return str(meaning.params[name])
    if name in ("args_json", "args_json_file"):
        return _json(name, meaning)
    if name.startswith(_VARIABLE):
        variable = name.removeprefix(_VARIABLE)
        if variable not in meaning.variables:
            raise UserCodeError(f"program.command: environment variable {variable!r} is not set (${{{name}}})")
        return meaning.variables[variable]
    return {"program": meaning.script, "interpreter": meaning.interpreter, "env": "/usr/bin/env"}.get(name)


def _json(macro: str, meaning: MacroValues) -> str:
    text = json.dumps(meaning.params)
    if macro == "args_json":
        return text
    meaning.json_file.write_text(text)
    return str(meaning.json_file)
