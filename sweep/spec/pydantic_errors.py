"""Converts pydantic's validation errors to problems with the keys of the sweep file; CLI, api and scheduler."""

from __future__ import annotations

import typing
from collections.abc import Iterator, Sequence
from typing import Any

from pydantic import BaseModel
from pydantic_core import ErrorDetails

from podium.sweep.spec import builtin_catalog
from podium.sweep.spec.missing_mapping_hints import suggest_mapping
from podium.sweep.spec.names_in_other_tools import podium_key
from podium.sweep.spec.type_error_messages import type_message, union_message
from podium.sweep.values.errors import Problem

_BRANCHES = frozenset({"str", "int", "float", "bool", "none"})
_BLOCKS = frozenset({"dict_type", "model_type", "model_attributes_type"})
MAX_PROBLEMS = 20  # problems reported of one file
_TAGS = {
    "program": frozenset({"builtin", "function", "command", "imported"}),
    "method": frozenset({"name", "class", "pbt", "replay"}),
}


def problems_of(errors: Sequence[ErrorDetails], model: type[BaseModel]) -> list[Problem]:
    """The problems, at most 20; a value that matches no branch of a union is one problem, not one for each branch."""
    plain: list[ErrorDetails] = []
    unions: dict[tuple[str, ...], list[ErrorDetails]] = {}
    for details in errors:
        path = tuple(str(part) for part in details["loc"])
        if path and _is_branch(path[-1]) and details["type"].endswith("_type"):
            unions.setdefault(tuple(part for part in path[:-1] if "[" not in part), []).append(details)
        else:
            plain.append(details)
    longer = {path[:length] for path in unions for length in range(len(path))}
    of_unions = [(path, several) for path, several in unions.items() if path not in longer]
    found = [problem_of(details, model) for details in plain[:MAX_PROBLEMS]]
    for path, several in of_unions[: MAX_PROBLEMS - len(found)]:
        words = union_message([details["type"] for details in several], several[0]["input"])
        found.append(Problem(_as_in_file(list(path)), words))
    if left := len(plain) + len(of_unions) - len(found):
        found.append(Problem((), f"{left:,} more problems are not shown"))
    return found


def deduplicate(problems: list[Problem]) -> list[Problem]:
    """Without problems of `metric` that duplicate those of `metrics[0]`, from which it is derived."""
    first = [(p.location[2:], p.message) for p in problems if p.location[:2] == ("metrics", "0")]
    return [p for p in problems if p.location[:1] != ("metric",) or (p.location[1:], p.message) not in first]


def _is_branch(part: str) -> bool:
    """Whether a part of a location is not a key but a branch of a union."""
    return part in _BRANCHES or "[" in part


def problem_of(details: ErrorDetails, model: type[BaseModel]) -> Problem:
    """The problem and its key in the file; `model` is the model of the whole file."""
    location = list(_as_in_file([str(part) for part in details["loc"]]))
    context = details.get("ctx") or {}
    location += context.get("where", ())
    if details["type"] == "extra_forbidden":
        return Problem(tuple(location), _unknown(location, known_keys(model, location[:-1])))
    if details["type"] == "missing":
        return Problem(tuple(location), "is required")
    if context.get("message"):
        return Problem(tuple(location), context["message"])
    if "error" in context:
        return _named_inside(model, location, str(context["error"]))
    location = _without_union_branches(location)
    words = type_message(details)
    if details["type"] in _BLOCKS and (instead := suggest_mapping(location, details["input"])) is not None:
        words = f"{words}; write {instead}"
    return Problem(tuple(location), words)


def _as_in_file(location: list[str]) -> tuple[str, ...]:
    """Without the tag of the `program` or `method` union, which is not in the file."""
    if len(location) > 1 and location[1] in _TAGS.get(location[0], ()):
        del location[1]
    return tuple(location)


def _unknown(location: list[str], known: list[str]) -> str:
    key = location[-1]
    if key in known:
        return f"key {key!r} cannot be combined with the other keys of this block"
    if (meant := podium_key(location)) is not None:
        return f"unknown key {key!r}; did you mean {meant!r}?"
    return f"unknown key {key!r}; {builtin_catalog.did_you_mean(key, known)}"


def known_keys(model: type[BaseModel], path: list[str]) -> list[str]:
    """The keys allowed below `path`; empty if any key is allowed."""
    here: list[Any] = [model]
    for part in path:
        here = [inner for kind in here for inner in _below(kind, part)]
    return [name for kind in here if _is_model(kind) for name in kind.model_fields]


def _below(kind: Any, part: str) -> Iterator[Any]:
    """The models, and the lists and dictionaries of models, that a key may contain."""
    if _is_model(kind):
        if part in kind.model_fields:
            yield from _unwrapped(kind.model_fields[part].annotation)
    elif typing.get_origin(kind) in (dict, list, tuple):
        yield from _unwrapped(typing.get_args(kind)[-1])


def _unwrapped(annotation: Any) -> Iterator[Any]:
    """The members of a union or an annotated type."""
    if _is_model(annotation) or typing.get_origin(annotation) in (dict, list, tuple):
        yield annotation
    else:
        for inner in typing.get_args(annotation):
            yield from _unwrapped(inner)


def _is_model(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, BaseModel)


def _named_inside(model: type[BaseModel], location: list[str], message: str) -> Problem:
    """An error of the `ensemble` block, whose message begins with the key."""
    key, colon, rest = message.partition(": ")
    if colon and key in known_keys(model, location):
        return Problem((*location, key), rest)
    return Problem(tuple(location), message)


def _without_union_branches(location: list[str]) -> list[str]:
    while len(location) > 2 and _is_branch(location[-1]):
        location = location[:-1]
    return location
