"""`podium sweep convert`: a search space of Ray Tune or Optuna as a sweep file; cli."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

TIMEOUT_S = 120.0
_FIRST = ("name", "method", "metric", "parameters")


def convert(
    source: Annotated[
        str, typer.Argument(metavar="FILE[:NAME]", help="a Python file, and which dict or Tuner of it; or a JSON file")
    ],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="where to write it; printed if left out")
    ] = None,
    function: Annotated[
        str | None, typer.Option(metavar="MODULE:FUNCTION", help="what a trial runs; the Tuner's if left out")
    ] = None,
    metric: Annotated[
        str | None, typer.Option(help="name of the objective metric; default: that of the TuneConfig")
    ] = None,
    goal: Annotated[
        Literal["minimize", "maximize"] | None, typer.Option(help="of the metric; the TuneConfig's mode if left out")
    ] = None,
) -> None:
    """Make a sweep file of a Ray Tune or Optuna search space.

    The script is imported, so what stands at its top is run; one that creates a Tuner is run up to Tuner.fit.
    """
    from podium.sweep.spec.sweep_spec import parse_spec
    from podium.sweep.specfile.yaml_writer import yaml_of
    from podium.sweep.values.errors import ConversionError  # pydantic and YAML: not for --help

    path, name = _split(source)
    if not path.is_file():
        raise ConversionError(f"there is no file {path}")
    answer = _in_its_own_process(path, name)
    document = {"name": path.stem[:120], **answer["document"]}
    document["metric"] = _metric(path, document.get("metric") or {}, metric, goal)
    document["program"] = _program(document.get("program"), function, path, output)
    document = dict(
        sorted(document.items(), key=lambda item: _FIRST.index(item[0]) if item[0] in _FIRST else len(_FIRST))
    )
    parse_spec(document, str(output or path))
    for note in answer["notes"]:
        print(f"note: {note}", file=sys.stderr)
    if output is None:
        print(yaml_of(document), end="")
    else:
        output.write_text(yaml_of(document))


def _split(source: str) -> tuple[Path, str]:
    """The file, and the name after its suffix."""
    path, colon, name = source.rpartition(":")
    return (Path(path), name) if colon and name.isidentifier() and path.endswith(".py") else (Path(source), "")


def _in_its_own_process(path: Path, name: str) -> dict[str, Any]:
    """The answer of `sweep.studies.space_conversion`, which imports Ray and Optuna. Raises `ConversionError`."""
    from podium.sweep.values.errors import ConversionError

    command = [sys.executable, "-m", "podium.sweep.studies.space_conversion", str(path.absolute()), name]
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False, timeout=TIMEOUT_S)
    except subprocess.TimeoutExpired:
        words = f"{path} took longer than {TIMEOUT_S:g} s to import; put what trains under `if __name__ == '__main__':`"
        raise ConversionError(words) from None
    if done.returncode != 0:
        raise ConversionError(f"importing {path} ended its process with status {done.returncode}")
    answer: dict[str, Any] = json.loads(done.stdout)
    if "error" in answer:
        raise ConversionError(answer["error"])
    return answer


def _metric(path: Path, found: dict[str, Any], metric: str | None, goal: str | None) -> dict[str, Any]:
    from podium.sweep.values.errors import ConversionError

    given = {key: value for key, value in (("name", metric), ("goal", goal)) if value is not None}
    whole = {**found, **given}
    options = {"name": "--metric NAME", "goal": "--goal minimize (or maximize)"}
    if missing := [option for key, option in options.items() if key not in whole]:
        raise ConversionError(f"{path} names no objective, or no goal for it; add {' '.join(missing)}")
    return whole


def _program(found: dict[str, Any] | None, function: str | None, path: Path, output: Path | None) -> dict[str, Any]:
    from podium.sweep.values.errors import ConversionError

    if function is None and found is None:
        words = "the file has no Tuner with a function of its own, so what a trial runs is not known"
        raise ConversionError(f"{words}; add --function {path.stem if path.suffix == '.py' else 'train'}:NAME")
    folder = path.parent if output is None else output.absolute().parent
    code = os.path.relpath(path.absolute().parent, folder.absolute())
    return {"function": function or (found or {})["function"], "code": code}
