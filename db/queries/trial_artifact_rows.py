"""Reads which files trials have saved; api."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, exists, select

from podium.db.schema.tables import artifacts, removed_artifacts


@dataclass(frozen=True, slots=True)
class ArtifactRow:
    """A file of a trial."""

    name: str
    attempt: int
    sha256: str
    size_bytes: int
    removed: str | None = None  # the reason, if it was removed


def artifacts_of(connection: Connection, trial_id: int) -> list[ArtifactRow]:
    """The files of a trial, including removed ones."""
    names = ("name", "attempt", "sha256", "size_bytes")
    there = select(*(artifacts.c[name] for name in names)).where(artifacts.c.trial_id == trial_id)
    removed = select(*(removed_artifacts.c[name] for name in names), removed_artifacts.c.reason.label("removed"))
    again = (artifacts.c.trial_id == trial_id) & (artifacts.c.name == removed_artifacts.c.name)
    removed = removed.where(removed_artifacts.c.trial_id == trial_id, ~exists().where(again))
    found = [ArtifactRow(**row._mapping) for query in (there, removed) for row in connection.execute(query)]
    return sorted(found, key=lambda row: row.name)


def files_of(connection: Connection, trial_ids: Sequence[int]) -> dict[int, tuple[ArtifactRow, ...]]:
    """By trial, the existing files sorted by name; trials without files are omitted."""
    found: dict[int, tuple[ArtifactRow, ...]] = {}
    statement = select(artifacts).where(artifacts.c.trial_id.in_(trial_ids))
    for row in connection.execute(statement.order_by(artifacts.c.trial_id, artifacts.c.name)):
        file = ArtifactRow(row.name, row.attempt, row.sha256, row.size_bytes)
        found[row.trial_id] = (*found.get(row.trial_id, ()), file)
    return found
