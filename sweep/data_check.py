"""Whether a sweep goes with the data it names, from the headers of their files; cli and api."""

from __future__ import annotations

import json
from typing import Any

from sweep import datasets
from sweep.data_source import Data
from sweep.errors import DataError, InvalidSpecError, Problem
from sweep.program import BuiltinProgram
from sweep.sources import Source
from sweep.spec import SweepSpec, parse_spec


def check_data(spec: SweepSpec) -> Source | None:
    """What the files hold, or None where the sweep names no data.

    Raises `InvalidSpecError` where a file is missing or damaged, or is nothing that the model learns from.
    """
    data: Data | None = getattr(spec.program, "data", None)
    if data is None:
        return None
    try:
        source = datasets.check(data.model_dump())
    except DataError as error:
        raise InvalidSpecError([Problem(("program", "data", error.key or _where(data)), str(error))]) from error
    if isinstance(spec.program, BuiltinProgram) and spec.program.model == "cnn" and source.header.is_table:
        problem = f"cnn needs images, and {data.shown} has columns; write mlp"
        raise InvalidSpecError([Problem(("program", "model"), problem)])
    return source


def with_task(spec: SweepSpec) -> SweepSpec:
    """The sweep, with the task that was found out from the data where it does not say. Raises `InvalidSpecError`."""
    source = check_data(spec)
    data: Data | None = getattr(spec.program, "data", None)
    if source is None or data is None or data.learned is not None:
        return spec
    document: dict[str, Any] = json.loads(spec.to_json())
    document["program"]["data"]["task"] = source.task
    return parse_spec(document)


def _where(data: Data) -> str:
    return "file" if data.file is not None else "idx" if data.idx is not None else "root"
