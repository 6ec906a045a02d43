"""What pydantic says of a value of the wrong kind, as a sentence after its key; cli, api and scheduler."""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Mapping
from typing import Any

from pydantic_core import ErrorDetails

from podium.sweep.spec.strict_model import shown
from podium.sweep.spec.synonyms import word_meant

_KINDS: Mapping[str, str] = {
    "bool_type": "true or false",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "string_type": "text",
    "list_type": "a list",
    "tuple_type": "a list",
    "dict_type": "a mapping of keys to values",
    "model_type": "a block of keys",
    "model_attributes_type": "a block of keys",
}
_BOUNDS: Mapping[str, tuple[str, str]] = {
    "greater_than": ("above", "gt"),
    "greater_than_equal": ("at least", "ge"),
    "less_than": ("below", "lt"),
    "less_than_equal": ("at most", "le"),
}


def words_of(details: ErrorDetails) -> str:
    """What a value is to be, and what it is instead."""
    kind, given, context = details["type"], details["input"], details.get("ctx") or {}
    if kind in _KINDS:
        return f"is {_KINDS[kind]}, not {shown(given)}{_remedy(kind, given)}"
    if kind in _BOUNDS:
        words, key = _BOUNDS[kind]
        bound = f"{context[key]:g}" if isinstance(context[key], float) else str(context[key])
        return f"is {words} {bound}, not {shown(given)}"
    if kind in ("literal_error", "enum"):
        return _choice(str(context["expected"]), given)
    if kind == "too_long":
        return f"holds {len(given):,} entries, and {context['max_length']:,} are the most"
    if kind == "string_too_short":
        return "is empty; write something"
    if kind == "string_pattern_mismatch" and ":" in str(context["pattern"]):
        return f"is MODULE:FUNCTION, not {shown(given)}; write train:objective, say"
    return f"{details['msg'][:1].lower()}{details['msg'][1:]}, not {shown(given)}"


def words_of_union(kinds: Collection[str], given: Any) -> str:
    """What a value is to be that may be of several kinds, and is of none."""
    if set(kinds) <= {"int_type", "float_type", "int_from_float"}:
        return f"is a number, not {shown(given)}{_remedy('float_type', given)}"
    if "list_type" in kinds:
        return f"is a value or a list of values, not {shown(given)}"
    return f"is a single value (text, a number, true, false or null), not {shown(given)}"


def _remedy(kind: str, given: Any) -> str:
    if kind in ("int_type", "float_type", "int_from_float") and isinstance(given, str) and _is_number(given):
        return "; leave the quotes out"
    if kind == "int_from_float" or (kind == "int_type" and isinstance(given, float) and given.is_integer()):
        return f"; write {given:.0f}"
    if kind == "bool_type" and given in ("yes", "no", "on", "off"):
        return f"; write {'true' if given in ('yes', 'on') else 'false'}"
    if kind in ("list_type", "tuple_type") and isinstance(given, str | int | float):
        return f"; write [{given}]"
    if kind == "string_type" and isinstance(given, int | float):
        return "; put it in quotes"
    return ""


def _choice(expected: str, given: Any) -> str:
    names = re.findall(r"'([^']*)'", expected)
    meant = word_meant(given, names)
    close = [meant] if meant else difflib.get_close_matches(str(given), names, n=1, cutoff=0.5)
    return f"is one of {', '.join(names)}, not {shown(given)}" + (f"; did you mean {close[0]!r}?" if close else "")


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
