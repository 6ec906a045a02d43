"""The measured precisions of a member, and the rule that chooses one of them; all processes."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from podium.ensemble.values.ensemble_spec import Precision

LATENCY_ROWS = (1, 256)  # rows of the computations that are timed
GAIN = 0.95  # of the time or of the bytes of float32, below which something is gained
MAX_SLOWDOWN = 2.0  # of the time of float32, above which less memory does not count as a gain


@dataclass(frozen=True, slots=True)
class PrecisionFigures:
    """A member in one precision on a set of rows, on one device. None: not measured, or not finite."""

    precision: Precision
    loss: float | None = None  # mean: log loss of classes, squared error of values
    accuracy: float | None = None  # None for values
    p50_us: tuple[float, ...] = ()  # median times of a computation with `LATENCY_ROWS` rows
    weights_bytes: int = 0  # of parameters and buffers
    process_bytes: int | None = None  # private memory that loading and computing added to a process
    error: str = ""  # why there are no figures


@dataclass(frozen=True, slots=True)
class MeasuredPrecision:
    """The precision that a member is computed in, why, and what was measured on the calibration rows."""

    precision: Precision
    reason: str
    rows: int = 0
    device: str = ""
    figures: tuple[PrecisionFigures, ...] = ()  # of float32 and of the requested precision; empty if not measured

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> MeasuredPrecision:
        values = json.loads(text)
        figures = tuple(figures_from(one) for one in values.pop("figures"))
        return cls(**{**values, "precision": Precision(values["precision"]), "figures": figures})


def figures_from(values: dict[str, object]) -> PrecisionFigures:
    """The inverse of `asdict`, from JSON. Raises `ValueError`, `KeyError` and `TypeError`."""
    p50_us = values["p50_us"]
    if not isinstance(p50_us, list):
        raise TypeError("p50_us is not a list")
    plain = {**values, "precision": Precision(str(values["precision"])), "p50_us": tuple(p50_us)}
    return PrecisionFigures(**plain)  # type: ignore[arg-type]


def choose(base: PrecisionFigures, other: PrecisionFigures, max_loss_increase: float) -> tuple[Precision, str]:
    """The precision of a member, and the reason; `base` is float32, `other` the requested precision."""
    refused = _refusal(base, other, max_loss_increase)
    return (Precision.FLOAT32, f"float32: {refused}") if refused else (other.precision, _summary(base, other))


def _refusal(base: PrecisionFigures, other: PrecisionFigures, max_loss_increase: float) -> str:
    """Why a member stays in float32; empty if it does not."""
    name = other.precision.value
    if base.error or other.error:
        return f"{name} could not be measured: {base.error or other.error}"
    if base.loss is None:
        return f"its loss on the calibration rows is not finite, so {name} cannot be compared"
    if other.loss is None:
        return f"in {name} its loss on the calibration rows is not finite"
    increase = relative_increase(base.loss, other.loss)
    if increase > max_loss_increase:
        return (
            f"in {name} its loss rises by {increase:.2%}, from {base.loss:.4g} to {other.loss:.4g}; "
            f"max_loss_increase is {max_loss_increase:.2%}"
        )
    return _no_gain(base, other)


def _no_gain(base: PrecisionFigures, other: PrecisionFigures) -> str:
    times = _time_ratios(base, other)
    memory = other.weights_bytes / base.weights_bytes if base.weights_bytes else 1.0
    name = other.precision.value
    if min(times) <= GAIN or (memory <= GAIN and max(times) <= MAX_SLOWDOWN):
        return ""
    if memory <= GAIN:
        return f"{name} needs {memory:.2f} × the bytes, but {_times(times)}"
    return f"nothing is gained by {name}: {_times(times)}, and {memory:.2f} × the bytes"


def _summary(base: PrecisionFigures, other: PrecisionFigures) -> str:
    assert base.loss is not None and other.loss is not None
    change = relative_increase(base.loss, other.loss)
    memory = other.weights_bytes / base.weights_bytes if base.weights_bytes else 1.0
    return (
        f"{other.precision.value}: loss {change:+.2%}, {_times(_time_ratios(base, other))}, "
        f"{memory:.2f} × the bytes of float32"
    )


def _time_ratios(base: PrecisionFigures, other: PrecisionFigures) -> list[float]:
    return [took / of_base for took, of_base in zip(other.p50_us, base.p50_us, strict=True)]


def _times(ratios: Sequence[float]) -> str:
    one, several = ratios
    return f"the time is {one:.2f} × for one row and {several:.2f} × for {LATENCY_ROWS[1]} rows"


def relative_increase(base: float, other: float) -> float:
    """By what share a loss is above another. Losses that may be negative do not occur."""
    if other <= base:
        return 0.0 if base == 0 else (other - base) / base
    return math.inf if base == 0 else (other - base) / base
