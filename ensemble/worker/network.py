"""What a worker runs, seen from outside: files in, rows in, predictions out; host and workers, needs no torch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class ModelFile:
    """A member's weights: where they lie, what they must be, and on which of the visible devices they go.

    `data_dir` is where the code of users' networks is found.
    """

    path: str
    sha256: str
    device_index: int
    data_dir: str = ""


@dataclass(frozen=True, slots=True)
class NetworkOutputs:
    """One computation's result.

    `predictions` is float32 (members, rows, outputs), in the order of the members; the rows of a member that failed
    are NaN, and `failed` says why, by its position. `combined` is float32 (rows, outputs), in-graph when all answered;
    else None, and whoever asked combines what there is.
    """

    predictions: NDArray[np.float32]
    failed: Mapping[int, str]
    combined: NDArray[np.float32] | None


class Network(Protocol):
    """What a worker runs: one member between-graph, all of them in-graph."""

    def predict(self, inputs: NDArray[np.float32]) -> NetworkOutputs:
        """Rows are float32 (rows, features). May raise anything when no member could be run."""
        ...
