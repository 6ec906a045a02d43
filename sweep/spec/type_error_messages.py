"""Messages for values of the wrong type or out of bounds, from pydantic's errors; CLI, api process and scheduler."""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Mapping
from typing import Any

from pydantic_core import ErrorDetails

from podium.sweep.spec.names_in_other_tools import podium_value
from podium.sweep.spec.strict_model import format_value

_KINDS: Mapping[str, str] = {
    "bool_type": "a boolean (true or false)",
    "int_type": "an integer",
    "int_from_float": "an integer",
    "float_type": "a number",
    "string_type": "a string",
    "list_type": "a list",
    "tuple_type": "a list",
    "dict_type": "a mapping",
    "model_type": "a mapping",
    "model_attributes_type": "a mapping",
}
_BOUNDS: Mapping[str, tuple[str, str]] = {
    "greater_than": ("greater than", "gt"),
    "greater_than_equal": ("at least", "ge"),
    "less_than": ("less than", "lt"),
    "less_than_equal": ("at most", "le"),
}


def type_message(details: ErrorDetails) -> str:
    """The expected type or bound, the given value, and an obvious correction if there is one."""
    kind, given, context = details["type"], details["input"], details.get("ctx") or {}
    if kind in _KINDS:
        return f"must be {_KINDS[kind]}, got {format_value(given)}{_correction(kind, given)}"
    if kind in _BOUNDS:
        words, key = _BOUNDS[kind]
        bound = f"{context[key]:g}" if isinstance(context[key], float) else str(context[key])
        return f"must be {words} {bound}, got {format_value(given)}"
    if kind in ("literal_error", "enum"):
        return _choice(str(context["expected"]), given)
    if kind == "too_long":
        return f"must have at most {context['max_length']:,} entries, got {len(given):,}"
    if kind == "string_too_short" or (kind == "too_short" and not given):
        return "must not be empty"
    if kind == "string_pattern_mismatch" and ":" in str(context["pattern"]):
        return f"must be MODULE:FUNCTION, such as train:objective; got {format_value(given)}"
    return f"{details['msg'][:1].lower()}{details['msg'][1:]}, got {format_value(given)}"


def union_message(kinds: Collection[str], given: Any) -> str:
    """The message for a value that matches none of several types."""
    if set(kinds) <= {"int_type", "float_type", "int_from_float"}:
        return f"must be a number, got {format_value(given)}{_correction('float_type', given)}"
    if "list_type" in kinds:
        return f"must be a scalar or a list of scalars, got {format_value(given)}"
    return f"must be a scalar (string, number, boolean or null), got {format_value(given)}"


def _correction(kind: str, given: Any) -> str:
    if kind in ("int_type", "float_type", "int_from_float") and isinstance(given, str) and _is_number(given):
        return "; remove the quotes"
    if kind == "int_from_float" or (kind == "int_type" and isinstance(given, float) and given.is_integer()):
        return f"; write {given:.0f}"
    if kind == "bool_type" and given in ("yes", "no", "on", "off"):
        return f"; write {'true' if given in ('yes', 'on') else 'false'}"
    if kind in ("list_type", "tuple_type") and isinstance(given, str | int | float):
        return f"; write [{given}]"
    if kind == "string_type" and isinstance(given, int | float):
        return "; quote it"
    return ""


def _choice(expected: str, given: Any) -> str:
    names = re.findall(r"'([^']*)'", expected)
    meant = podium_value(given, names)
    close = [meant] if meant else difflib.get_close_matches(str(given), names, n=1, cutoff=0.5)
    return f"must be one of {', '.join(names)}; got {format_value(given)}" + (
        f", did you mean {close[0]!r}?" if close else ""
    )


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
