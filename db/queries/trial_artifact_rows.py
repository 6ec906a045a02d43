"""Reads which files trials have saved; api."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Select, Table, exists, select

from podium.db.schema.tables import artifacts, attempts, removed_artifacts


@dataclass(frozen=True, slots=True)
class ArtifactRow:
    """A file of a trial."""

    name: str
    attempt: int
    nonce: str  # of the folder of the attempt
    sha256: str
    size_bytes: int
    removed: str | None = None  # the reason, if it was removed


def artifacts_of(connection: Connection, trial_id: int) -> list[ArtifactRow]:
    """The files of a trial, including removed ones."""
    there = _rows_of(artifacts).where(artifacts.c.trial_id == trial_id)
    removed = _rows_of(removed_artifacts).add_columns(removed_artifacts.c.reason.label("removed"))
    again = (artifacts.c.trial_id == trial_id) & (artifacts.c.name == removed_artifacts.c.name)
    removed = removed.where(removed_artifacts.c.trial_id == trial_id, ~exists().where(again))
    found = [ArtifactRow(**row._mapping) for query in (there, removed) for row in connection.execute(query)]
    return sorted(found, key=lambda row: row.name)


def files_of(connection: Connection, trial_ids: Sequence[int]) -> dict[int, tuple[ArtifactRow, ...]]:
    """By trial, the existing files sorted by name; trials without files are omitted."""
    found: dict[int, tuple[ArtifactRow, ...]] = {}
    statement = _rows_of(artifacts).add_columns(artifacts.c.trial_id).where(artifacts.c.trial_id.in_(trial_ids))
    for *row, trial_id in connection.execute(statement.order_by(artifacts.c.trial_id, artifacts.c.name)):
        found[trial_id] = (*found.get(trial_id, ()), ArtifactRow(*row))
    return found


def _rows_of(table: Table) -> Select[Any]:
    """The columns of `ArtifactRow`, in their order, without the last."""
    of_attempt = (attempts.c.trial_id == table.c.trial_id) & (attempts.c.number == table.c.attempt)
    columns = (table.c.name, table.c.attempt, attempts.c.nonce, table.c.sha256, table.c.size_bytes)
    return select(*columns).select_from(table.join(attempts, of_attempt))
