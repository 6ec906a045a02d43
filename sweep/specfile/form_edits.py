"""Applies a form's edits to the text of a sweep file, key by key; values are YAML, so that 1.0 stays 1.0; api."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pydantic import JsonValue
from ruamel.yaml import YAML
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from podium.sweep.specfile.document_parser import parse_document
from podium.sweep.specfile.source_preserving_numbers import escape_pointer, with_literals
from podium.sweep.specfile.sweep_text_check import NAME
from podium.sweep.specfile.yaml_edits import rewrite
from podium.sweep.values.errors import InvalidSpecError

_KEPT_WHEN_EMPTY = ("parameters", "ensemble")  # blocks that are meaningful when empty
_KEY = "value"
_MAX_DIGITS = 6  # of a list index


@dataclass(frozen=True, slots=True)
class Change:
    """The path of a key and its new value as YAML; None removes the key."""

    path: tuple[str, ...]
    value: str | None


def apply_changes(text: str, changes: Sequence[Change]) -> str:
    """The text with these changes applied in order. Raises `InvalidSpecError`."""
    document = _read(text) if text.strip() else {}
    for change in changes:
        if change.value is None:
            _remove(document, change.path)
        else:
            _set(document, change.path, _value_of(change.path, change.value))
    return rewrite(text, document)


def _read(text: str) -> dict[str, JsonValue]:
    """The document of a text; numbers keep their source text."""
    plain = parse_document(NAME, text).plain
    numbers = number_literals(text)
    return {key: with_literals(value, numbers, f"/{escape_pointer(key)}") for key, value in plain.items()}


def _value_of(path: Sequence[str], text: str) -> JsonValue:
    try:
        lines = "\n".join(f"  {line}" for line in text.split("\n"))
        return _read(f"{_KEY}:\n{lines}\n")[_KEY]
    except (InvalidSpecError, KeyError):
        raise InvalidSpecError.at(path, f"{text[:60]!r} is not valid YAML; quote a string") from None


def _set(document: dict[str, JsonValue], path: Sequence[str], value: JsonValue) -> None:
    """Sets a value and creates missing blocks; in a list, the index after the last one appends."""
    here: JsonValue = document
    for place, key in enumerate(path):
        last = place == len(path) - 1
        if isinstance(here, list):
            here = _put_item(here, key, value if last else None, path)
        elif isinstance(here, dict):
            if last or here.get(key) is None:
                here[key] = value if last else {}
            here = here[key]
        else:
            raise InvalidSpecError.at(path, f"{path[place - 1]} is not a mapping; edit the text instead")


def _put_item(items: list[JsonValue], key: str, value: JsonValue, path: Sequence[str]) -> JsonValue:
    """Raises `InvalidSpecError` for an invalid index."""
    index = _index(key)
    if index is None or index > len(items):
        raise InvalidSpecError.at(
            path, f"{key!r} is not an index of a list with {len(items)} items; edit the text instead"
        )
    if index == len(items):
        items.append({})
    if value is not None:
        items[index] = value
    return items[index]


def _index(key: str) -> int | None:
    return int(key) if key.isdecimal() and len(key) < _MAX_DIGITS else None


def _remove(document: dict[str, JsonValue], path: Sequence[str]) -> None:
    """Removes a key, and blocks and lists that become empty; list items stay, even if empty."""
    blocks: list[JsonValue] = [document]
    for key in path[:-1]:
        blocks.append(_below(blocks[-1], key))
    _drop(blocks[-1], path[-1])
    for place in range(len(path) - 1, 0, -1):
        if (
            blocks[place]
            or blocks[place] is None
            or path[place - 1] in _KEPT_WHEN_EMPTY
            or isinstance(blocks[place - 1], list)
        ):
            return
        _drop(blocks[place - 1], path[place - 1])


def _below(block: JsonValue, key: str) -> JsonValue:
    if isinstance(block, dict):
        return block.get(key)
    index = _index(key)
    return block[index] if isinstance(block, list) and index is not None and index < len(block) else None


def _drop(block: JsonValue, key: str) -> None:
    if isinstance(block, dict):
        block.pop(key, None)
    elif isinstance(block, list) and (index := _index(key)) is not None and index < len(block):
        del block[index]


def number_literals(text: str) -> dict[str, str]:
    """The source text of each number in valid YAML, by JSON pointer, so that forms do not turn 1.0 into 1."""
    return dict(_numbers(YAML().compose(text), ""))


def _numbers(node: Node | None, pointer: str) -> Iterator[tuple[str, str]]:
    if isinstance(node, MappingNode):
        for key, value in node.value:
            yield from _numbers(value, f"{pointer}/{escape_pointer(str(key.value))}")
    elif isinstance(node, SequenceNode):
        for index, value in enumerate(node.value):
            yield from _numbers(value, f"{pointer}/{index}")
    elif isinstance(node, ScalarNode) and str(node.tag).endswith((":int", ":float")):
        yield pointer, str(node.value)
