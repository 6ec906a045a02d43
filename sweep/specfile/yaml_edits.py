"""Changes values in the text of a YAML sweep file and keeps comments and formatting of the rest; api process."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import JsonValue
from ruamel.yaml import YAML
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from podium.sweep.specfile.document_parser import parse_document
from podium.sweep.specfile.sweep_text_check import NAME
from podium.sweep.specfile.yaml_writer import entry, inline, to_yaml
from podium.sweep.values.errors import InvalidSpecError

Plain = Mapping[str, JsonValue]


@dataclass(frozen=True, slots=True)
class _Edit:
    """A replacement of a part of the text, by offsets."""

    start: int
    end: int
    text: str


class _NotInPlaceError(Exception):
    """The change cannot be made in place."""


def rewrite(text: str, document: Plain) -> str:
    """The text changed so that it parses as `document`. Raises `InvalidSpecError` if `text` cannot be parsed.

    Values are replaced in place. If that is not possible (for a value shared by an anchor, for example), the whole
    document is written again, without comments.
    """
    if not text.strip():
        return to_yaml(document)
    plain = parse_document(NAME, text).plain
    if _same(plain, document):
        return text
    try:
        ended = text if text.endswith("\n") else f"{text}\n"
        changed = _apply(ended, list(_edits(_Text(ended), _root(ended), plain, document)))
        if _same(parse_document(NAME, changed).plain, document):
            return changed
    except (_NotInPlaceError, InvalidSpecError):
        pass
    return to_yaml(document)


def _same(one: JsonValue | Plain, other: JsonValue | Plain) -> bool:
    """Whether both are equal, with types: 1 and 1.0 differ, since they make integer and float ranges."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_same(value, other[key]) for key, value in one.items())
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_same, one, other))
    return _kind(one) is _kind(other) and one == other


def _kind(value: object) -> type | None:
    return next((kind for kind in (bool, int, float, str, dict, list) if isinstance(value, kind)), None)


class _Text:
    """Offsets of lines and columns."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._starts = [0]
        for line in text.splitlines(keepends=True):
            self._starts.append(self._starts[-1] + len(line))

    def start_of(self, line: int) -> int:
        return self._starts[min(line, len(self._starts) - 1)]

    def at(self, mark: Any) -> int:
        return self.start_of(mark.line) + int(mark.column)

    def begins_line(self, mark: Any) -> bool:
        """Whether nothing precedes it on its line, such as the dash of a list item."""
        return not self.text[self.start_of(mark.line) : self.at(mark)].strip()

    def comment_after(self, mark: Any) -> str:
        """The comment after a mark on its line, with leading space."""
        rest = self.text[self.at(mark) : self.start_of(mark.line + 1)].rstrip()
        return rest if rest.lstrip().startswith("#") else ""


def _root(text: str) -> Node:
    root = YAML().compose(text)
    if not isinstance(root, MappingNode):
        raise _NotInPlaceError
    return root


def _edits(text: _Text, node: Node, old: Plain, new: Plain) -> Iterator[_Edit]:
    """The edits that change a block to `new`."""
    if not isinstance(node, MappingNode) or node.flow_style or not node.value:
        raise _NotInPlaceError
    keys = {str(key.value): (key, value) for key, value in node.value}
    if keys.keys() != old.keys():
        raise _NotInPlaceError  # a merge key, or keys that are not plain strings
    if not new:
        raise _NotInPlaceError
    indent = " " * int(node.value[0][0].start_mark.column)
    added = [line for name, value in new.items() if name not in keys for line in entry(name, value, indent)]
    for name, (key, value) in keys.items():
        if name not in new:
            if not text.begins_line(key.start_mark):
                raise _NotInPlaceError
            start, end = text.start_of(key.start_mark.line), text.start_of(_last_line(value, key) + 1)
            if added and not _is_block(value):
                added[0] += text.comment_after(
                    value.end_mark
                )  # the added key replaces the removed one and keeps its comment
            yield _Edit(start, end, _lines(added))
            added = []
        elif not _same(old[name], new[name]):
            yield from _changed(text, key, node=value, old=old[name], new=new[name])
    if added:
        end = text.start_of(_last_line(node) + 1)
        yield _Edit(end, end, _lines(added))


def _lines(lines: Sequence[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def _changed(text: _Text, key: Node, node: Node, old: JsonValue, new: JsonValue) -> Iterator[_Edit]:
    """The edits that change the value of a key, in parts if possible, else as a whole."""
    try:
        yield from list(_parts(text, node, old, new))
    except _NotInPlaceError:
        yield _replace_value(text, key, node, new)


def _parts(text: _Text, node: Node, old: JsonValue, new: JsonValue) -> Iterator[_Edit]:
    """The edits within a value."""
    if isinstance(node, MappingNode) and isinstance(old, dict) and isinstance(new, dict) and node.value:
        if not node.flow_style:
            yield from _edits(text, node, old, new)
            return
        if old.keys() <= new.keys() and [str(key.value) for key, _ in node.value] == list(old):
            yield from _within_braces(text, node, old, new)
            return
    if isinstance(node, SequenceNode) and isinstance(old, list) and isinstance(new, list) and node.value:
        if not node.flow_style:
            yield from _items(text, node, old, new)
            return
        if len(old) == len(new):
            for item, before, after in zip(node.value, old, new, strict=True):
                if not _same(before, after):
                    yield from _parts(text, item, before, after)
            return
    if _is_nothing(node) or _is_block(node):
        raise _NotInPlaceError
    yield _Edit(text.at(node.start_mark), text.at(node.end_mark), inline(new))


def _items(text: _Text, node: SequenceNode, old: list[JsonValue], new: list[JsonValue]) -> Iterator[_Edit]:
    """The edits of a block list; unchanged items at both ends are kept."""
    if not new:
        raise _NotInPlaceError
    head = _equal_prefix_length(zip(old, new, strict=False))
    tail = min(_equal_prefix_length(zip(reversed(old), reversed(new), strict=False)), min(len(old), len(new)) - head)
    before, after = old[head : len(old) - tail], new[head : len(new) - tail]
    items = node.value[head : len(old) - tail]
    for item, was, now in zip(items, before, after, strict=False):
        yield from _parts(text, item, was, now)
    for item in items[len(after) :]:
        start = text.start_of(item.start_mark.line)
        if text.text[start : text.at(item.start_mark)].strip() != "-":
            raise _NotInPlaceError
        yield _Edit(start, text.start_of(_last_line(item) + 1), "")
    if added := after[len(before) :]:
        place = node.value[len(old) - tail - 1] if len(old) > tail else None
        at = text.start_of(node.start_mark.line if place is None else _last_line(place) + 1)
        if place is None and not text.begins_line(node.start_mark):
            raise _NotInPlaceError
        dash = " " * int(node.start_mark.column) + "- "
        yield _Edit(at, at, _lines([dash + inline(value) for value in added]))


def _equal_prefix_length(pairs: Iterable[tuple[JsonValue, JsonValue]]) -> int:
    """The number of leading pairs of equal values."""
    count = 0
    for one, other in pairs:
        if not _same(one, other):
            break
        count += 1
    return count


def _replace_value(text: _Text, key: Node, node: Node, new: JsonValue) -> _Edit:
    """Rewrites a key with its value."""
    if _is_nothing(node):
        colon = text.at(key.end_mark) + 1
        return _Edit(colon, colon, f" {inline(new)}")
    indent = " " * int(key.start_mark.column)
    lines = _lines(list(entry(str(key.value), new, indent)))
    return _Edit(text.at(key.start_mark), text.start_of(_last_line(node, key) + 1), lines[len(indent) :])


def _within_braces(text: _Text, node: MappingNode, old: Plain, new: Plain) -> Iterator[_Edit]:
    for key, value in node.value:
        if not _same(old[key.value], new[key.value]):
            yield from _parts(text, value, old[key.value], new[key.value])
    if added := {name: value for name, value in new.items() if name not in old}:
        end = text.at(node.value[-1][1].end_mark)
        yield _Edit(end, end, f", {inline(added)[1:-1]}")


def _is_block(node: Node) -> bool:
    """Whether a value has block style."""
    if isinstance(node, ScalarNode):
        return node.style in ("|", ">")
    return isinstance(node, MappingNode | SequenceNode) and not node.flow_style


def _is_nothing(node: Node) -> bool:
    """Whether nothing follows the colon; YAML then reports the position of the next node."""
    return isinstance(node, ScalarNode) and node.start_mark.index == node.end_mark.index


def _last_line(node: Node, key: Node | None = None) -> int:
    """The last line (from 0) of a value; for the end of a block, YAML reports the start of the next node."""
    if key is not None and _is_nothing(node):
        return int(key.end_mark.line)
    if not isinstance(node, MappingNode | SequenceNode) or node.flow_style or not node.value:
        end = node.end_mark
        return int(end.line - 1 if end.column == 0 and end.line > node.start_mark.line else end.line)
    below = node.value[-1]
    return _last_line(below[1], below[0]) if isinstance(below, tuple) else _last_line(below)


def _apply(text: str, edits: list[_Edit]) -> str:
    for edit in sorted(edits, key=lambda edit: (edit.start, edit.end), reverse=True):
        text = text[: edit.start] + edit.text + text[edit.end :]
    return text
