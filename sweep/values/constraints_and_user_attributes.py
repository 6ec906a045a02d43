"""Constraints and user attributes of a trial: what it may set, and whether it is infeasible; every process."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from podium.sweep.values.errors import BadReportError
from podium.sweep.values.return_value_conversion import finite_number

MAX_NAME = 200  # characters
MAX_CONSTRAINTS = 100
MAX_DEPTH = 32  # of nested lists and dicts
MAX_USER_ATTRS_BYTES = 16 << 10  # of all user attributes of a trial, as JSON


@dataclass(slots=True)
class TrialAttributes:
    """The constraints and user attributes of an attempt; the last value of a name counts."""

    constraints: dict[str, float] = field(default_factory=dict)
    user_attrs: dict[str, Any] = field(default_factory=dict)

    def set_constraint(self, name: Any, value: Any) -> float:
        """Sets a constraint, which is violated if above 0, as in Optuna; returns the float. Raises `BadReportError`."""
        what = f"set_constraint({name!r:.{MAX_NAME}}, {value!r:.{MAX_NAME}})"
        _check_name(name, what)
        number = finite_number(value, what)
        if name not in self.constraints and len(self.constraints) >= MAX_CONSTRAINTS:
            raise BadReportError(f"{what}: a trial can have at most {MAX_CONSTRAINTS} constraints")
        self.constraints[name] = number
        return number

    def set_user_attr(self, name: Any, value: Any) -> Any:
        """Sets an attribute to a JSON value; returns the value after a JSON round trip. Raises `BadReportError`."""
        what = f"set_user_attr({name!r:.{MAX_NAME}}, {_shown(value)})"
        _check_name(name, what)
        plain = _plain(value, what)
        size = len(json.dumps({**self.user_attrs, name: plain}).encode())
        if size > MAX_USER_ATTRS_BYTES:
            raise BadReportError(
                f"{what}: the user attributes of a trial can take at most {MAX_USER_ATTRS_BYTES:,} bytes, "
                f"got {size:,}; write larger data to a file"
            )
        self.user_attrs[name] = plain
        return plain


def is_infeasible(constraints: Mapping[str, float]) -> bool:
    """Whether a constraint is violated (above 0); such a trial is infeasible and never the best."""
    return any(amount > 0 for amount in constraints.values())


def _check_name(name: Any, what: str) -> None:
    if not isinstance(name, str) or not 1 <= len(name) <= MAX_NAME:
        raise BadReportError(f"{what}: the name must be a string of 1 to {MAX_NAME} characters")
    try:
        storable = b"\0" not in name.encode()
    except UnicodeEncodeError:  # a lone surrogate
        storable = False
    if not storable:
        raise BadReportError(f"{what}: the name contains a NUL or a lone surrogate (invalid Unicode)")


def _plain(value: Any, what: str) -> Any:
    """The value after a JSON round trip."""
    try:
        text = json.dumps(value, allow_nan=False, ensure_ascii=False, default=_scalar)
        text.encode()
        plain = json.loads(text)
    except (TypeError, ValueError, RecursionError) as error:
        message = f"{what}: not a JSON value ({error}); use strings, finite numbers, booleans, None, lists and dicts"
        raise BadReportError(message) from None
    if too_deep(plain):
        raise BadReportError(f"{what}: lists and dicts are nested more than {MAX_DEPTH} levels deep; flatten them")
    return plain


def too_deep(value: Any, most: int = MAX_DEPTH) -> bool:
    """Whether lists and dicts are nested more than `most` levels deep."""
    if not isinstance(value, list | dict):
        return False
    inner = value.values() if isinstance(value, dict) else value
    return most == 0 or any(too_deep(item, most - 1) for item in inner)


def _shown(value: Any) -> str:
    """The value abbreviated for messages."""
    try:
        return f"{value!r:.{MAX_NAME}}"
    except RecursionError:
        return f"a {type(value).__name__}"


def _scalar(value: Any) -> Any:
    """Converts scalars of numpy and torch to Python numbers."""
    if getattr(value, "shape", None) == () and callable(getattr(value, "item", None)):
        return value.item()
    raise TypeError(f"{type(value).__name__} is not JSON serializable")
