"""Checks the text of a sweep file, as an editor holds it, with line and column of each problem; api process."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from podium.sweep.spec.sweep_spec import SweepSpec, parse_spec
from podium.sweep.specfile import wandb_file
from podium.sweep.specfile.document_parser import Document, Location, parse_document
from podium.sweep.specfile.spec_file import relocate
from podium.sweep.specfile.text_files import invalid_file_error
from podium.sweep.values.errors import InvalidSpecError, Problem

NAME = Path("sweep.yaml")


@dataclass(frozen=True, slots=True)
class PlacedProblem:
    """A problem of one key of the document, and its position in the text, if known."""

    path: Location
    line: int | None
    column: int | None
    message: str


@dataclass(frozen=True, slots=True)
class SweepText:
    """A parsed text; `document` is None if it cannot be parsed, `spec` if it is invalid."""

    document: dict[str, Any] | None
    spec: SweepSpec | None
    problems: tuple[PlacedProblem, ...]
    notes: tuple[str, ...] = ()  # on converted W&B keys
    wandb: bool = False  # the text has W&B's syntax; the document is converted
    source: Document | None = None
    origins: Mapping[Location, Location] = field(default_factory=dict)

    def placed(self, problems: Sequence[Problem]) -> tuple[PlacedProblem, ...]:
        """Problems of the document, with the positions of their keys in the text."""
        assert self.source is not None
        there = relocate(list(problems), self.origins)
        return tuple(
            _placed(self.source, problem.location, at.location, problem.message)
            for problem, at in zip(problems, there, strict=True)
        )


def read_sweep_text(text: str) -> SweepText:
    """Read and check a text in YAML or JSON, with Podium's or W&B's keys; problems are part of the result."""
    try:
        if not text.strip():
            raise invalid_file_error(NAME, "the text is empty; a sweep file must be a mapping")
        source = parse_document(NAME, text)
    except InvalidSpecError as error:
        found = tuple(PlacedProblem(p.location, p.line, None, p.message) for p in error.problems)
        return SweepText(None, None, found)
    if not wandb_file.is_wandb(source.plain):
        return _checked(source, wandb_file.ConvertedFile(source.plain, (), {}), wandb=False)
    try:
        converted = wandb_file.convert(source.plain, NAME, has_folder=False)
    except InvalidSpecError as error:
        found = tuple(_placed(source, p.location, p.location, p.message) for p in error.problems)
        return SweepText(None, None, found, wandb=True, source=source)
    return _checked(source, converted, wandb=True)


def _checked(source: Document, converted: wandb_file.ConvertedFile, *, wandb: bool) -> SweepText:
    spec, wrong = None, list(converted.problems)
    try:
        spec = parse_spec(converted.document)
    except InvalidSpecError as error:
        wrong += error.problems
    read = SweepText(converted.document, None, (), converted.notes, wandb, source, converted.origins)
    problems = read.placed(wrong)
    return SweepText(
        converted.document, None if problems else spec, problems, converted.notes, wandb, source, converted.origins
    )


def _placed(source: Document, path: Location, at: Location, message: str) -> PlacedProblem:
    return PlacedProblem(path, source.line_of(at), source.column_of(at), message)
