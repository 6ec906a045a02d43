"""The `validation` block of the sweep file: splits and cross-validation; CLI, api process and scheduler."""

from __future__ import annotations

from typing import Any

from pydantic import Field, field_validator

from podium.sweep.spec.strict_model import Model, field_error, format_value

MAX_FOLDS = 50
_SHARES = ("train", "validation", "calibration", "test")
_NTH = ("first", "second", "third", "fourth")
_EXAMPLE = "for example, [0.7, 0.1, 0.1, 0.1] for train, validation, calibration and test"


class Validation(Model):
    """How rows are split into train, validation, calibration and test, and cross-validation."""

    split: tuple[float, float, float, float] = Field(
        (0.7, 0.1, 0.1, 0.1), description="fractions of train, validation, calibration and test"
    )
    seed: int = Field(0, ge=0, description="seed of the random split, which is the same in every trial")
    folds: int = Field(0, ge=0, le=MAX_FOLDS, description="number of cross-validation folds; 0: no cross-validation")

    @field_validator("split", mode="before")
    @classmethod
    def _as_tuple(cls, split: Any) -> Any:
        if isinstance(split, list | tuple) and len(split) == len(_SHARES):
            return tuple(split)
        if isinstance(split, list | tuple) and 0 < len(split) < len(_SHARES):
            name = _SHARES[len(split)]
            raise field_error(f"the {_NTH[len(split)]} fraction, {name}, is missing; {_EXAMPLE}")
        raise field_error(f"must be a list of four fractions, got {format_value(split)}; {_EXAMPLE}")

    @field_validator("split")
    @classmethod
    def _sums_to_one(cls, split: tuple[float, ...]) -> tuple[float, ...]:
        if any(share <= 0 for share in split) or abs(sum(split) - 1) > 1e-6:
            raise field_error(f"fractions must be greater than 0 and sum to 1, got a sum of {sum(split):g}")
        return split

    @field_validator("folds")
    @classmethod
    def _several(cls, folds: int) -> int:
        if folds == 1:
            raise field_error("must be 0 (no cross-validation) or at least 2, got 1")
        return folds
