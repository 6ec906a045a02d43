"""Notes and tags of trials; api."""

from __future__ import annotations

from collections.abc import Iterable

from sqlalchemy import Connection, delete, insert, select

from podium.db.schema import dialect
from podium.db.schema.tables import trial_notes, trial_tags
from podium.db.stores import event_outbox
from podium.db.stores.event_outbox import NewEvent
from podium.db.stores.id_list import LISTED, listed
from podium.db.stores.precompiled_sql_statements import DriverSelect

_TAGS = DriverSelect(
    select(trial_tags.c.trial_id, trial_tags.c.tag)
    .where(trial_tags.c.trial_id.in_(LISTED))
    .order_by(trial_tags.c.trial_id, trial_tags.c.tag)
)


def note_of(connection: Connection, trial_id: int) -> str:
    """A trial's note; "" without one."""
    statement = select(trial_notes.c.note).where(trial_notes.c.trial_id == trial_id)
    return connection.execute(statement).scalar_one_or_none() or ""


def tags_of(connection: Connection, trial_ids: Iterable[int]) -> dict[int, list[str]]:
    """The sorted tags by trial id; trials without tags are omitted."""
    found: dict[int, list[str]] = {}
    for trial_id, tag in _TAGS.rows(connection, listed(trial_ids)):
        found.setdefault(trial_id, []).append(tag)
    return found


def set_note(connection: Connection, trial_id: int, note: str, at: float) -> None:
    """Write a trial's note; "" removes it."""
    if not note:
        connection.execute(delete(trial_notes).where(trial_notes.c.trial_id == trial_id))
        return
    statement = dialect.insert(trial_notes).values(trial_id=trial_id, note=note, changed_at=at)
    changed = {name: statement.excluded[name] for name in ("note", "changed_at")}
    connection.execute(statement.on_conflict_do_update(index_elements=["trial_id"], set_=changed))


def set_tags(connection: Connection, trial_id: int, tags: Iterable[str]) -> None:
    """Replace the tags of a trial."""
    connection.execute(delete(trial_tags).where(trial_tags.c.trial_id == trial_id))
    rows = [{"trial_id": trial_id, "tag": tag} for tag in tags]
    if rows:
        connection.execute(insert(trial_tags), rows)


def add_event(connection: Connection, sweep_id: int, trial_id: int, payload: dict[str, object], at: float) -> None:
    """Add the event of a changed note or changed tags."""
    event_outbox.add(connection, [NewEvent(at, "trial.noted", sweep_id, trial_id, payload=payload)])
