"""A sweep file in the syntax of Weights & Biases, as the sweep file of ours that means the same; cli.

Its keys are those of https://docs.wandb.ai/models/sweeps/sweep-config-keys. What has no meaning here is said in a
note; blocks of ours (`limits`, `ensemble`, `seed`, …) may stand in the file too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sweep import catalog
from sweep.errors import InvalidSpecError, Problem
from sweep.wandb_metrics import metrics_of
from sweep.wandb_parameters import converted_parameters, grid_size

Location = tuple[str, ...]
_IGNORED = {
    "project": "Podium has no projects",
    "entity": "Podium has no entities",
    "description": "Podium keeps no descriptions",
    "controller": "Podium's own scheduler steers the sweep",
}
_CONVERTED = ("program", "command", "metrics", *_IGNORED)


@dataclass(frozen=True, slots=True)
class Converted:
    """Our document; what is to be said about it; and which of its keys stand elsewhere in the file."""

    document: dict[str, Any]
    notes: tuple[str, ...]
    origins: Mapping[Location, Location]
    problems: tuple[Problem, ...] = ()  # at keys of the file; the rest of it can be checked all the same


def is_wandb(plain: Mapping[str, Any]) -> bool:
    """Whether a document is in W&B's syntax: there `program` is the name of a script, and `command` is at the top."""
    program = plain.get("program")
    if isinstance(program, dict):
        return False
    return isinstance(program, str) or bool({"command", "project", "entity"} & plain.keys())


def convert(plain: Mapping[str, Any], path: Path, *, has_folder: bool = True) -> Converted:
    """Our document; without a folder there is no code beside it to be looked into.

    Raises `InvalidSpecError` with keys of the file, where W&B's meaning cannot be had.
    """
    notes = [f"{key}: left out; {why}" for key, why in _IGNORED.items() if key in plain]
    origins: dict[Location, Location] = {}
    document = {key: value for key, value in plain.items() if key not in _CONVERTED}
    document.setdefault("name", path.stem[:120])
    document["method"] = _method(plain, notes)
    document["metric"] = _metric(plain)
    document["parameters"] = converted_parameters(plain.get("parameters"), notes, origins)
    if isinstance(plain.get("early_terminate"), dict):
        document["early_terminate"] = _early_terminate(plain["early_terminate"], notes)
    if "run_cap" not in plain:
        document |= _run_cap(document, notes)
    document["program"] = _program(plain, origins)
    problems: tuple[Problem, ...] = ()
    try:
        document["program"]["metrics"] = metrics_of(plain, path.absolute().parent if has_folder else None, notes)
    except InvalidSpecError as error:
        problems = tuple(error.problems)
    return Converted(document, tuple(notes), origins, problems)


def _method(plain: Mapping[str, Any], notes: list[str]) -> Any:
    if plain.get("method") == "bayes":
        notes.append("method: bayes is TPE here (tpe)")
    return plain.get("method", "random")


def _metric(plain: Mapping[str, Any]) -> Any:
    metric = plain.get("metric")
    if metric is None:
        words = "is missing; Podium ranks the trials by it: write {name: val_loss, goal: minimize}"
        raise InvalidSpecError.at(("metric",), words)
    return {"goal": "minimize", **metric} if isinstance(metric, dict) else metric


def _early_terminate(block: dict[str, Any], notes: list[str]) -> dict[str, Any]:
    """W&B's `hyperband` is known by the same name; `strict` is not."""
    if "strict" in block:
        notes.append("early_terminate.strict: left out; a trial is judged at each rung, against all that reached it")
    return {key: value for key, value in block.items() if key != "strict"}


def _run_cap(document: Mapping[str, Any], notes: list[str]) -> dict[str, int]:
    """A sweep of W&B's goes on until somebody stops it, or its grid is done; one of ours has an end."""
    if document["method"] == "grid" and (size := grid_size(document["parameters"])) is not None:
        return {"run_cap": size}
    notes.append("run_cap: none is given, so 60 trials, Podium's default")
    return {}


def _program(plain: Mapping[str, Any], origins: dict[Location, Location]) -> dict[str, Any]:
    """The command of ours; W&B's own is the default of both."""
    script = plain.get("program")
    if isinstance(script, str) and (instead := _not_a_script(script)):
        raise InvalidSpecError.at(("program",), f"{script!r} is not a script; write program: {instead}")
    if script is None and "command" not in plain:
        raise InvalidSpecError.at(("program",), "is missing; write the script that a trial runs: train.py, say")
    places = {"script": "program", "command": "command", "metrics": "metrics"}
    origins.update({("program", ours): (theirs,) for ours, theirs in places.items()})
    given = {"script": script, "command": plain.get("command")}
    found = {key: value for key, value in given.items() if value is not None}
    return {**found, "code": "."}


def _not_a_script(program: str) -> str | None:
    """What was meant by a program that is a function or a model of ours, or None."""
    if program in catalog.MODELS:
        return f"{{model: {program}, data: {{name: digits}}}}"
    module, colon, function = program.partition(":")
    return f"{{function: {program}, code: .}}" if colon and module and function.isidentifier() else None
