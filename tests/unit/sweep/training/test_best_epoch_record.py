"""The best epoch by the first objective, with the values of all objectives."""

from __future__ import annotations

import json
import math

import pytest

from podium.sweep.spec.builtin_catalog import Task
from podium.sweep.training.best_epoch_record import BestEpoch

OBJECTIVES = ("val_accuracy", "val_loss")


def measured(accuracy: float, loss: float = 0.5) -> dict[str, float]:
    return {"val_accuracy": accuracy, "val_loss": loss, "other": 1.0}


@pytest.mark.parametrize(
    ("task", "metric", "values", "best"),
    [
        ("classification", "val_accuracy", (0.5, 0.7, 0.7, 0.6), 1),
        ("classification", "val_loss", (0.5, 0.3, 0.3, 0.6), 1),
        ("regression", "val_rmse", (math.nan, 4.0, math.nan, 3.0), 3),
        ("classification", "val_accuracy", (math.nan,), -1),
    ],
)
def test_best_epoch_is_the_first_with_the_best_value(
    task: Task, metric: str, values: tuple[float, ...], best: int
) -> None:
    record = BestEpoch(task, (metric,))
    improved = [record.improved(epoch, {metric: value}) for epoch, value in enumerate(values)]
    assert record.epoch == best
    assert [epoch for epoch, better in enumerate(improved) if better][-1:] == ([] if best < 0 else [best])


def test_results_are_those_of_all_objectives_at_that_epoch() -> None:
    record = BestEpoch("classification", OBJECTIVES)
    record.improved(0, measured(0.7, loss=0.4))
    record.improved(1, measured(0.6, loss=0.1))
    assert record.results == {"val_accuracy": 0.7, "val_loss": 0.4}


def test_record_continues_after_a_checkpoint() -> None:
    record, restored = BestEpoch("classification", OBJECTIVES), BestEpoch("classification", OBJECTIVES)
    record.improved(4, measured(0.7))
    restored.restore(json.loads(json.dumps(record.to_dict())))
    assert (restored.epoch, restored.results) == (4, {"val_accuracy": 0.7, "val_loss": 0.5})
    assert not restored.improved(5, measured(0.7)) and restored.improved(6, measured(0.8))
