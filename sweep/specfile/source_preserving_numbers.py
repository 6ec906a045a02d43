"""Numbers that keep their source text, so that 1e-4 stays 1e-4 when a sweep file is edited; api process."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import JsonValue


class _Literal:
    text: str

    def __copy__(self) -> _Literal:
        return self

    def __deepcopy__(self, _: dict[int, Any]) -> _Literal:
        return self


class LiteralInt(_Literal, int):
    """An integer with its source text."""


class LiteralFloat(_Literal, float):
    """A float with its source text."""


def with_literals(value: JsonValue, numbers: Mapping[str, str], pointer: str = "") -> JsonValue:
    """The value, with the source text from `numbers`, by JSON pointer, attached to each number."""
    if isinstance(value, dict):
        return {key: with_literals(below, numbers, f"{pointer}/{escape_pointer(key)}") for key, below in value.items()}
    if isinstance(value, list):
        return [with_literals(below, numbers, f"{pointer}/{index}") for index, below in enumerate(value)]
    text = numbers.get(pointer)
    if text is None or isinstance(value, bool) or not isinstance(value, int | float) or not _is_literal_of(text, value):
        return value
    number = LiteralInt(value) if isinstance(value, int) else LiteralFloat(value)
    number.text = text
    return number


def escape_pointer(key: str) -> str:
    """A key as a part of a JSON pointer (RFC 6901)."""
    return key.replace("~", "~0").replace("/", "~1")


def _is_literal_of(text: str, value: float) -> bool:
    try:
        return (int(text, 0) if isinstance(value, int) else float(text)) == value
    except ValueError:  # such as 010, or .inf
        return False
