"""`podium sweep convert`: a Ray Tune or Optuna search space as a sweep file; CLI."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from podium.api.cli.terminal import lazy_imports
from podium.sweep.values.errors import ConversionError

TIMEOUT_S = 120.0
_FIRST = ("name", "method", "metric", "parameters")


def convert(
    source: Annotated[
        str, typer.Argument(metavar="FILE[:NAME]", help="a Python file and the dict or Tuner in it, or a JSON file")
    ],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="output file; default: standard output")
    ] = None,
    function: Annotated[
        str | None, typer.Option(metavar="MODULE:FUNCTION", help="the function of a trial; default: the Tuner's")
    ] = None,
    metric: Annotated[str | None, typer.Option(help="name of the objective metric; default: the TuneConfig's")] = None,
    goal: Annotated[Literal["minimize", "maximize"] | None, typer.Option(help="default: the TuneConfig's mode")] = None,
) -> None:
    """Convert a Ray Tune or Optuna search space to a sweep file.

    The script is imported, so its top-level code runs; a script that creates a Tuner runs up to Tuner.fit.
    """
    path, name = _split(source)
    if not path.is_file():
        raise ConversionError(f"there is no file {path}")
    answer = _converted_in_subprocess(path, name)
    document = {"name": path.stem[:120], **answer["document"]}
    document["metric"] = _metric(path, document.get("metric") or {}, metric, goal)
    document["program"] = _program(document.get("program"), function, path, output)
    document = dict(
        sorted(document.items(), key=lambda item: _FIRST.index(item[0]) if item[0] in _FIRST else len(_FIRST))
    )
    lazy_imports.parse_spec(document, str(output or path))
    for note in answer["notes"]:
        print(f"note: {note}", file=sys.stderr)
    if output is None:
        print(lazy_imports.to_yaml(document), end="")
    else:
        output.write_text(lazy_imports.to_yaml(document))


def _split(source: str) -> tuple[Path, str]:
    """The file and the name after the colon, "" without one."""
    path, colon, name = source.rpartition(":")
    return (Path(path), name) if colon and name.isidentifier() and path.endswith(".py") else (Path(source), "")


def _converted_in_subprocess(path: Path, name: str) -> dict[str, Any]:
    """The result of `tuning_script_conversion`, which imports Ray and Optuna. Raises `ConversionError`."""
    command = [sys.executable, "-m", "podium.sweep.specfile.tuning_script_conversion", str(path.absolute()), name]
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False, timeout=TIMEOUT_S)
    except subprocess.TimeoutExpired:
        message = f"importing {path} took longer than {TIMEOUT_S:g} s; put training code under"
        raise ConversionError(f"{message} `if __name__ == '__main__':`") from None
    if done.returncode != 0:
        raise ConversionError(f"the process that imported {path} exited with status {done.returncode}")
    answer: dict[str, Any] = json.loads(done.stdout)
    if "error" in answer:
        raise ConversionError(answer["error"])
    return answer


def _metric(path: Path, found: dict[str, Any], metric: str | None, goal: str | None) -> dict[str, Any]:
    given = {key: value for key, value in (("name", metric), ("goal", goal)) if value is not None}
    whole = {**found, **given}
    options = {"name": "--metric NAME", "goal": "--goal minimize (or maximize)"}
    if missing := [option for key, option in options.items() if key not in whole]:
        raise ConversionError(f"{path} does not specify the objective; add {' '.join(missing)}")
    return whole


def _program(found: dict[str, Any] | None, function: str | None, path: Path, output: Path | None) -> dict[str, Any]:
    if function is None and found is None:
        message = "the file has no Tuner with a function, so the trial's function is unknown"
        raise ConversionError(f"{message}; add --function {path.stem if path.suffix == '.py' else 'train'}:NAME")
    folder = path.parent if output is None else output.absolute().parent
    code = os.path.relpath(path.absolute().parent, folder.absolute())
    return {"function": function or (found or {})["function"], "code": code}
