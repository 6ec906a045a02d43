"""A sweep file as text that has no file: what it means, and each problem with its line and column; api."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from podium.sweep.spec.sweep_spec import SweepSpec, parse_spec
from podium.sweep.specfile import wandb_file
from podium.sweep.specfile.document import Document, Location, parse_document
from podium.sweep.specfile.spec_file import relocated
from podium.sweep.specfile.text_files import unreadable
from podium.sweep.values.errors import InvalidSpecError, Problem

NAME = Path("sweep.yaml")


@dataclass(frozen=True, slots=True)
class PlacedProblem:
    """What is wrong with one key of the document, and where in the text that stands, as far as it does."""

    path: Location
    line: int | None
    column: int | None
    message: str


@dataclass(frozen=True, slots=True)
class SweepText:
    """What a text says; `document` is None where it cannot be read at all, `spec` where it says something wrong."""

    document: dict[str, Any] | None
    spec: SweepSpec | None
    problems: tuple[PlacedProblem, ...]
    notes: tuple[str, ...] = ()  # what became of keys that are W&B's
    wandb: bool = False  # it is in W&B's syntax, and the document is what it means in ours
    source: Document | None = None
    origins: Mapping[Location, Location] = field(default_factory=dict)

    def placed(self, problems: Sequence[Problem]) -> tuple[PlacedProblem, ...]:
        """Problems of the document, with the places of their keys in the text."""
        assert self.source is not None
        there = relocated(list(problems), self.origins)
        return tuple(
            _placed(self.source, problem.location, at.location, problem.message)
            for problem, at in zip(problems, there, strict=True)
        )


def read_sweep_text(text: str) -> SweepText:
    """Read and check a text in YAML or JSON, of ours or W&B's; what is wrong with it is part of the answer."""
    try:
        if not text.strip():
            raise unreadable(NAME, "there is nothing here yet; a sweep file is a mapping of keys to values")
        source = parse_document(NAME, text)
    except InvalidSpecError as error:
        found = tuple(PlacedProblem(p.location, p.line, None, p.message) for p in error.problems)
        return SweepText(None, None, found)
    if not wandb_file.is_wandb(source.plain):
        return _checked(source, wandb_file.Converted(source.plain, (), {}), wandb=False)
    try:
        converted = wandb_file.convert(source.plain, NAME, has_folder=False)
    except InvalidSpecError as error:
        found = tuple(_placed(source, p.location, p.location, p.message) for p in error.problems)
        return SweepText(None, None, found, wandb=True, source=source)
    return _checked(source, converted, wandb=True)


def _checked(source: Document, converted: wandb_file.Converted, *, wandb: bool) -> SweepText:
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
