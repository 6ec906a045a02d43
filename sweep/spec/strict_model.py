"""The strict pydantic model that each block of the sweep file is, and how it complains; cli, api and scheduler."""

from __future__ import annotations

import math
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationInfo
from pydantic_core import PydanticCustomError

from podium.sweep.values.trial import Scalar

# Whole numbers up to here are exact as floats, which searching computes with.
LARGEST = 2**53
_LARGEST_STORED = 2**63
_MOST_BITS = 200
_DEEPEST = 8


def complain(message: str, *where: str) -> PydanticCustomError:
    """An error that pydantic reports at `where`, below the field that raised it."""
    return PydanticCustomError("sweep_file", "{message}", {"message": message, "where": where})


def unusable(value: Scalar) -> str | None:
    """Why a number can be neither searched over nor stored, or None."""
    if isinstance(value, int) and abs(value) > LARGEST:
        return f"{shown(value)} is above 2**53, the largest whole number that searching keeps exact"
    if isinstance(value, float) and not math.isfinite(value):
        return f"{value!r} is not a finite number"
    return None


class Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)


def is_stored(info: ValidationInfo) -> bool:
    """Whether a document is read back: what takes long to check was checked when it was accepted."""
    return bool(info.context and info.context.get("stored"))


def check_storable(document: Any, *where: str) -> None:
    """Raises what pydantic reports for a number or a text inside that JSON or a database cannot hold."""
    if len(where) > _DEEPEST:
        return  # no block is so deep: it is refused as what it is
    if isinstance(document, dict):
        for key, value in document.items():
            check_storable(key, *where)
            check_storable(value, *where, str(key))
    elif isinstance(document, list | tuple):
        for index, value in enumerate(document):
            check_storable(value, *where, str(index))
    elif (complaint := _unstorable(document)) is not None:
        raise complain(complaint, *where)


def _unstorable(value: Any) -> str | None:
    if isinstance(value, int) and abs(value) > _LARGEST_STORED:
        return f"{shown(value)} is above 2**63, and cannot be stored"
    if isinstance(value, float):
        return unusable(value)
    return _unsendable(value) if isinstance(value, str) else None


def _unsendable(text: str) -> str | None:
    """Half of a surrogate pair is no character."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        half = ascii(text[error.start])
        return f"{shown(text)} has half a character in it, {half}, and cannot be stored; leave it out"
    return None


def shown(value: Any) -> str:
    if isinstance(value, int) and value.bit_length() > _MOST_BITS:
        return f"a number of some {int(value.bit_length() * 0.30103) + 1} digits"  # Python refuses to write one out
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
