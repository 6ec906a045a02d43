"""Writes a document as readable YAML: short blocks on one line, quotes only where needed; api process."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import JsonValue

from podium.sweep.specfile.source_preserving_numbers import LiteralFloat, LiteralInt

_WIDE = 100  # columns
_INDENT = "  "
_PLAIN = re.compile(r"[A-Za-z_][\w.-]*(?:[:/@][\w.-]+)*", re.ASCII)  # needs no quotes, unless it is a YAML keyword
_NOT_PRINTABLE = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")  # line breaks in YAML, or not allowed
_WORDS = frozenset({"true", "false", "null", "yes", "no", "on", "off", "y", "n"})
_BLOCKS = frozenset({"parameters"})  # one line for each key, even if short
_LISTS = frozenset({"metrics", "enqueue"})  # one line for each item


def to_yaml(document: Mapping[str, JsonValue]) -> str:
    """The document as YAML text; the inverse of `read_document`."""
    return "".join(f"{line}\n" for key, value in document.items() for line in entry(key, value))


def entry(key: str, value: JsonValue, indent: str = "") -> Iterator[str]:
    """The lines of a key with its value."""
    name = scalar(key)
    short = f"{indent}{name}: {inline(value)}"
    if isinstance(value, dict) and value and (len(short) > _WIDE or key in _BLOCKS):
        yield f"{indent}{name}:"
        for inner, below in value.items():
            yield from entry(inner, below, indent + _INDENT)
    elif isinstance(value, list) and value and (len(short) > _WIDE or key in _LISTS):
        yield f"{indent}{name}:"
        for item in value:
            yield f"{indent}{_INDENT}- {inline(item)}"
    else:
        yield short


def inline(value: JsonValue) -> str:
    """A value on one line."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{scalar(key)}: {inline(below)}" for key, below in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(inline, value)) + "]"
    return scalar(value)


def scalar(value: Any) -> str:
    """A scalar; a string is quoted if YAML would parse it as something else."""
    if isinstance(value, LiteralInt | LiteralFloat):
        return value.text
    if isinstance(value, str) and _PLAIN.fullmatch(value) and value.casefold() not in _WORDS:
        return value
    return _NOT_PRINTABLE.sub(lambda found: f"\\u{ord(found.group()):04x}", json.dumps(value, ensure_ascii=False))
