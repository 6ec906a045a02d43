"""Converts a Weights & Biases sweep file to an equivalent Podium sweep file; CLI and api process.

Its keys are those of https://docs.wandb.ai/models/sweeps/sweep-config-keys. Keys without an equivalent are reported in
notes. Podium's own blocks (`limits`, `ensemble`, `seed`, …) are allowed, too.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from podium.sweep.spec import builtin_catalog
from podium.sweep.spec.sweep_spec import MAX_RUN_CAP
from podium.sweep.specfile.wandb_metric_source import metrics_of
from podium.sweep.specfile.wandb_parameters import convert_parameters, grid_size
from podium.sweep.values.errors import InvalidSpecError, Problem

Location = tuple[str, ...]
_IGNORED = {
    "entity": "Podium has no entities",
    "controller": "Podium's scheduler controls the sweep",
}
_CONVERTED = ("program", "command", "metrics", "env", *_IGNORED)
_METHODS = ("bayes", "random", "grid")
_LAUNCH = "W&B Launch jobs are not supported; replace `job` by `program: train.py`, with the script that the job runs"


@dataclass(frozen=True, slots=True)
class ConvertedFile:
    """The converted document, notes on the conversion, and the keys that are elsewhere in the file."""

    document: dict[str, Any]
    notes: tuple[str, ...]
    origins: Mapping[Location, Location]
    problems: tuple[Problem, ...] = ()  # at keys of the file; the rest can still be checked


def is_wandb(plain: Mapping[str, Any]) -> bool:
    """Whether a document has W&B's syntax: `program` is the name of a script, or `command` is a top-level key."""
    program = plain.get("program")
    if isinstance(program, dict):
        return False
    return isinstance(program, str) or bool({"command", "project", "entity", "job"} & plain.keys())


def convert(plain: Mapping[str, Any], path: Path, *, has_folder: bool = True) -> ConvertedFile:
    """The converted document. Without a folder, the code is not inspected.

    Keys that cannot be converted are reported in `problems` and replaced by valid placeholders, so that the rest can
    be checked. Raises `InvalidSpecError` for a W&B Launch file, which has no script.
    """
    if "job" in plain:
        raise InvalidSpecError.at(("job",), _LAUNCH)
    notes = [f"{key}: ignored; {why}" for key, why in _IGNORED.items() if key in plain]
    origins: dict[Location, Location] = {}
    problems: list[Problem] = []
    document = {key: value for key, value in plain.items() if key not in _CONVERTED}
    document.setdefault("name", path.stem[:120])
    document["method"] = _collect_problems(problems, lambda: _method(plain, notes), "random")
    document["metric"] = _collect_problems(problems, lambda: _metric(plain), {"name": "val_loss", "goal": "minimize"})
    document["parameters"] = convert_parameters(plain.get("parameters"), notes, origins, problems)
    if isinstance(plain.get("early_terminate"), dict):
        document["early_terminate"] = _early_terminate(plain["early_terminate"], notes)
    if "run_cap" not in plain:
        document |= _run_cap(document, notes)
    program = _collect_problems(problems, lambda: _program(plain, origins), {"script": "train.py", "code": "."})
    document["program"] = program
    folder = path.absolute().parent if has_folder else None
    if not any(problem.location[:1] == ("metric",) for problem in problems):
        program["metrics"] = _collect_problems(problems, lambda: metrics_of(plain, folder, notes), {})
    return ConvertedFile(document, tuple(notes), origins, tuple(problems))


def _collect_problems(problems: list[Problem], converted: Callable[[], Any], instead: Any) -> Any:
    """The result of a conversion step; if it fails, `instead`, and its errors are added to `problems`."""
    try:
        return converted()
    except InvalidSpecError as error:
        problems += error.problems
        return instead


def _method(plain: Mapping[str, Any], notes: list[str]) -> Any:
    given = plain.get("method")
    if given == "bayes":
        notes.append("method: bayes is converted to tpe")
    elif isinstance(given, str) and given not in _METHODS and (close := difflib.get_close_matches(given, _METHODS, 1)):
        raise InvalidSpecError.at(("method",), f"unknown method {given!r}; did you mean {close[0]!r}?")
    return plain.get("method", "random")


def _metric(plain: Mapping[str, Any]) -> Any:
    metric = plain.get("metric")
    if metric is None:
        words = "is required; for example, {name: val_loss, goal: minimize}"
        raise InvalidSpecError.at(("metric",), words)
    return {"goal": "minimize", **metric} if isinstance(metric, dict) else metric


def _early_terminate(block: dict[str, Any], notes: list[str]) -> dict[str, Any]:
    """W&B's `hyperband` is supported under the same name, except for `strict`."""
    if "strict" in block:
        notes.append("early_terminate.strict: ignored; at each rung, a trial is compared with all that reached it")
    return {key: value for key, value in block.items() if key != "strict"}


def _run_cap(document: Mapping[str, Any], notes: list[str]) -> dict[str, int]:
    """W&B sweeps run until they are stopped or the grid is exhausted; Podium sweeps need a number of trials."""
    if document["method"] == "grid" and (size := grid_size(document["parameters"])):
        return {"run_cap": min(size, MAX_RUN_CAP)}
    notes.append("run_cap: not set; the default is 60 trials")
    return {}


def _program(plain: Mapping[str, Any], origins: dict[Location, Location]) -> dict[str, Any]:
    """The command program; W&B's default command is the default here, too."""
    script = plain.get("program")
    if isinstance(script, str) and (instead := _not_a_script(script)):
        raise InvalidSpecError.at(("program",), f"{script!r} is not a script; write program: {instead}")
    if script is None and "command" not in plain:
        raise InvalidSpecError.at(("program",), "is required: the script that a trial runs, such as train.py")
    places = {"script": "program", "command": "command", "metrics": "metrics", "env": "env"}
    origins.update({("program", ours): (theirs,) for ours, theirs in places.items()})
    given = {"script": script, "command": plain.get("command"), "env": _strings(plain.get("env"))}
    found = {key: value for key, value in given.items() if value is not None}
    return {**found, "code": "."}


def _strings(env: Any) -> Any:
    """`env` with numbers and booleans as strings, as YAML writes them; other values are checked later."""
    if not isinstance(env, dict):
        return env
    return {name: json.dumps(value) if isinstance(value, bool | int | float) else value for name, value in env.items()}


def _not_a_script(program: str) -> str | None:
    """The program block to write for a function or a built-in model, or None."""
    if program in builtin_catalog.MODELS:
        return f"{{model: {program}, data: {{name: digits}}}}"
    module, colon, function = program.partition(":")
    return f"{{function: {program}, code: .}}" if colon and module and function.isidentifier() else None
