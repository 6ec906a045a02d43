"""Changes to a sweep file key by key, as a form makes them: values come as YAML, so that 1.0 stays 1.0; api."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pydantic import JsonValue
from ruamel.yaml import YAML
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from sweep.document import parse_document
from sweep.errors import InvalidSpecError
from sweep.rewriting import rewritten
from sweep.sweep_text import NAME

_STAYS = ("parameters", "ensemble")  # say something when they are empty, too
_KEY = "value"


@dataclass(frozen=True, slots=True)
class Change:
    """A key, by its path from the top, and its new value as YAML; None removes it."""

    path: tuple[str, ...]
    value: str | None


def changed(text: str, changes: Sequence[Change]) -> str:
    """The text with these changes, one after the other. Raises `InvalidSpecError`."""
    plain = parse_document(NAME, text).plain if text.strip() else {}
    document = copy.deepcopy(plain)
    for change in changes:
        if change.value is None:
            _remove(document, change.path)
        else:
            _set(document, change.path, _value_of(change.path, change.value))
    return rewritten(text, document)


def _value_of(path: Sequence[str], text: str) -> JsonValue:
    try:
        lines = "\n".join(f"  {line}" for line in text.splitlines())
        return parse_document(NAME, f"{_KEY}:\n{lines}\n").plain[_KEY]
    except (InvalidSpecError, KeyError):
        raise InvalidSpecError.at(path, f"{text[:60]!r} cannot be read; write a text in quotes") from None


def _set(document: dict[str, JsonValue], path: Sequence[str], value: JsonValue) -> None:
    here = document
    for key in path[:-1]:
        below = here.get(key)
        if below is None:
            below = here[key] = {}
        if not isinstance(below, dict):
            raise InvalidSpecError.at(path, f"{key} is no block here; change it in the text")
        here = below
    here[path[-1]] = value


def _remove(document: dict[str, JsonValue], path: Sequence[str]) -> None:
    """Blocks that are empty then go too."""
    blocks = [document]
    for key in path[:-1]:
        below = blocks[-1].get(key)
        if not isinstance(below, dict):
            return
        blocks.append(below)
    blocks[-1].pop(path[-1], None)
    for place in range(len(path) - 1, 0, -1):
        if blocks[place] or path[place - 1] in _STAYS:
            return
        del blocks[place - 1][path[place - 1]]


def numbers_of(text: str) -> dict[str, str]:
    """Each number of a readable text as its author wrote it, by JSON pointer: no form may turn 1.0 into 1."""
    return dict(_numbers(YAML().compose(text), ""))


def _numbers(node: Node | None, pointer: str) -> Iterator[tuple[str, str]]:
    if isinstance(node, MappingNode):
        for key, value in node.value:
            yield from _numbers(value, f"{pointer}/{_escaped(str(key.value))}")
    elif isinstance(node, SequenceNode):
        for index, value in enumerate(node.value):
            yield from _numbers(value, f"{pointer}/{index}")
    elif isinstance(node, ScalarNode) and str(node.tag).endswith((":int", ":float")):
        yield pointer, str(node.value)


def _escaped(key: str) -> str:
    return key.replace("~", "~0").replace("/", "~1")
