"""Checks of a sweep that need the service: uploaded code, data files, packages, earlier sweeps; api."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import Connection

from podium.api.http.service_context import ServiceContext
from podium.db.stores import devices, sweep_predecessors, warm_starts
from podium.ensemble.values.ensemble_spec import float16_problem
from podium.sweep.runtime.serve_environment_for_trials import user_environment
from podium.sweep.spec.program import FunctionProgram, ImportedProgram, OwnCode
from podium.sweep.spec.sweep_spec import SweepSpec
from podium.sweep.specfile.custom_class_check import check_classes
from podium.sweep.specfile.data_header_check import with_data_state
from podium.sweep.specfile.program_existence_check import check_code, check_preload
from podium.sweep.values.errors import InvalidSpecError, Problem

_DATA_PATHS = ("root", "idx", "file")
_NOT_UPLOADED = "the code was not uploaded; upload its folder in the form for a new sweep, or use `podium sweep submit`"
_LOCAL_CODE = "code on your own machine must be uploaded first; then write bundle: with its hash instead"


@dataclass(frozen=True, slots=True)
class CheckedSweep:
    """A sweep that can be submitted."""

    spec: SweepSpec  # with the task, the state of the data files, and ids instead of names of sweeps
    code: str | None  # the code that a trial runs, as text


def check_sweep(service: ServiceContext, spec: SweepSpec, idempotency_key: str | None = None) -> CheckedSweep:
    """Run every check of a submission. Raises `InvalidSpecError` with the keys that are wrong."""
    _check_data_paths(spec)
    _check_node(service, spec)
    code = _check_program(service, spec)
    with service.database.read() as connection:
        warm_starts.check(connection, spec)
        spec = sweep_predecessors.resolve(connection, spec, idempotency_key)
        _check_ensemble(connection, spec)
    return CheckedSweep(with_data_state(spec), code)


def _check_node(service: ServiceContext, spec: SweepSpec) -> None:
    """A node that has not joined yet may do so. In an existing Ray cluster, slots are not requested by node."""
    if spec.resources.node is not None and service.settings.existing_cluster is not None:
        message = (
            "this service requests devices of the Ray cluster that it uses, whichever node has them free; remove node"
        )
        raise InvalidSpecError([Problem(("resources", "node"), message)])


def _check_ensemble(connection: Connection, spec: SweepSpec) -> None:
    """The devices of the service must have the precision of the ensemble."""
    if spec.ensemble is not None:
        has_gpu = any(device.kind == "gpu" for device in devices.all_of(connection))
        if problem := float16_problem(spec.ensemble, has_gpu=has_gpu):
            raise InvalidSpecError([Problem(("ensemble", "precision"), problem)])


def _check_data_paths(spec: SweepSpec) -> None:
    """The service has no working directory that a relative path could refer to."""
    data = getattr(spec.program, "data", None)
    problems = [
        Problem(("program", "data", key), f"write the absolute path on the service's machine, such as /data/{path}")
        for key in _DATA_PATHS
        if data is not None and (path := getattr(data, key)) is not None and not Path(path).is_absolute()
    ]
    if problems:
        raise InvalidSpecError(problems)


def _check_program(service: ServiceContext, spec: SweepSpec) -> str | None:
    program = spec.program
    if isinstance(program, ImportedProgram):
        raise program.execution_error()
    if not isinstance(program, OwnCode):
        check_classes(spec, usable=service.custom_class_check_cache)
        return None
    folder = _bundle_folder(service, program)
    program.check_variables(user_environment())
    if isinstance(program, FunctionProgram):
        check_preload(program.preload)
    check_classes(spec, folder, service.custom_class_check_cache)
    return _check_code(program, folder)


def _bundle_folder(service: ServiceContext, program: OwnCode) -> Path:
    if program.bundle is None and program.code is not None:
        raise InvalidSpecError.at(("program", "code"), _LOCAL_CODE)
    if program.bundle is None:
        raise InvalidSpecError.at(("program", "bundle"), _NOT_UPLOADED)
    folder = service.settings.data.bundle(program.bundle)
    if not folder.is_dir():
        raise InvalidSpecError.at(("program", "bundle"), "no such bundle; upload it first")
    return folder


def _check_code(program: OwnCode, folder: Path) -> str | None:
    """Check that the function or the command exists in the bundle; returns its location."""
    try:
        found = check_code(_without_bundle(program.model_dump(exclude_none=True)), folder)
    except InvalidSpecError as error:
        raise InvalidSpecError([Problem(p.location, _relative(p.message, folder)) for p in error.problems]) from None
    return None if found is None else _relative(found.words, folder)


def _without_bundle(program: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in program.items() if key not in ("code", "bundle")}


def _relative(message: str, folder: Path) -> str:
    """The message with names of files inside the bundle, not with the path where the service stores it."""
    return message.replace(f"{folder}/", "").replace(str(folder), "the uploaded code")
