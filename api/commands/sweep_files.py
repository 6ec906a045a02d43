"""Sweep files on the command line: read, checked as far as can be without a service, submitted; cli.

Imported by commands when they run: pydantic, YAML and numpy are not for --help.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from api.client import Client
from sweep import bundles
from sweep.code_check import Found, check_code
from sweep.data_check import as_found
from sweep.errors import BundleError, InvalidSpecError
from sweep.program import ImportedProgram
from sweep.spec import parse_spec
from sweep.spec_file import SweepFile, read_sweep_file

_DATA_PATHS = ("root", "idx", "file")


def read(path: Path) -> tuple[SweepFile, dict[str, Any], Found | None]:
    """A checked file, the document to send, and the code that it names.

    Paths in the file are relative to it, and absolute in the document. Raises `InvalidSpecError` with file and line.
    """
    file = read_sweep_file(path)
    document = _with_absolute_paths(file)
    try:
        code = check_code(document["program"], file.folder)
        spec = as_found(parse_spec(document))
        if isinstance(spec.program, ImportedProgram):
            raise spec.program.refusal()
    except InvalidSpecError as error:
        raise file.located(error) from None
    return file, document, code


def packed(file: SweepFile, document: dict[str, Any]) -> int | None:
    """The bytes of the code as it would be uploaded; None where there is none. Raises `InvalidSpecError`."""
    if document["program"].get("code") is None:
        return None
    try:
        content = bundles.pack(Path(document["program"]["code"]))
        bundles.check_names(content)
        return len(content)
    except BundleError as error:
        raise file.located(InvalidSpecError.at(("program", "code"), str(error))) from None


def submit(client: Client, file: SweepFile, document: dict[str, Any]) -> dict[str, Any]:
    """The sweep that the service made of a document; what only the server finds wrong gets its line in the file too."""
    try:
        return client.submit(document)
    except InvalidSpecError as error:
        raise file.located(error) from None


def say_notes(file: SweepFile) -> None:
    """What became of keys that are W&B's, on standard error."""
    for note in file.notes:
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
