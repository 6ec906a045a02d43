"""Cursors of pages of trials: the sort key and its values at the end of a page; api.

Since it contains the value, a row that changes between two pages neither repeats nor hides other rows.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeGuard

from podium.db.queries.trial_order import Order
from podium.sweep.values.errors import BadRequestError

MAX_CURSOR = 2_000
_MAX_NUMBER = 2**63 - 1
_NUMBER_DIGITS = 19


@dataclass(frozen=True, slots=True)
class Position:
    """The position after the trial with this number and these values of the sort columns."""

    number: int
    values: tuple[Any, ...] | None = None  # None: the trial's current ones


def cursor_of(sort: str, order: Order | None, position: Position) -> int | str:
    """The cursor for a position: the number, or an opaque string for other sort orders."""
    if order is None:
        return position.number
    text = _text_of([sort, position.number, position.values])
    return text if len(text) <= MAX_CURSOR else _text_of([sort, position.number, None])


def position_of(cursor: str, sort: str, order: Order | None) -> Position:
    """The position of a cursor. Raises `BadRequestError` for a cursor of another order or an invalid one."""
    if order is None:
        if cursor.isascii() and cursor.isdigit() and len(cursor) <= _NUMBER_DIGITS and int(cursor) <= _MAX_NUMBER:
            return Position(int(cursor))
        raise BadRequestError("invalid `after`: use the `next` of the previous page")
    try:
        of, number, values = json.loads(base64.urlsafe_b64decode(cursor.encode()))
    except (ValueError, TypeError, RecursionError, binascii.Error):
        of, number, values = None, None, None
    if of != sort or not _is_number(number) or not _are_values(values, len(order.columns)):
        raise BadRequestError(
            "invalid `after` for this `sort`: use the `next` of the previous page with the same `sort`"
        )
    return Position(number, None if values is None else tuple(values))


def _text_of(content: list[Any]) -> str:
    return base64.urlsafe_b64encode(json.dumps(content, separators=(",", ":")).encode()).decode()


def _is_number(found: Any) -> TypeGuard[int]:
    return type(found) is int and 0 <= found <= _MAX_NUMBER


def _are_values(found: Any, columns: int) -> TypeGuard[Sequence[Any] | None]:
    if found is None:
        return True
    return isinstance(found, list) and len(found) == columns and all(_is_value(value) for value in found)


def _is_value(found: Any) -> bool:
    return found is None or type(found) in (float, str) or (type(found) is int and abs(found) <= _MAX_NUMBER)
