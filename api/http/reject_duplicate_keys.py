"""JSON with a key twice in one object is refused, of which readers take the first or the last; api and gateway."""

from __future__ import annotations

import json
import reprlib
from collections import Counter
from typing import Any

from fastapi import HTTPException


def check(body: bytes) -> None:
    """Raises `HTTPException`, 400, which FastAPI lets through where it reads bodies.

    Of what else is wrong with JSON, the route says so in its own words.
    """
    try:
        json.loads(body, object_pairs_hook=_once_each)
    except (ValueError, RecursionError):
        pass


def check_read(body: bytes, found: object) -> None:
    """The same for what was read from it: in full only where `body` has more quotes than what was `found` explains.

    Rows of numbers have none, so that this costs them next to nothing.
    """
    if body.count(b'"') > 2 * _texts(found):
        check(body)


def _texts(found: object) -> int:
    """Keys and texts; where there are numbers, nothing else is expected."""
    texts, waiting = 0, [found]
    while waiting:
        one = waiting.pop()
        if isinstance(one, str):
            texts += 1
        elif isinstance(one, dict):
            texts += len(one)
            waiting += one.values()
        elif isinstance(one, list) and one and isinstance(one[0], str | dict):
            waiting += one
    return texts


def _once_each(pairs: list[tuple[str, Any]]) -> None:
    """Nothing is kept of an object: a large one must not be here twice."""
    if len({name for name, _ in pairs}) < len(pairs):
        twice = Counter(name for name, _ in pairs).most_common(1)[0][0]
        raise HTTPException(400, f"the key {reprlib.repr(twice)} is here twice in one object")
