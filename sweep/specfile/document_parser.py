"""Parses YAML 1.2, JSON and TOML documents with the line and column of each key; CLI and api process."""

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
from podium.sweep.specfile.text_files import invalid_file_error, read_text
from podium.sweep.values.errors import InvalidSpecError, Problem

Location = tuple[str, ...]
MAX_DEPTH = 32
MAX_VALUES = 100_000
_AT_LINE = re.compile(r" \(at (?:line (\d+), column \d+|end of document)\)$")
_FROM_ITS_START = ("while scanning a simple key", "while scanning a quoted scalar")  # detected lines later
_KEY = re.compile(r'found duplicate key "(.*?)" with')


@dataclass(frozen=True, slots=True)
class Document:
    """A parsed document as plain values, with the location of each key."""

    path: Path
    plain: dict[str, JsonValue]
    lines: Mapping[Location, int]
    columns: Mapping[Location, int] = field(default_factory=dict)  # of YAML and JSON only

    def line_of(self, location: Location) -> int | None:
        """The line (from 1) of the deepest existing key on the path to `location`."""
        for end in range(len(location), 0, -1):
            if location[:end] in self.lines:
                return self.lines[location[:end]]
        return None

    def column_of(self, location: Location) -> int | None:
        """The column (from 1) of the same key."""
        for end in range(len(location), 0, -1):
            if location[:end] in self.columns:
                return self.columns[location[:end]]
        return None

    def error(self, problems: list[Problem]) -> InvalidSpecError:
        """The problems, each with the line of its key in the file."""
        placed = [replace(problem, line=self.line_of(problem.location)) for problem in problems]
        return InvalidSpecError(placed, str(self.path))


def read_document(path: Path) -> Document:
    """The document of a file. Values are checked only for what JSON cannot represent. Raises `InvalidSpecError`."""
    return parse_document(path, read_text(path))


def parse_document(path: Path, text: str) -> Document:
    """The document of a text; `path` is its name, whose suffix selects the format. Raises `InvalidSpecError`."""
    try:
        node, lines, columns = _READERS.get(path.suffix.lower(), _read_yaml)(path, text)
        if not isinstance(node, Mapping):
            raise invalid_file_error(path, "a sweep file must be a mapping")
        plain = _Plain(path).mapping(node, ())
    except RecursionError:
        raise invalid_file_error(path, "nested too deeply") from None
    document = Document(path, plain, lines, columns)
    if problems := list(_not_finite(plain, ())):
        raise document.error(problems)
    return document


_TOO_LONG = "a number has too many digits; it must be at most 2**63"  # Python parses at most 4,300 digits


_Read = tuple[Any, dict[Location, int], dict[Location, int]]  # the document; lines and columns of its keys


def _read_yaml(path: Path, text: str) -> _Read:
    try:
        node = YAML().load(text)
    except DuplicateKeyError as error:
        raise _twice(path, error) from None
    except MarkedYAMLError as error:
        mark = error.context_mark if error.context in _FROM_ITS_START else error.problem_mark
        line = mark.line + 1 if mark else None
        raise invalid_file_error(path, _yaml_words(error.problem or "not valid YAML", text, line), line) from None
    except (YAMLError, ValueError) as error:  # an invalid date is a ValueError
        raise invalid_file_error(path, str(error).splitlines()[0]) from None
    except RecursionError:
        raise
    except Exception as error:  # bugs of ruamel.yaml, with tags such as !!set on a scalar
        raise invalid_file_error(path, "not valid YAML; use plain keys and values without tags (!!)") from error
    marks: dict[Location, tuple[int, int]] = {}
    _collect_marks(node, (), marks)
    return node, {at: line for at, (line, _) in marks.items()}, {at: column for at, (_, column) in marks.items()}


def _read_json(path: Path, text: str) -> _Read:
    try:
        node = json.loads(text)
    except json.JSONDecodeError as error:
        raise invalid_file_error(
            path, f"not valid JSON: {error.msg[:1].lower()}{error.msg[1:]}", error.lineno
        ) from None
    except ValueError:
        raise invalid_file_error(path, _TOO_LONG) from None
    _, lines, columns = _read_yaml(path, text.replace("\t", " "))  # JSON is YAML; json.loads keeps no lines
    return node, lines, columns


def _read_toml(path: Path, text: str) -> _Read:
    try:
        node = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        at = _AT_LINE.search(str(error))
        words = _AT_LINE.sub("", str(error))
        last = text.rstrip().count("\n") + 1
        line = last if at is None or at[1] is None else int(at[1])
        raise invalid_file_error(path, f"not valid TOML: {words[:1].lower()}{words[1:]}", line) from None
    except ValueError:
        raise invalid_file_error(path, _TOO_LONG) from None
    return node, toml_lines.lines_of(text.replace("\r\n", "\n")), {}


_READERS = {".json": _read_json, ".toml": _read_toml}


def _twice(path: Path, error: DuplicateKeyError) -> InvalidSpecError:
    key = _KEY.search(str(error.problem))
    name = repr(key[1]) if key else "this key"
    line = error.problem_mark.line + 1 if error.problem_mark else None
    first = f" in the mapping that begins on line {error.context_mark.line + 1}" if error.context_mark else ""
    return invalid_file_error(path, f"duplicate key {name}{first}", line)


def _yaml_words(problem: str, text: str, line: int | None) -> str:
    """An error of the YAML parser in plain terms."""
    shown = text.splitlines()[line - 1] if line is not None and line <= len(text.splitlines()) else ""
    if "\\t" in problem or shown.lstrip(" ").startswith("\t"):
        return "indented with a tab; YAML requires spaces"
    if "could not find expected ':'" in problem:
        return f"missing colon after the key in {shown.strip()[:60]!r}; write `key: value`"
    if "but found another document" in problem:
        return "a second document begins here (---); a sweep file must be a single document"
    return problem


def _collect_marks(node: Any, where: Location, marks: dict[Location, tuple[int, int]], depth: int = 0) -> None:
    """Collects the line and column of each key; keys of an alias or a merge have those of the referring key."""
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
    """Converts to JSON values and counts them: nested YAML aliases can expand to more than fits in memory."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._left = MAX_VALUES

    def mapping(self, node: Mapping[Any, Any], where: Location) -> dict[str, JsonValue]:
        return {str(key): self._value(value, (*where, str(key))) for key, value in node.items()}

    def _value(self, node: Any, where: Location) -> JsonValue:
        self._left -= 1
        if self._left < 0:
            raise invalid_file_error(self._path, f"must have at most {MAX_VALUES:,} values")
        if len(where) > MAX_DEPTH:
            raise invalid_file_error(self._path, f"{where[0]} is nested more than {MAX_DEPTH} levels deep")
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
        return [Problem(where, f"must be a finite number, got {node}; quote it if it is a string")]
    return []
