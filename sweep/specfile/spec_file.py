"""Reads and checks a sweep file (YAML 1.2, TOML or JSON; Podium's or W&B's keys), with line numbers in errors; CLI."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from podium.sweep.spec.sweep_spec import SweepSpec, parse_spec
from podium.sweep.specfile import wandb_file
from podium.sweep.specfile.document_parser import Document, Location, read_document
from podium.sweep.values.errors import InvalidSpecError, Problem


@dataclass(frozen=True, slots=True)
class SweepFile:
    """A valid sweep file: its spec, and the document to submit, with paths as in the file."""

    spec: SweepSpec
    document: dict[str, Any]
    notes: tuple[str, ...]  # on converted W&B keys
    source: Document
    origins: Mapping[Location, Location]  # document key -> file key, where they differ

    @property
    def folder(self) -> Path:
        """The folder to which paths in the file are relative."""
        return self.source.path.parent

    def located(self, error: InvalidSpecError) -> InvalidSpecError:
        """The problems of the document, with keys and lines of the file."""
        return self.source.error(relocate(error.problems, self.origins))


def read_sweep_file(path: Path) -> SweepFile:
    """Read and check a file. Raises `InvalidSpecError` with file, line and key."""
    source = read_document(path)
    if not wandb_file.is_wandb(source.plain):
        return _check(source, wandb_file.ConvertedFile(source.plain, (), {}))
    try:
        converted = wandb_file.convert(source.plain, path)
    except InvalidSpecError as error:
        raise source.error(error.problems) from None
    return _check(source, converted)


def read_spec_file(path: Path) -> tuple[SweepSpec, dict[str, Any]]:
    """The spec and the document to submit. Raises `InvalidSpecError` with file, line and key."""
    file = read_sweep_file(path)
    return file.spec, file.document


def _check(source: Document, converted: wandb_file.ConvertedFile) -> SweepFile:
    problems = list(converted.problems)
    try:
        spec = parse_spec(converted.document)
    except InvalidSpecError as error:
        problems += relocate(error.problems, converted.origins)
    if problems:
        raise source.error(problems)
    return SweepFile(spec, converted.document, converted.notes, source, converted.origins)


def relocate(problems: list[Problem], origins: Mapping[Location, Location]) -> list[Problem]:
    """The problems, with document keys replaced by the keys of the file."""
    return [replace(problem, location=_origin(problem.location, origins)) for problem in problems]


def _origin(location: Location, origins: Mapping[Location, Location]) -> Location:
    for end in range(len(location), 0, -1):
        if location[:end] in origins:
            return origins[location[:end]] + location[end:]
    return location
