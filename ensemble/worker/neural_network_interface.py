"""The interface of the networks that a worker runs; host and worker processes, without torch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

import msgspec
import numpy as np
from numpy.typing import NDArray


class NetworkOutputs(msgspec.Struct, frozen=True, eq=False):
    """The result of one computation.

    `predictions` is float32 (members, rows, outputs), in member order. The rows of a failed member are NaN; `failed`
    maps its position to the error. `combined` is float32 (rows, outputs) in-graph if no member failed, else None; the
    caller then combines the predictions.
    """

    predictions: NDArray[np.float32]
    failed: Mapping[int, str]
    combined: NDArray[np.float32] | None


class Network(Protocol):
    """The networks of a worker: one member between-graph, all members in-graph."""

    def predict(self, inputs: NDArray[np.float32]) -> NetworkOutputs:
        """Compute `inputs`, float32 (rows, features). May raise any error if no member can be computed."""
        ...
