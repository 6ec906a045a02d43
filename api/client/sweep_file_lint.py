"""Notes on a valid sweep file, and checks of it that need a service; CLI.

Loads pydantic, YAML and numpy.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from podium.api.client.client import Client
from podium.sweep.lifecycle.warm_start_compatibility import incompatible_objectives
from podium.sweep.spec.predecessors import SweepReference
from podium.sweep.spec.program import FunctionProgram, OwnCode
from podium.sweep.spec.sweep_spec import SweepSpec
from podium.sweep.specfile.custom_class_check import check_classes
from podium.sweep.specfile.program_existence_check import check_preload
from podium.sweep.specfile.spec_file import SweepFile
from podium.sweep.specfile.spec_lint import hints_for
from podium.sweep.values.errors import InvalidSpecError, NotFoundError, Problem, ServiceError


def advice(file: SweepFile, document: dict[str, Any], data_dir: Path) -> list[str]:
    """Notes on valid settings with surprising effects. Raises `InvalidSpecError` for what a service would refuse."""
    notes = hints_for(file.spec, Path(document["program"].get("code") or file.folder))
    notes += _variable_notes(file.spec)
    try:
        if isinstance(file.spec.program, FunctionProgram):
            check_preload(file.spec.program.preload)
        code = document["program"].get("code")
        check_classes(file.spec, None if code is None else Path(code))
        notes += _warm_start_notes(file.spec, data_dir) if file.spec.warm_start else []
        return notes + (_predecessor_notes(file.spec, data_dir) if file.spec.after or file.spec.fix_from else [])
    except InvalidSpecError as error:
        raise file.located(error) from None


def _variable_notes(spec: SweepSpec) -> list[str]:
    """Notes on `${envvar:X}` where X is not set here; the service checks its own environment."""
    try:
        if isinstance(spec.program, OwnCode):
            spec.program.check_variables(os.environ)
    except InvalidSpecError as error:
        scope = "checked in this command's environment; on submit, the service's environment counts"
        return [f"{problem.key}: {problem.message} ({scope})" for problem in error.problems]
    return []


def _warm_start_notes(spec: SweepSpec, data_dir: Path) -> list[str]:
    try:
        with Client.of(data_dir) as client:
            problems = [_warm_start_problem(client, spec, sweep_id) for sweep_id in spec.warm_start]
    except ServiceError:
        return ["warm_start: not checked, since no service runs; it is checked on submit"]
    if found := [Problem(("warm_start", str(i)), message) for i, message in enumerate(problems) if message]:
        raise InvalidSpecError(found)
    return []


def _warm_start_problem(client: Client, spec: SweepSpec, sweep_id: int) -> str | None:
    try:
        earlier = client.sweep(sweep_id)["spec"]
    except NotFoundError as error:
        return str(error)
    goals = [(metric["name"], metric["goal"]) for metric in earlier.get("metrics") or [earlier["metric"]]]
    return incompatible_objectives(spec, sweep_id, goals)


def _predecessor_notes(spec: SweepSpec, data_dir: Path) -> list[str]:
    """Notes rather than errors: in a chain, a sweep may be that of a file that is submitted before."""
    named = [(f"after.{index}", reference) for index, reference in enumerate(spec.after)]
    if spec.fix_from is not None:
        named.append(("fix_from.sweep", spec.fix_from.sweep))
    try:
        with Client.of(data_dir) as client:
            known = [(sweep["id"], sweep["name"]) for sweep in client.sweeps()]
    except ServiceError:
        return ["after, fix_from: not checked, since no service runs; they are checked on submit"]
    return [f"{key}: {why}" for key, reference in named if (why := _reference_problem(reference, known))]


def _reference_problem(reference: SweepReference, known: Sequence[tuple[int, str]]) -> str | None:
    meant = [sweep_id for sweep_id, name in known if reference in (sweep_id, name)]
    if not meant:
        return f"the service has no sweep {reference!r}; submit it before, or both with --chain"
    return None if len(meant) == 1 else f"{len(meant)} sweeps are named {reference!r}; write the id of one"
