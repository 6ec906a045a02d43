"""A sweep file that came without a folder around it: what it names, looked up on the service's machine; api."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from podium.api.http.route_context import ServiceContext
from podium.api.rest.sweeps.sweep_routes import checked_program
from podium.db.stores import warm_starts
from podium.sweep.spec.program import OwnCode
from podium.sweep.spec.sweep_spec import SweepSpec
from podium.sweep.specfile.code_check import check_code
from podium.sweep.specfile.data_check import check_data
from podium.sweep.values.errors import InvalidSpecError, Problem

_PATHS = ("root", "idx", "file")


@dataclass(frozen=True, slots=True)
class Looked:
    """What was found, in words: the code that a trial runs, and the data."""

    code: str | None
    data: str | None


def look_up(spec: SweepSpec, service: ServiceContext) -> Looked:
    """Raises `InvalidSpecError` for what is not there, or is not what the sweep needs."""
    _check_paths(spec)
    if isinstance(spec.program, OwnCode) and spec.program.code is not None and spec.program.bundle is None:
        words = "code that is on your own machine has to be uploaded first; then write bundle: and its hash instead"
        raise InvalidSpecError.at(("program", "code"), words)
    checked = checked_program(spec, service)
    with service.database.read() as connection:
        warm_starts.check(connection, spec)
    found = check_data(checked)
    return Looked(_code(spec, service), None if found is None else str(found))


def _check_paths(spec: SweepSpec) -> None:
    """A path relative to the file means nothing where there is no file."""
    data = getattr(spec.program, "data", None)
    problems = [
        Problem(("program", "data", key), f"write the whole path on the service's machine, such as /data/{path}")
        for key in _PATHS
        if data is not None and (path := getattr(data, key)) is not None and not Path(path).is_absolute()
    ]
    if problems:
        raise InvalidSpecError(problems)


def _code(spec: SweepSpec, service: ServiceContext) -> str | None:
    program = spec.program
    if not isinstance(program, OwnCode) or program.bundle is None:
        return None
    folder = service.settings.data.bundle(program.bundle)
    try:
        found = check_code(_without_bundle(program.model_dump(exclude_none=True)), folder)
    except InvalidSpecError as error:
        raise InvalidSpecError([Problem(p.location, _shown(p.message, folder)) for p in error.problems]) from None
    return None if found is None else _shown(found.words, folder)


def _without_bundle(program: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in program.items() if key not in ("code", "bundle")}


def _shown(words: str, folder: Path) -> str:
    """Names of the code's files, without the place where the service keeps them."""
    return words.replace(f"{folder}/", "").replace(str(folder), "the uploaded code")
