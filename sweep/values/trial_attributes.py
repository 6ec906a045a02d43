"""What a trial notes of itself beside its curves: constraints and user attributes; trial process and slot."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from podium.sweep.values.errors import BadReportError
from podium.sweep.values.objective_values import finite_number

MAX_NAME = 200  # characters
MAX_CONSTRAINTS = 100
MAX_DEPTH = 32  # of lists and dicts within each other
MAX_USER_ATTRS_BYTES = 16 << 10  # of one trial, together, as JSON


@dataclass(slots=True)
class Notes:
    """They go with the attempt's end; what was noted last under a name counts."""

    constraints: dict[str, float] = field(default_factory=dict)
    user_attrs: dict[str, Any] = field(default_factory=dict)

    def set_constraint(self, name: Any, value: Any) -> float:
        """Above 0 is violated, as in Optuna; returns it as a float. Raises `BadReportError`."""
        what = f"set_constraint({name!r:.{MAX_NAME}}, {value!r:.{MAX_NAME}})"
        _check_name(name, what)
        number = finite_number(value, what)
        if name not in self.constraints and len(self.constraints) >= MAX_CONSTRAINTS:
            raise BadReportError(f"{what}: a trial has {MAX_CONSTRAINTS} constraints at most, and this is one more")
        self.constraints[name] = number
        return number

    def set_user_attr(self, name: Any, value: Any) -> Any:
        """Any JSON value; returns it as JSON has it. Raises `BadReportError`."""
        what = f"set_user_attr({name!r:.{MAX_NAME}}, {_shown(value)})"
        _check_name(name, what)
        plain = _plain(value, what)
        size = len(json.dumps({**self.user_attrs, name: plain}).encode())
        if size > MAX_USER_ATTRS_BYTES:
            raise BadReportError(
                f"{what}: with it the user attributes of this trial take {size:,} bytes, and {MAX_USER_ATTRS_BYTES:,} "
                "are the most; write what is larger to a file"
            )
        self.user_attrs[name] = plain
        return plain


def _check_name(name: Any, what: str) -> None:
    if not isinstance(name, str) or not 1 <= len(name) <= MAX_NAME:
        raise BadReportError(f"{what}: a name is a text of 1 to {MAX_NAME} characters")
    try:
        storable = b"\0" not in name.encode()
    except UnicodeEncodeError:  # half a surrogate pair
        storable = False
    if not storable:
        raise BadReportError(f"{what}: no database takes this name; write plain text")


def _plain(value: Any, what: str) -> Any:
    """The value as it comes back from JSON."""
    try:
        text = json.dumps(value, allow_nan=False, ensure_ascii=False, default=_scalar)
        text.encode()
        plain = json.loads(text)
    except (TypeError, ValueError, RecursionError) as error:
        message = f"{what}: no JSON value ({error}); give texts, finite numbers, true, false, None, lists and dicts"
        raise BadReportError(message) from None
    if too_deep(plain):
        raise BadReportError(f"{what}: nested deeper than {MAX_DEPTH} lists and dicts; give it flatter, or as a text")
    return plain


def too_deep(value: Any, most: int = MAX_DEPTH) -> bool:
    """Whether lists and dicts lie within each other more than `most` deep."""
    if not isinstance(value, list | dict):
        return False
    inner = value.values() if isinstance(value, dict) else value
    return most == 0 or any(too_deep(item, most - 1) for item in inner)


def _shown(value: Any) -> str:
    """What a message shows of a value."""
    try:
        return f"{value!r:.{MAX_NAME}}"
    except RecursionError:
        return f"a {type(value).__name__}"


def _scalar(value: Any) -> Any:
    """Numbers of numpy and torch as Python's."""
    if getattr(value, "shape", None) == () and callable(getattr(value, "item", None)):
        return value.item()
    raise TypeError(f"a {type(value).__name__} is none")
