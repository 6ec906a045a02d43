"""Reading a sweep file (YAML 1.2, TOML or JSON) so that every error knows its line; cli."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.error import MarkedYAMLError, YAMLError

from sweep.errors import InvalidSpecError, Problem
from sweep.spec import SweepSpec, parse_spec


def read_spec_file(path: Path) -> tuple[SweepSpec, dict[str, Any]]:
    """The checked spec, and the plain document to send. Raises `InvalidSpecError` naming file, line and key."""
    document = read_document(path)
    plain = _plain(document)
    try:
        return parse_spec(plain, str(path)), plain
    except InvalidSpecError as error:
        raise with_lines(error, document, path) from None


def read_document(path: Path) -> Any:
    """The document of a sweep file, not yet checked; YAML and JSON keep their line numbers."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise _unreadable(path, error.strerror or str(error)) from error
    except UnicodeDecodeError as error:
        raise _unreadable(path, f"not UTF-8 text (byte {error.start})") from error
    try:
        document = tomllib.loads(text) if path.suffix == ".toml" else YAML().load(text)
    except tomllib.TOMLDecodeError as error:
        raise _unreadable(path, str(error)) from error
    except MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else None
        raise _unreadable(path, error.problem or "not valid YAML", line) from error
    except YAMLError as error:
        raise _unreadable(path, str(error)) from error
    if not isinstance(document, Mapping):
        raise _unreadable(path, "a sweep file is a mapping of keys to values")
    return document


def with_lines(error: InvalidSpecError, document: Any, path: Path) -> InvalidSpecError:
    """The same problems, each with the line of its key in the file."""
    problems = [replace(problem, line=line_of(document, problem.location)) for problem in error.problems]
    return InvalidSpecError(problems, str(path))


def line_of(document: Any, location: tuple[str, ...]) -> int | None:
    """The line (from 1) of the deepest key on the way to `location` that the file has; None where lines are lost."""
    line: int | None = None
    node = document
    for part in location:
        if isinstance(node, CommentedMap) and part in node:
            line = node.lc.key(part)[0] + 1
            node = node[part]
        elif isinstance(node, CommentedSeq) and part.isdigit() and int(part) < len(node):
            line = node.lc.item(int(part))[0] + 1
            node = node[int(part)]
        else:
            break
    return line


def _plain(node: Any) -> Any:
    if isinstance(node, Mapping):
        return {str(key): _plain(value) for key, value in node.items()}
    if isinstance(node, list):
        return [_plain(value) for value in node]
    if isinstance(node, bool) or node is None:
        return node
    if isinstance(node, int):
        return int(node)
    if isinstance(node, float):
        return float(node) if math.isfinite(node) else repr(float(node))
    return str(node)


def _unreadable(path: Path, message: str, line: int | None = None) -> InvalidSpecError:
    return InvalidSpecError([Problem((), message, line)], str(path))
