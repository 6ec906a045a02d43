"""What users write about sweeps: names, descriptions, tags, projects, stars, and the archive; api."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, delete, func, insert, select, update

from podium.db.schema import dialect
from podium.db.schema.tables import sweep_stars, sweep_tags, sweeps
from podium.db.stores import event_outbox
from podium.db.stores import sweeps as sweep_store
from podium.db.stores.event_outbox import NewEvent
from podium.db.stores.sweeps import SweepRow
from podium.sweep.values.errors import ConflictError
from podium.sweep.values.note_and_tag_checks import check_count, checked_tags
from podium.sweep.values.states import TERMINAL_SWEEP_STATES
from podium.sweep.values.sweep_metadata_checks import checked_description, checked_project, checked_sweep_name


@dataclass(frozen=True, slots=True)
class Labels:
    """The tags of a sweep, and whether a user has starred it."""

    tags: tuple[str, ...] = ()
    starred: bool = False


@dataclass(frozen=True, slots=True)
class DetailChanges:
    """What to change; None leaves a value unchanged, "" removes a description or the project."""

    name: str | None = None
    description: str | None = None
    project: str | None = None
    tags: Sequence[str] | None = None  # replace all tags
    added_tags: Sequence[str] = ()
    removed_tags: Sequence[str] = ()
    archived: bool | None = None
    starred: bool | None = None


@dataclass(frozen=True, slots=True)
class ProjectRow:
    """A project: the name that its sweeps share."""

    name: str
    sweeps: int
    archived: int  # of these


def labels_of(connection: Connection, ids: Sequence[int], user: str) -> dict[int, Labels]:
    """Tags and stars by sweep id; one entry for each id."""
    tags: dict[int, list[str]] = {}
    statement = select(sweep_tags).where(sweep_tags.c.sweep_id.in_(ids))
    for sweep_id, tag in connection.execute(statement.order_by(sweep_tags.c.sweep_id, sweep_tags.c.tag)):
        tags.setdefault(sweep_id, []).append(tag)
    mine = select(sweep_stars.c.sweep_id).where(sweep_stars.c.user == user, sweep_stars.c.sweep_id.in_(ids))
    starred = set(connection.execute(mine).scalars())
    return {sweep_id: Labels(tuple(tags.get(sweep_id, ())), sweep_id in starred) for sweep_id in ids}


def change(connection: Connection, sweep_id: int, changes: DetailChanges, user: str, at: float) -> None:
    """Change what users write about a sweep. The search is not affected.

    Raises `NotFoundError`, `InvalidSpecError`, and `ConflictError` for the archive of a sweep that has not ended.
    """
    row = sweep_store.without_counts(connection, sweep_id)
    known = labels_of(connection, [sweep_id], user)[sweep_id]
    values = _changed_columns(row, changes, at)
    payload: dict[str, object] = {name: value for name, value in values.items() if name != "archived_at"}
    if "archived_at" in values:
        payload["archived"] = values["archived_at"] is not None
    if values:
        connection.execute(update(sweeps).where(sweeps.c.id == sweep_id).values(values))
    tags = _changed_tags(known, changes)
    if tags is not None:
        payload["tags"] = tags
        _set_tags(connection, sweep_id, tags)
    if changes.starred is not None and changes.starred != known.starred:
        _set_star(connection, sweep_id, user, starred=changes.starred)
    if payload:
        event_outbox.add(connection, [NewEvent(at, "sweep.described", sweep_id, payload={**payload, "by": user})])


def _changed_columns(row: SweepRow, changes: DetailChanges, at: float) -> dict[str, object]:
    wanted: dict[str, object] = {}
    if changes.name is not None:
        wanted["name"] = checked_sweep_name(changes.name)
    if changes.description is not None:
        wanted["description"] = checked_description(changes.description)
    if changes.project is not None:
        wanted["project"] = checked_project(changes.project)
    if changes.archived is not None and changes.archived != (row.archived_at is not None):
        if changes.archived and row.state not in TERMINAL_SWEEP_STATES:
            raise ConflictError(
                f"sweep {row.id} is {row.state}; only a sweep that has ended can be archived: stop or cancel it first"
            )
        wanted["archived_at"] = at if changes.archived else None
    return {name: value for name, value in wanted.items() if value != getattr(row, name)}


def _changed_tags(known: Labels, changes: DetailChanges) -> list[str] | None:
    """The new tags; None if they stay as they are."""
    wanted = set(known.tags if changes.tags is None else checked_tags(changes.tags))
    wanted -= set(checked_tags(changes.removed_tags, "remove_tags"))
    wanted |= set(checked_tags(changes.added_tags, "add_tags"))
    if wanted == set(known.tags):
        return None
    check_count(wanted)
    return sorted(wanted)


def _set_tags(connection: Connection, sweep_id: int, tags: Sequence[str]) -> None:
    connection.execute(delete(sweep_tags).where(sweep_tags.c.sweep_id == sweep_id))
    if tags:
        connection.execute(insert(sweep_tags), [{"sweep_id": sweep_id, "tag": tag} for tag in tags])


def _set_star(connection: Connection, sweep_id: int, user: str, *, starred: bool) -> None:
    if starred:
        connection.execute(dialect.insert(sweep_stars).values(user=user, sweep_id=sweep_id).on_conflict_do_nothing())
    else:
        mine = (sweep_stars.c.user == user) & (sweep_stars.c.sweep_id == sweep_id)
        connection.execute(delete(sweep_stars).where(mine))


def projects(connection: Connection, limit: int) -> list[ProjectRow]:
    """The projects by name, with the number of their sweeps."""
    archived = func.count(sweeps.c.archived_at)
    statement = (
        select(sweeps.c.project, func.count().label("count"), archived.label("archived"))
        .where(sweeps.c.project != "")
        .group_by(sweeps.c.project)
        .order_by(sweeps.c.project)
        .limit(limit)
    )
    rows = connection.execute(statement)
    return [ProjectRow(row.project, row._mapping["count"], row.archived) for row in rows]
