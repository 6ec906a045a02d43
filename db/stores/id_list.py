"""Lists of ids as one parameter of a statement; scheduler and api."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from sqlalchemy import ScalarSelect, String, bindparam, func, select

_NAME = "ids"
# The ids for `column.in_`, in a statement that is compiled once: their list is passed by `listed`.
LISTED: ScalarSelect[Any] = select(
    func.json_each(bindparam(_NAME, type_=String)).table_valued("value").c.value
).scalar_subquery()


def listed(ids: Iterable[int]) -> dict[str, Any]:
    """The value of `LISTED`."""
    return {_NAME: json.dumps(list(ids))}


def id_list(ids: Iterable[int]) -> ScalarSelect[Any]:
    """The ids for `column.in_`: with any number of them, the text of the statement and its compiled form are the same.

    A parameter for each of 100 ids would cost twice the time of the query.
    """
    each = func.json_each(json.dumps(list(ids))).table_valued("value")
    return select(each.c.value).scalar_subquery()
