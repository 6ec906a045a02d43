"""How the rows of a data set are split; a block of the sweep file; cli, api and scheduler."""

from __future__ import annotations

from typing import Any

from pydantic import Field, field_validator

from podium.sweep.spec.strict_model import Model, complain, shown

MAX_FOLDS = 50
_SHARES = ("train", "validation", "calibration", "test")
_NTH = ("first", "second", "third", "fourth")
_EXAMPLE = "write [0.7, 0.1, 0.1, 0.1], say, for train, validation, calibration and test"


class Validation(Model):
    """How the rows are split: shares of train, validation, calibration and test, drawn by `seed`."""

    split: tuple[float, float, float, float] = Field(
        (0.7, 0.1, 0.1, 0.1), description="shares of train, validation, calibration and test"
    )
    seed: int = Field(0, ge=0, description="by which rows are drawn; the same rows in every trial")
    folds: int = Field(0, ge=0, le=MAX_FOLDS, description="cross-validation with so many; 0: none")

    @field_validator("split", mode="before")
    @classmethod
    def _as_tuple(cls, split: Any) -> Any:
        if isinstance(split, list | tuple) and len(split) == len(_SHARES):
            return tuple(split)
        if isinstance(split, list | tuple) and 0 < len(split) < len(_SHARES):
            name = _SHARES[len(split)]
            raise complain(f"the {_NTH[len(split)]} share, {name}, is missing; {_EXAMPLE}")
        raise complain(f"is four shares, not {shown(split)}; {_EXAMPLE}")

    @field_validator("split")
    @classmethod
    def _sums_to_one(cls, split: tuple[float, ...]) -> tuple[float, ...]:
        if any(share <= 0 for share in split) or abs(sum(split) - 1) > 1e-6:
            raise complain(f"four shares above 0 that sum to 1, not {sum(split):g}")
        return split

    @field_validator("folds")
    @classmethod
    def _several(cls, folds: int) -> int:
        if folds == 1:
            raise complain("one fold is no cross-validation; write 0, or at least 2")
        return folds
