"""Training rows: resident on the device or gathered by batch, with the same results."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from podium.sweep.data import memory_mapped_datasets
from podium.sweep.data.memory_mapped_datasets import Dataset
from podium.sweep.networks.dataset_batches import TrainingRows, batches

CPU = torch.device("cpu")
SPLIT = {"split": [0.7, 0.1, 0.1, 0.1], "seed": 0}
SPEC = {"model": "mlp", "data": {"name": "digits"}}


@pytest.fixture
def data(tmp_path: Path) -> Dataset:
    return memory_mapped_datasets.load(SPEC["data"], SPLIT, tmp_path)  # type: ignore[arg-type]


def test_rows_are_taken_in_requested_order(data: Dataset) -> None:
    numbers = torch.tensor([5, 0, 3])
    rows = data.rows["validation"]
    for resident_bytes in (None, 0):
        inputs, targets = TrainingRows(data, rows, CPU, resident_bytes=resident_bytes).take(numbers)
        assert np.array_equal(inputs.numpy(), data.inputs[rows[numbers.numpy()]])
        assert np.array_equal(targets.numpy(), data.targets[rows[numbers.numpy()]])


def test_batches_cover_a_split(data: Dataset) -> None:
    inputs, targets = data.split("calibration")
    in_order = list(batches(data, "calibration", 50, shuffle=False, device=CPU))
    assert [len(y) for _, y in in_order[:-1]] == [50] * (len(in_order) - 1)
    assert np.array_equal(torch.cat([x for x, _ in in_order]).numpy(), inputs)
    shuffled = torch.cat([y for _, y in batches(data, "calibration", 50, shuffle=True, device=CPU)]).numpy()
    assert sorted(shuffled) == sorted(targets) and not np.array_equal(shuffled, targets)


def sequences(tmp_path: Path, pad: float) -> Dataset:
    """Six sequences of at most five values, in seven columns, and empty ones."""
    inputs = np.full((40, 7), pad, np.float32)
    for row, length in enumerate([3, 1, 2, 5, 4, 0]):
        inputs[row, :length] = row + 1
    inputs[3, 1] = pad  # within a sequence: it is no end
    np.savez(tmp_path / "sequences.npz", x=inputs, y=np.arange(40) % 2)
    source = {"file": str(tmp_path / "sequences.npz"), "target": "y"}
    loaded = memory_mapped_datasets.load(source, {"split": [0.4, 0.2, 0.2, 0.2], "seed": 0}, tmp_path / "cache")
    return replace(loaded, rows={"train": np.arange(6)})


@pytest.mark.parametrize("pad", [0.0, -1.0])
def test_batches_are_padded_to_their_longest_sequence(tmp_path: Path, pad: float) -> None:
    data = sequences(tmp_path, pad)
    found = [x.numpy() for x, _ in batches(data, "train", 2, shuffle=False, device=CPU, pad=pad)]
    assert [x.shape for x in found] == [(2, 3), (2, 5), (2, 4)]
    for number, cut in enumerate(found):
        rest = data.inputs[2 * number : 2 * number + 2]
        assert np.array_equal(cut, rest[:, : cut.shape[1]]) and (rest[:, cut.shape[1] :] == pad).all()
    ((x, _),) = batches(replace(data, rows={"train": np.array([5])}), "train", 2, shuffle=False, device=CPU, pad=pad)
    assert x.shape == (1, 1)
    assert [x.shape for x, _ in batches(data, "train", 6, shuffle=False, device=CPU)] == [(6, 7)]


def test_padding_is_refused_where_there_are_no_sequences(data: Dataset, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="the rows of digits are images"):
        next(batches(data, "train", 2, shuffle=False, device=CPU, pad=0.0))
    with pytest.raises(ValueError, match="must be a finite number"):
        next(batches(sequences(tmp_path, 0.0), "train", 2, shuffle=False, device=CPU, pad=math.nan))
