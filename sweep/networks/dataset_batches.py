"""Batches of a data set as tensors: small sets are copied to the device, large ones read by batch; trial process."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import torch

from podium.sweep.data.memory_mapped_datasets import Dataset
from podium.sweep.data.splits import Rows

EVALUATION_ROWS = 4096
ON_CPU_BYTES = 64 << 20  # larger sets are read from the memory map that all trials share
ON_GPU_BYTES = 2 << 30


class TrainingRows:
    """A subset of a data set, numbered from 0 in the order of `rows`."""

    def __init__(self, data: Dataset, rows: Rows, device: torch.device, *, resident_bytes: int | None = None) -> None:
        """Rows of at most `resident_bytes` together are copied to the device; None is the default of the device."""
        self._inputs, self._targets, self._rows = np.asarray(data.inputs), np.asarray(data.targets), rows
        self._device = device
        row_bytes = data.inputs.nbytes // max(1, len(data.inputs))
        default_bytes = ON_GPU_BYTES if device.type == "cuda" else ON_CPU_BYTES
        fits = row_bytes * len(rows) <= (default_bytes if resident_bytes is None else resident_bytes)
        self._resident = (self._to_device(self._inputs, rows), self._to_device(self._targets, rows)) if fits else None
        self.index_device = device if fits else torch.device("cpu")  # of the row numbers that `take` expects

    def __len__(self) -> int:
        return len(self._rows)

    def take(self, numbers: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Inputs and targets of these rows, on the device."""
        if self._resident is not None:
            return self._resident[0][numbers], self._resident[1][numbers]
        rows = self._rows[numbers.numpy()]
        return self._to_device(self._inputs, rows), self._to_device(self._targets, rows)

    def _to_device(self, values: np.ndarray, rows: Rows) -> torch.Tensor:
        return torch.from_numpy(values[rows]).to(self._device)


def evaluation_batches(data: Dataset, split: str) -> Iterator[torch.Tensor]:
    """The inputs of a split in order, on the CPU."""
    rows = data.rows[split]
    for start in range(0, len(rows), EVALUATION_ROWS):
        yield torch.from_numpy(data.inputs[rows[start : start + EVALUATION_ROWS]])


def batches(
    data: Dataset, split: str, batch_size: int, *, shuffle: bool, device: torch.device, pad: float | None = None
) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    """Iterate over inputs and targets of a split; batches are read on demand, and shuffled by torch's generator.

    `pad`: the value that fills the end of shorter sequences; a batch is cut to its longest one. Raises `ValueError`.
    """
    if pad is not None:
        _check_pad(data, pad)
    rows = data.rows[split]
    order = torch.randperm(len(rows)) if shuffle else torch.arange(len(rows))
    for numbers in torch.split(order, batch_size):
        some = rows[numbers.numpy()]
        inputs = data.inputs[some] if pad is None else _cut(data.inputs[some], pad)
        yield torch.from_numpy(inputs).to(device), torch.from_numpy(data.targets[some]).to(device)


def _check_pad(data: Dataset, pad: float) -> None:
    if not math.isfinite(pad):
        raise ValueError(f"batches(pad={pad!r}): must be a finite number, which fills the end of shorter sequences")
    if data.image[:2] != (1, 1):
        raise ValueError(f"batches(pad={pad!r}): the rows of {data.name} are images; sequences are rows of a table")


def _cut(inputs: np.ndarray, pad: float) -> np.ndarray:
    """Sequences (rows, length) up to the end of the longest one; at least one value remains."""
    used = np.flatnonzero((inputs != pad).any(axis=0))
    longest = int(used[-1]) + 1 if len(used) else 1
    return np.ascontiguousarray(inputs[:, :longest])
