"""Rejects JSON with a duplicate key in one object: parsers disagree on which value wins; api and gateway."""

from __future__ import annotations

import json
import reprlib
from collections import Counter
from typing import Any

from fastapi import HTTPException


def check(body: bytes) -> None:
    """Raises `HTTPException` 400, which FastAPI passes on while it reads a body.

    Any other error in the JSON is left to the route.
    """
    try:
        json.loads(body, object_pairs_hook=_reject_duplicates)
    except (ValueError, RecursionError):
        pass


def check_parsed(body: bytes, parsed: object) -> None:
    """The same as `check`, but reads `body` again only if it has more quotes than `parsed` accounts for.

    Rows of numbers contain no quotes, so that the check is almost free for them.
    """
    if body.count(b'"') > 2 * _strings(parsed):
        check(body)


def _strings(parsed: object) -> int:
    """The number of keys and strings; a list that starts with a number is not searched."""
    count, remaining = 0, [parsed]
    while remaining:
        one = remaining.pop()
        if isinstance(one, str):
            count += 1
        elif isinstance(one, dict):
            count += len(one)
            remaining += one.values()
        elif isinstance(one, list) and one and isinstance(one[0], str | dict):
            remaining += one
    return count


def _reject_duplicates(pairs: list[tuple[str, Any]]) -> None:
    """Builds no object, so that a large body is not held twice."""
    if len({name for name, _ in pairs}) < len(pairs):
        duplicate = Counter(name for name, _ in pairs).most_common(1)[0][0]
        raise HTTPException(400, f"duplicate key {reprlib.repr(duplicate)} in a JSON object")
