"""The strict pydantic base model of all blocks of the sweep file, and its errors; CLI, api process and scheduler."""

from __future__ import annotations

import math
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationInfo
from pydantic_core import PydanticCustomError

from podium.sweep.values.attempt_assignment import Scalar

# Integers up to here are exact as floats, which samplers compute with.
LARGEST = 2**53
_LARGEST_STORED = 2**63
_MAX_BITS = 200
_MAX_DEPTH = 8


def field_error(message: str, *where: str) -> PydanticCustomError:
    """An error that pydantic reports at `where`, relative to the field whose validator raises it."""
    return PydanticCustomError("sweep_file", "{message}", {"message": message, "where": where})


def invalid_number_reason(value: Scalar) -> str | None:
    """Why a number cannot be searched or stored, or None."""
    if isinstance(value, int) and abs(value) > LARGEST:
        return f"must be at most 2**53 in absolute value, to be exact as a float; got {format_value(value)}"
    if isinstance(value, float) and not math.isfinite(value):
        return f"must be a finite number, got {value!r}"
    return None


class Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)


def is_stored(info: ValidationInfo) -> bool:
    """Whether a stored document is parsed: expensive checks were done when it was accepted."""
    return bool(info.context and info.context.get("stored"))


def check_storable(document: Any, *where: str) -> None:
    """Raises an error that pydantic reports for a number or string that JSON or the database cannot store."""
    if len(where) > _MAX_DEPTH:
        return  # deeper than any block: another check rejects it
    if isinstance(document, dict):
        for key, value in document.items():
            check_storable(key, *where)
            check_storable(value, *where, str(key))
    elif isinstance(document, list | tuple):
        for index, value in enumerate(document):
            check_storable(value, *where, str(index))
    elif (complaint := _unstorable(document)) is not None:
        raise field_error(complaint, *where)


def _unstorable(value: Any) -> str | None:
    if isinstance(value, int) and abs(value) > _LARGEST_STORED:
        return f"must be at most 2**63 in absolute value, got {format_value(value)}"
    if isinstance(value, float):
        return invalid_number_reason(value)
    return _unencodable(value) if isinstance(value, str) else None


def _unencodable(text: str) -> str | None:
    """Why a string cannot be encoded as UTF-8, or None."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        return f"{format_value(text)} contains a lone surrogate, {text[error.start]!a} (invalid Unicode); remove it"
    return None


def format_value(value: Any) -> str:
    if isinstance(value, int) and value.bit_length() > _MAX_BITS:
        return f"a number with about {int(value.bit_length() * 0.30103) + 1} digits"  # Python limits int to str
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
