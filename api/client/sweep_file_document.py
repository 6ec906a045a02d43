"""Reads a sweep file as the document to submit, and locates errors of the service in it; CLI and user's process.

Loads pydantic, YAML and numpy.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from podium.api.client.sweep_responses import SweepInfo
from podium.sweep.spec.program import ImportedProgram
from podium.sweep.spec.sweep_spec import parse_spec
from podium.sweep.specfile import code_bundles
from podium.sweep.specfile.data_header_check import with_data_state
from podium.sweep.specfile.program_existence_check import Found, check_code
from podium.sweep.specfile.spec_file import SweepFile, read_sweep_file
from podium.sweep.specfile.spec_lint import search_hints
from podium.sweep.values.errors import BundleError, InvalidSpecError

_DATA_PATHS = ("root", "idx", "file")


def read(path: Path) -> tuple[SweepFile, dict[str, Any], Found | None]:
    """The checked file, the document to submit, and the code that it names.

    Paths in the file are relative to it; in the document they are absolute. Raises `InvalidSpecError` with file and
    line.
    """
    file = read_sweep_file(path)
    document = _with_absolute_paths(file)
    try:
        code = check_code(document["program"], file.folder)
        spec = with_data_state(parse_spec(document))
        if isinstance(spec.program, ImportedProgram):
            raise spec.program.execution_error()
    except InvalidSpecError as error:
        raise file.located(error) from None
    return file, document, code


def packed_bytes(file: SweepFile, document: dict[str, Any]) -> int | None:
    """The size of the code bundle that would be uploaded; None without code. Raises `InvalidSpecError`."""
    if document["program"].get("code") is None:
        return None
    try:
        content = code_bundles.pack(Path(document["program"]["code"]))
        code_bundles.check_names(content)
        return len(content)
    except BundleError as error:
        raise file.located(InvalidSpecError.at(("program", "code"), str(error))) from None


def submit(send: Callable[[dict[str, Any]], SweepInfo], file: SweepFile, document: dict[str, Any]) -> SweepInfo:
    """Submit a document by `send`, which is `Client.submit`.

    Raises `InvalidSpecError` with lines of the file, also for errors that the service finds.
    """
    try:
        return send(document)
    except InvalidSpecError as error:
        raise file.located(error) from None


def print_notes(file: SweepFile) -> None:
    """Print notes on W&B keys and on the search to standard error."""
    for note in (*file.notes, *search_hints(file.spec)):
        print(f"note: {note}", file=sys.stderr)


def _with_absolute_paths(file: SweepFile) -> dict[str, Any]:
    program = dict(file.document["program"])
    if isinstance(program.get("data"), dict):
        program["data"] = data = dict(program["data"])
        for key in _DATA_PATHS:
            if isinstance(data.get(key), str):
                data[key] = str((file.folder / data[key]).absolute())
    if program.get("code") is not None:
        program["code"] = str((file.folder / program["code"]).absolute())
    return {**file.document, "program": program}
