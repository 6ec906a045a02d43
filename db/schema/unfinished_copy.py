"""Refuses a database that is being copied into: it has a mark instead of its schema; every process that opens one.

The mark is set and removed by `podium.db.copies.unfinished_copy_marker`.
"""

from __future__ import annotations

from podium.sweep.values.errors import DatabaseError

COPYING = "copy-"  # the mark starts with it


def is_unfinished(schema: str | None) -> bool:
    """Whether a database with this in the place of its schema is an unfinished copy."""
    return schema is not None and schema.startswith(COPYING)


def refuse_unfinished(name: str, schema: str | None) -> None:
    """Raises `DatabaseError` if the database is an unfinished copy."""
    if is_unfinished(schema):
        raise DatabaseError(
            f"{name} is an unfinished copy of another database; run the same `podium db copy` again, which "
            "continues where it stopped"
        )
