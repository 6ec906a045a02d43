"""`auto`, `${number}`, and patterns that match only part of a number."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podium.sweep.spec.metric_extraction import MetricExtractor, invalid_pattern_reason
from podium.sweep.values.errors import BadReportError


def _values(name: str, pattern: str, *lines: str) -> list[float]:
    finder = MetricExtractor({name: pattern})
    return [value for line in lines for _, _, value in finder.extract(line)]


@pytest.mark.parametrize(
    "line",
    [
        "val_loss: 0.3",
        "val_loss=0.3",
        "val_loss = 0.3,",
        "val_loss 0.3",
        'epoch 1 {"val_loss": 0.3}',
        "{'epoch': 3, 'val_loss': 0.3}",
        "Val loss 0.3",
        "VAL-LOSS: 0.3.",
        "valid loss 0.3",
        "INFO validation_loss: 0.3s",
        "val/loss -> 0.3%",
        "loss: 7 - val_loss: 0.3 - acc: 8",
        "│ val_loss │ 0.3 │",
        "{'val_loss': np.float64(0.3)}",
        "val_loss: tensor(0.3, device='cuda:0')",
    ],
)
def test_auto_finds_metric_in_common_formats(line: str) -> None:
    assert _values("val_loss", "auto", line) == [0.3]


@pytest.mark.parametrize(
    "line",
    [
        "xval_loss 0.3",
        "train/val_loss 0.3",
        "best val_loss 0.3",
        "--val_loss=0.3x",
        "val_loss improved from 0.4 to 0.3",
        "val_losses: 0.3",
        "val_loss: 0.3.1",
        "val_loss: 5k",
        "val_loss: infinite",
    ],
)
def test_auto_ignores_other_metrics_and_non_numbers(line: str) -> None:
    assert _values("val_loss", "auto", line) == []


def test_short_name_is_not_found_inside_longer_one() -> None:
    lines = ("train loss 0.5, val loss 0.4", "val_loss 0.3", "best loss: 0.1")
    assert _values("loss", "auto", *lines) == []
    assert _values("loss", "auto", "Loss: 0.5 - val_loss: 0.6") == [0.5]


@pytest.mark.parametrize(
    ("text", "value"),
    [("1.2e-05", 1.2e-05), ("-3", -3.0), ("+.5E+2", 50.0), ("1.", 1.0), ("-inf", -math.inf), ("Infinity", math.inf)],
)
@pytest.mark.parametrize(("name", "pattern"), [("loss", "auto"), ("a", "loss ${number}"), ("a", r"loss (\S+)")])
def test_number_is_matched_completely(name: str, pattern: str, text: str, value: float) -> None:
    for line in (f"loss {text}", f"loss {text}, acc 2", f"loss {text}."):
        assert _values(name, pattern, line) == [value]


@given(st.floats(), st.sampled_from(["{!r}", "{:e}", "{:+.3f}", "{:g}"]))
def test_any_formatted_float_is_found(number: float, form: str) -> None:
    text = form.format(number)
    for pattern in ("auto", "loss: ${number}"):
        (found,) = _values("loss", pattern, f"epoch 3 loss: {text} acc: 1")
        assert found == float(text) or (math.isnan(found) and math.isnan(number))


@pytest.mark.parametrize(
    ("pattern", "line", "message"),
    [
        ("loss ([0-9.]+)", "loss 1.2e-05", "matched '1.2', only part of '1.2e-05',"),
        (r"loss (\d+)", "loss 0.5", "matched '0', only part of '0.5',"),
        ("loss.*?([0-9.]+)", "loss -0.5", "matched '0.5', only part of '-0.5',"),
        (r"(?P<step>\d+): loss \d?(?P<value>[0-9.]+)", "1: loss 12.5", "matched '2.5', only part of '12.5',"),
        ("loss ([0-9.]+)", "loss -0.5", "does not match '-0.5'"),
        ("loss ([0-9.]+)", "loss 1,234.5", "matched '1', only part of '1,234.5',"),
    ],
)
def test_partial_number_match_is_rejected_with_fix(pattern: str, line: str, message: str) -> None:
    with pytest.raises(BadReportError) as caught:
        _values("loss", pattern, line)
    assert f"program.metrics.loss {message} in the line {line!r}" in str(caught.value)
    better = str(caught.value).rpartition("write loss: ")[2].strip("'").replace("\\\\", "\\")
    assert "${number}" in better and invalid_pattern_reason(better) is None


def test_thousands_separator_is_rejected() -> None:
    for pattern in ("auto", "loss ${number}"):
        with pytest.raises(
            BadReportError, match=r"only part of '1,234.5', .* print the number without a thousands separator"
        ):
            _values("loss", pattern, "loss 1,234.5")
    assert _values("loss", "auto", "loss 0.5,300", "loss 12, 345") == [0.5, 12.0]


@pytest.mark.parametrize(
    "pattern", ["loss ([0-9.]+)", "loss ([-+.0-9eE]+)", r"loss (?P<value>-?\d+)", r"loss ([\d.(]+)\)?"]
)
def test_digit_pattern_recognizes_nan_and_inf(pattern: str) -> None:
    first, *others = _values("loss", pattern, "loss nan", "loss inf", "loss -inf, acc 3")
    assert math.isnan(first) and others == [math.inf, -math.inf]
    assert _values("loss", pattern, "loss function", "loss information") == []


def test_step_may_be_a_macro() -> None:
    finder = MetricExtractor({"step": "epoch ${number}", "loss": "auto"})
    assert finder.extract("epoch 3: loss 0.5") == [(3, "loss", 0.5)]
    assert MetricExtractor({"step": "auto", "loss": "auto"}).extract("Step: 7, loss=1e-3") == [(7, "loss", 0.001)]


def test_pattern_without_group_is_rejected_with_macro() -> None:
    assert invalid_pattern_reason("auto") is None and invalid_pattern_reason("loss ${number}") is None
    assert "use ${number} for the number in 'loss [0-9]+', or auto" in (invalid_pattern_reason("loss [0-9]+") or "")
