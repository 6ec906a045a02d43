"""Checks a sweep against the headers of its data files; CLI and api process."""

from __future__ import annotations

import json
from typing import Any

from podium.sweep.data import memory_mapped_datasets
from podium.sweep.data.data_source_opener import Source
from podium.sweep.spec.data_source import Data
from podium.sweep.spec.program import BuiltinProgram
from podium.sweep.spec.sweep_spec import SweepSpec, parse_spec
from podium.sweep.values.errors import DataError, InvalidSpecError, Problem


def check_data(spec: SweepSpec) -> Source | None:
    """The data source of the sweep, or None if it has none.

    Raises `InvalidSpecError` if a file is missing, damaged or unsuitable for the model.
    """
    data: Data | None = getattr(spec.program, "data", None)
    if data is None:
        return None
    try:
        source = memory_mapped_datasets.check(data.model_dump())
    except DataError as error:
        raise _refusal(data, error) from error
    if isinstance(spec.program, BuiltinProgram) and spec.program.model == "cnn" and source.header.is_table:
        problem = f"cnn needs images, but {data.description} is tabular; use mlp"
        raise InvalidSpecError([Problem(("program", "model"), problem)])
    return source


def with_data_state(spec: SweepSpec) -> SweepSpec:
    """The sweep with the inferred task and the state of its data files, so that all trials have the same rows.

    Raises `InvalidSpecError`.
    """
    found = check_data(spec)
    data: Data | None = getattr(spec.program, "data", None)
    if found is None or data is None:
        return spec
    task = data.task if data.learned is not None else found.task
    source = _source_of(data)
    if (task, source) == (data.task, data.source):
        return spec
    document: dict[str, Any] = json.loads(spec.to_json())
    document["program"]["data"] |= {"source": source} | ({"task": task} if task else {})
    return parse_spec(document)


def _source_of(data: Data) -> str | None:
    try:
        return memory_mapped_datasets.source_of(data.model_dump())
    except DataError as error:
        raise _refusal(data, error) from error


def _refusal(data: Data, error: DataError) -> InvalidSpecError:
    return InvalidSpecError([Problem(("program", "data", error.key or _where(data)), str(error))])


def _where(data: Data) -> str:
    return "file" if data.file is not None else "idx" if data.idx is not None else "root"
