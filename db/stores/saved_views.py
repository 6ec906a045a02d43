"""Named views of the page of a sweep: tab, filter, sort and columns, for a project or for all sweeps; api."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from sqlalchemy import Connection, Row, delete, func, select

from podium.db.schema import dialect
from podium.db.schema.tables import saved_views
from podium.sweep.values.errors import ConflictError, NotFoundError

MAX_VIEWS = 500  # of the service


@dataclass(frozen=True, slots=True)
class SavedView:
    """A view; `query` is the state of the page in its URL."""

    id: int
    project: str  # "": for all sweeps
    name: str
    tab: str
    query: dict[str, str]
    owner: str
    changed_at: float


def of_project(connection: Connection, project: str) -> list[SavedView]:
    """The views of a project and those for all sweeps, by name; a view of the project comes first."""
    statement = select(saved_views).where(saved_views.c.project.in_({"", project}))
    rows = connection.execute(statement.order_by(saved_views.c.name, saved_views.c.project.desc()))
    return [_view(row) for row in rows]


def save(
    connection: Connection, *, project: str, name: str, tab: str, query: Mapping[str, str], owner: str, at: float,
    max_views: int = MAX_VIEWS,
) -> SavedView:  # fmt: skip
    """Save a view; one of the same project and name is replaced. Raises `ConflictError` above the maximum number."""
    mine = (saved_views.c.project == project) & (saved_views.c.name == name)
    known = connection.execute(select(saved_views.c.id).where(mine)).scalar_one_or_none()
    if known is None and connection.execute(select(func.count()).select_from(saved_views)).scalar_one() >= max_views:
        raise ConflictError(f"there are {max_views} saved views, the maximum; delete one first")
    statement = dialect.insert(saved_views).values(
        project=project, name=name, tab=tab, query=json.dumps(dict(query)), owner=owner, changed_at=at
    )
    changed = {each: statement.excluded[each] for each in ("tab", "query", "owner", "changed_at")}
    connection.execute(statement.on_conflict_do_update(index_elements=["project", "name"], set_=changed))
    return _view(connection.execute(select(saved_views).where(mine)).one())


def remove(connection: Connection, view_id: int) -> SavedView:
    """Delete a view. Raises `NotFoundError`."""
    row = connection.execute(
        delete(saved_views).where(saved_views.c.id == view_id).returning(saved_views)
    ).one_or_none()
    if row is None:
        raise NotFoundError(f"there is no saved view {view_id}")
    return _view(row)


def _view(row: Row[tuple[object, ...]]) -> SavedView:
    values = dict(row._mapping)
    return SavedView(**{**values, "query": json.loads(str(values["query"]))})
