"""A document of keys and values (YAML 1.2, JSON or TOML) that knows the line of each of its keys; cli."""

from __future__ import annotations

import json
import math
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from pydantic import JsonValue
from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.constructor import DuplicateKeyError
from ruamel.yaml.error import MarkedYAMLError, YAMLError

from podium.sweep.specfile import toml_lines
from podium.sweep.specfile.text_files import read_text, unreadable
from podium.sweep.values.errors import InvalidSpecError, Problem

Location = tuple[str, ...]
MAX_DEPTH = 32
MAX_VALUES = 100_000
_AT_LINE = re.compile(r" \(at (?:line (\d+), column \d+|end of document)\)$")
_FROM_ITS_START = ("while scanning a simple key", "while scanning a quoted scalar")  # noticed lines later
_KEY = re.compile(r'found duplicate key "(.*?)" with')


@dataclass(frozen=True, slots=True)
class Document:
    """What a file says, in plain values, and on which lines."""

    path: Path
    plain: dict[str, JsonValue]
    lines: Mapping[Location, int]
    columns: Mapping[Location, int] = field(default_factory=dict)  # of YAML and JSON alone

    def line_of(self, location: Location) -> int | None:
        """The line (from 1) of the deepest key on the way to `location` that the file has."""
        for end in range(len(location), 0, -1):
            if location[:end] in self.lines:
                return self.lines[location[:end]]
        return None

    def column_of(self, location: Location) -> int | None:
        """The column (from 1) at which that key begins."""
        for end in range(len(location), 0, -1):
            if location[:end] in self.columns:
                return self.columns[location[:end]]
        return None

    def error(self, problems: list[Problem]) -> InvalidSpecError:
        """The problems, each with the line of its key in the file."""
        placed = [replace(problem, line=self.line_of(problem.location)) for problem in problems]
        return InvalidSpecError(placed, str(self.path))


def read_document(path: Path) -> Document:
    """The document of a file, its values unchecked but for what no JSON can hold. Raises `InvalidSpecError`."""
    return parse_document(path, read_text(path))


def parse_document(path: Path, text: str) -> Document:
    """The same of a text that is there already; `path` is what to call it, and its ending says what it is written in.

    Raises `InvalidSpecError`.
    """
    try:
        node, lines, columns = _READERS.get(path.suffix.lower(), _read_yaml)(path, text)
        if not isinstance(node, Mapping):
            raise unreadable(path, "a sweep file is a mapping of keys to values")
        plain = _Plain(path).mapping(node, ())
    except RecursionError:
        raise unreadable(path, "this is nested too deeply") from None
    document = Document(path, plain, lines, columns)
    if problems := list(_not_finite(plain, ())):
        raise document.error(problems)
    return document


_TOO_LONG = "a number has thousands of digits; none above 2**63 can be stored"  # Python reads 4,300 at most


_Read = tuple[Any, dict[Location, int], dict[Location, int]]  # the document; lines and columns of its keys


def _read_yaml(path: Path, text: str) -> _Read:
    try:
        node = YAML().load(text)
    except DuplicateKeyError as error:
        raise _twice(path, error) from None
    except MarkedYAMLError as error:
        mark = error.context_mark if error.context in _FROM_ITS_START else error.problem_mark
        line = mark.line + 1 if mark else None
        raise unreadable(path, _yaml_words(error.problem or "not valid YAML", text, line), line) from None
    except (YAMLError, ValueError) as error:  # a date that no calendar has is a ValueError
        raise unreadable(path, str(error).splitlines()[0]) from None
    except RecursionError:
        raise
    except Exception as error:  # ruamel's own faults, with tags such as !!set on what is no set
        raise unreadable(path, "not readable as YAML; write plain keys and values, without tags (!!)") from error
    marks: dict[Location, tuple[int, int]] = {}
    _collect_marks(node, (), marks)
    return node, {at: line for at, (line, _) in marks.items()}, {at: column for at, (_, column) in marks.items()}


def _read_json(path: Path, text: str) -> _Read:
    try:
        node = json.loads(text)
    except json.JSONDecodeError as error:
        raise unreadable(path, f"not valid JSON: {error.msg[:1].lower()}{error.msg[1:]}", error.lineno) from None
    except ValueError:
        raise unreadable(path, _TOO_LONG) from None
    _, lines, columns = _read_yaml(path, text.replace("\t", " "))  # JSON is YAML; its own reader keeps no lines
    return node, lines, columns


def _read_toml(path: Path, text: str) -> _Read:
    try:
        node = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        at = _AT_LINE.search(str(error))
        words = _AT_LINE.sub("", str(error))
        last = text.rstrip().count("\n") + 1
        line = last if at is None or at[1] is None else int(at[1])
        raise unreadable(path, f"not valid TOML: {words[:1].lower()}{words[1:]}", line) from None
    except ValueError:
        raise unreadable(path, _TOO_LONG) from None
    return node, toml_lines.lines_of(text.replace("\r\n", "\n")), {}


_READERS = {".json": _read_json, ".toml": _read_toml}


def _twice(path: Path, error: DuplicateKeyError) -> InvalidSpecError:
    key = _KEY.search(str(error.problem))
    name = repr(key[1]) if key else "this key"
    line = error.problem_mark.line + 1 if error.problem_mark else None
    first = f"; the mapping begins on line {error.context_mark.line + 1}" if error.context_mark else ""
    return unreadable(path, f"the key {name} is here twice in one mapping{first}", line)


def _yaml_words(problem: str, text: str, line: int | None) -> str:
    """What YAML's reader says, in words for who has not written one."""
    shown = text.splitlines()[line - 1] if line is not None and line <= len(text.splitlines()) else ""
    if "\\t" in problem or shown.lstrip(" ").startswith("\t"):
        return "there is a tab before this; YAML is indented by spaces"
    if "could not find expected ':'" in problem:
        return f"there is no colon after the key in {shown.strip()[:60]!r}; write `key: value`"
    if "but found another document" in problem:
        return "a second document begins here (---); a sweep file is one"
    return problem


def _collect_marks(node: Any, where: Location, marks: dict[Location, tuple[int, int]], depth: int = 0) -> None:
    """The line and column of each key; what an alias or a merge brings in has the line of the key that brings it."""
    if depth > MAX_DEPTH or len(marks) > MAX_VALUES:
        return
    if isinstance(node, CommentedMap):
        for key, value in node.items():
            mark = (node.lc.data or {}).get(key)
            if mark is not None:
                marks[(*where, str(key))] = (mark[0] + 1, mark[1] + 1)
            _collect_marks(value, (*where, str(key)), marks, depth + 1)
    elif isinstance(node, CommentedSeq):
        for index, value in enumerate(node):
            mark = (node.lc.data or {}).get(index)
            if mark is not None:
                marks[(*where, str(index))] = (mark[0] + 1, mark[1] + 1)
            _collect_marks(value, (*where, str(index)), marks, depth + 1)


class _Plain:
    """Values as JSON has them, counted: an alias of an alias of an alias may stand for more than there is memory."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._left = MAX_VALUES

    def mapping(self, node: Mapping[Any, Any], where: Location) -> dict[str, JsonValue]:
        return {str(key): self._value(value, (*where, str(key))) for key, value in node.items()}

    def _value(self, node: Any, where: Location) -> JsonValue:
        self._left -= 1
        if self._left < 0:
            raise unreadable(self._path, f"there are more than {MAX_VALUES:,} values in it; a sweep file is smaller")
        if len(where) > MAX_DEPTH:
            raise unreadable(self._path, f"{where[0]} is nested more than {MAX_DEPTH} deep")
        if isinstance(node, Mapping):
            return self.mapping(node, where)
        if isinstance(node, list):
            return [self._value(value, (*where, str(index))) for index, value in enumerate(node)]
        return _scalar(node)


def _scalar(node: Any) -> JsonValue:
    if isinstance(node, bool) or node is None:
        return node
    if isinstance(node, int):
        return int(node)
    return float(node) if isinstance(node, float) else str(node)


def _not_finite(node: JsonValue, where: Location) -> list[Problem]:
    if isinstance(node, dict):
        return [problem for key, value in node.items() for problem in _not_finite(value, (*where, key))]
    if isinstance(node, list):
        return [problem for i, value in enumerate(node) for problem in _not_finite(value, (*where, str(i)))]
    if isinstance(node, float) and not math.isfinite(node):
        return [Problem(where, f"{node} is not a finite number; write one, or quotes around it if text is meant")]
    return []
