"""The strict pydantic model that each block of the sweep file is, and how it complains; cli, api and scheduler."""

from __future__ import annotations

import math
from typing import Any

from pydantic import BaseModel, ConfigDict
from pydantic_core import PydanticCustomError

from sweep.trial import Scalar

# Whole numbers up to here are exact as floats, which searching computes with.
LARGEST = 2**53


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
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


def shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
