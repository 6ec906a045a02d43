"""The precision of a member: by its loss, its latency and its memory, with a reason in numbers."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podium.ensemble.values.ensemble_spec import Precision
from podium.ensemble.values.precision_selection import MeasuredPrecision, PrecisionFigures, choose

BASE = PrecisionFigures(Precision.FLOAT32, 0.2, 0.95, (100.0, 1000.0), 4000, 9000)
INT8 = PrecisionFigures(Precision.INT8, 0.2002, 0.95, (60.0, 200.0), 1000, 3000)


def test_a_precision_that_is_as_good_and_faster_is_used() -> None:
    precision, reason = choose(BASE, INT8, 0.01)
    assert precision is Precision.INT8
    assert reason == (
        "int8: loss +0.10%, the time is 0.60 × for one row and 0.20 × for 256 rows, 0.25 × the bytes of float32"
    )


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"loss": 0.2021}, "loss rises by 1.05%, from 0.2 to 0.2021; max_loss_increase is 1.00%"),
        ({"loss": None}, "in int8 its loss on the calibration rows is not finite"),
        ({"p50_us": (100.0, 1000.0), "weights_bytes": 4000}, "nothing is gained by int8"),
        ({"p50_us": (250.0, 990.0)}, "int8 needs 0.25 × the bytes, but the time is 2.50 × for one row"),
        ({"p50_us": (), "error": "it has no linear layer"}, "int8 could not be measured: it has no linear layer"),
    ],
    ids=["loss", "not finite", "no gain", "slow", "error"],
)
def test_a_member_stays_in_float32(changes: dict[str, object], words: str) -> None:
    precision, reason = choose(BASE, replace(INT8, **changes), 0.01)  # type: ignore[arg-type]
    assert precision is Precision.FLOAT32
    assert reason.startswith("float32: ") and words in reason


def test_less_memory_alone_is_a_gain_unless_it_is_much_slower() -> None:
    assert choose(BASE, replace(INT8, p50_us=(150.0, 1100.0)), 0.01)[0] is Precision.INT8


def test_one_faster_size_alone_is_a_gain() -> None:
    assert choose(BASE, replace(INT8, p50_us=(300.0, 500.0), weights_bytes=4000), 0.01)[0] is Precision.INT8


def test_any_increase_of_a_loss_of_zero_is_too_much() -> None:
    perfect = replace(BASE, loss=0.0)
    assert choose(perfect, replace(INT8, loss=0.0), 0.01)[0] is Precision.INT8
    assert choose(perfect, replace(INT8, loss=1e-9), 10.0)[0] is Precision.FLOAT32


@given(st.floats(0, 10), st.floats(0, 10), st.floats(0, 2))
def test_the_loss_of_what_is_used_is_within_the_limit(base: float, other: float, limit: float) -> None:
    precision, _ = choose(replace(BASE, loss=base), replace(INT8, loss=other), limit)
    if precision is Precision.INT8:
        assert other <= base or (other - base) / base <= limit


def test_what_was_measured_survives_storage() -> None:
    measured = MeasuredPrecision(Precision.INT8, "int8: …", 400, "cpu", (BASE, replace(INT8, loss=None, error="no")))
    assert MeasuredPrecision.from_json(measured.to_json()) == measured
