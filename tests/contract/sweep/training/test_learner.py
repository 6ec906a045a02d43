"""A learner trains on the rows it was given, in an order that its seed decides."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from podium.sweep.data import memory_mapped_datasets
from podium.sweep.data.memory_mapped_datasets import Dataset
from podium.sweep.networks.dataset_batches import TrainingRows
from podium.sweep.training.learner import Learner, architecture_of, complete_settings

CPU = torch.device("cpu")
SPLIT = {"split": [0.7, 0.1, 0.1, 0.1], "seed": 0}
SPEC = {"model": "mlp", "data": {"name": "digits"}}


@pytest.fixture
def data(tmp_path: Path) -> Dataset:
    return memory_mapped_datasets.load(SPEC["data"], SPLIT, tmp_path)  # type: ignore[arg-type]


def learner_on(data: Dataset, *, seed: int = 3, rows: int | None = None, resident_bytes: int | None = None) -> Learner:
    torch.manual_seed(1)
    architecture = architecture_of(data, complete_settings("mlp", {"hidden": 8}), SPEC, SPLIT)
    training = TrainingRows(data, data.rows["train"], CPU, resident_bytes=resident_bytes)
    positions = None if rows is None else torch.arange(rows)
    return Learner(data, architecture, training, CPU, seed, positions=positions)


def losses(learner: Learner, epochs: int = 2) -> list[float]:
    return [learner.train_epoch() for _ in range(epochs)]


def test_training_on_gathered_rows_equals_training_on_resident_rows(data: Dataset) -> None:
    assert losses(learner_on(data, resident_bytes=0)) == losses(learner_on(data))


def test_seed_decides_the_order_of_the_rows(data: Dataset) -> None:
    first = losses(learner_on(data))
    assert losses(learner_on(data)) == first
    assert losses(learner_on(data, seed=4)) != first


def test_epoch_has_each_row_at_the_positions_once(data: Dataset) -> None:
    numbers = torch.cat(list(learner_on(data, rows=100).batches()))
    assert sorted(numbers.tolist()) == list(range(100))
    assert len(torch.cat(list(learner_on(data).batches()))) == len(data.rows["train"])


def test_training_improves_the_validation_loss(data: Dataset) -> None:
    learner = learner_on(data)
    before = learner.measure()["val_loss"]
    losses(learner, epochs=3)
    assert learner.measure()["val_loss"] < before


def test_architecture_has_the_scale_of_the_data(data: Dataset) -> None:
    architecture = architecture_of(data, complete_settings("mlp", {"hidden": 8}), SPEC, SPLIT)
    assert (architecture["mean"], architecture["deviation"]) == (data.mean, data.std)
