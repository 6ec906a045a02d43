"""Values that a function yields are reported, for numbers of any library."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from podium.sweep.trial_process.user_function_runner import report_values


class FakeTrial(SimpleNamespace):
    """Records reports and logs."""

    metric = "score"

    def __init__(self) -> None:
        super().__init__(reported=[], logged=[], early_finish=SimpleNamespace(uses_metric=lambda _: False))

    def report(self, value: Any, step: int) -> None:
        self.reported.append((step, float(value)))

    def log(self, values: dict[str, float], step: int) -> None:
        self.logged.append((step, values))


@pytest.mark.parametrize("number", [np.float32(0.5), np.float64(0.5), torch.tensor(0.5), np.array(0.5), 0.5], ids=repr)
@pytest.mark.parametrize("step", [3, np.int64(3), np.uint8(3), torch.tensor(3)], ids=repr)
def test_numbers_of_all_libraries_are_reported(number: Any, step: Any) -> None:
    trial: Any = FakeTrial()
    assert report_values({"score": number, "loss": number, "epoch": step}, 0, trial) == 3
    assert (trial.reported, trial.logged) == ([(3, 0.5)], [(3, {"loss": 0.5})])


@pytest.mark.parametrize(
    "other",
    [True, np.True_, "0.5", b"1", None, [1], np.array([1.0, 2.0]), torch.zeros(2), 10**400],
    ids=lambda value: str(value)[:20],
)
def test_values_other_than_numbers_are_omitted(other: Any) -> None:
    trial: Any = FakeTrial()
    assert report_values({"score": 1.0, "loss": other, "note": 2}, 7, trial) == 7
    assert trial.logged == [(7, {"note": 2.0})]


@pytest.mark.parametrize("other", [float("nan"), np.inf, -np.inf], ids=str)
def test_nan_and_infinities_are_logged(other: float) -> None:
    trial: Any = FakeTrial()
    assert report_values({"score": 1.0, "loss": other}, 7, trial) == 7
    ((step, values),) = trial.logged
    assert step == 7 and str(values["loss"]) == str(float(other))


@pytest.mark.parametrize(
    "step", [True, np.True_, 1.5, np.float32(2), "3", torch.tensor(1.5), np.array([1, 2])], ids=str
)
def test_values_other_than_integers_are_not_a_step(step: Any) -> None:
    trial: Any = FakeTrial()
    assert report_values({"score": 1.0, "epoch": step}, 7, trial) == 7
