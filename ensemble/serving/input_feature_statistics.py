"""Mean and spread of each feature of the rows that were predicted recently, from a bounded sample; gateway process."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

MAX_FEATURES = 4_096  # rows with more are not summarized
BLOCK_S = 900.0
BLOCKS = 4  # the last hour
SAMPLE_S = 0.05  # between two sampled requests: at most 20 a second
SAMPLE_ROWS = 32  # of each
MAX_WAITING = 200  # samples that wait for `recent`; the oldest are dropped
Numbers = NDArray[np.float64]


@dataclass(slots=True)
class Moments:
    """Number of rows, mean, and sum of squared differences from the mean, by feature (Chan, Golub and LeVeque 1983)."""

    rows: int
    mean: Numbers
    squares: Numbers

    @classmethod
    def of(cls, rows: NDArray[Any]) -> Moments:
        wide = rows.astype(np.float64)
        mean = wide.mean(axis=0)
        return cls(len(wide), mean, ((wide - mean) ** 2).sum(axis=0))

    def plus(self, other: Moments) -> Moments:
        """The moments of the rows of both."""
        rows = self.rows + other.rows
        shift = other.mean - self.mean
        squares = self.squares + other.squares + shift**2 * (self.rows * other.rows / rows)
        return Moments(rows, self.mean + shift * (other.rows / rows), squares)

    @property
    def std(self) -> Numbers:
        std: Numbers = np.sqrt(self.squares / self.rows)
        return std


class InputFeatureStatistics:
    """The moments of sampled rows by ensemble, in blocks of 15 minutes; the oldest block is dropped.

    A request only has its rows copied; the moments are computed when they are read.
    """

    def __init__(self) -> None:
        self._waiting: deque[tuple[int, NDArray[Any], float]] = deque(maxlen=MAX_WAITING)
        self._blocks: dict[int, deque[tuple[float, Moments]]] = {}
        self._next_s = float("-inf")

    def observe(self, ensemble_id: int, inputs: NDArray[Any], now_s: float) -> None:
        """Sample the rows of a request, at most once in `SAMPLE_S`."""
        if now_s < self._next_s or not len(inputs) or inputs.shape[1] > MAX_FEATURES:
            return
        self._next_s = now_s + SAMPLE_S
        self._waiting.append((ensemble_id, inputs[:: -(-len(inputs) // SAMPLE_ROWS)].copy(), now_s))

    def _add(self, ensemble_id: int, rows: NDArray[Any], now_s: float) -> None:
        found = Moments.of(rows)
        blocks = self._blocks.setdefault(ensemble_id, deque(maxlen=BLOCKS))
        if blocks and len(blocks[-1][1].mean) != len(found.mean):
            blocks.clear()  # another version has other features
        if blocks and now_s < blocks[-1][0] + BLOCK_S:
            start_s, moments = blocks[-1]
            blocks[-1] = (start_s, moments.plus(found))
        else:
            blocks.append((now_s, found))

    def recent(self, now_s: float) -> dict[int, Moments]:
        """The moments of the last hour, by ensemble. Called every few seconds."""
        while self._waiting:
            self._add(*self._waiting.popleft())
        found: dict[int, Moments] = {}
        for ensemble_id, blocks in self._blocks.items():
            for start_s, moments in blocks:
                if start_s > now_s - BLOCKS * BLOCK_S:
                    before = found.get(ensemble_id)
                    found[ensemble_id] = moments if before is None else before.plus(moments)
        return found


def merged(parts: Sequence[dict[int, Moments]]) -> dict[int, Moments]:
    """The moments of the rows of all these, by ensemble.

    While one process still has rows of an earlier version with other features, only those of the most rows are kept.
    """
    found: dict[int, Moments] = {}
    for part in parts:
        for ensemble_id, moments in part.items():
            before = found.get(ensemble_id)
            if before is None:
                found[ensemble_id] = moments
            elif len(before.mean) == len(moments.mean):
                found[ensemble_id] = before.plus(moments)
            else:
                found[ensemble_id] = max(before, moments, key=lambda each: each.rows)
    return found


def to_json(found: dict[int, Moments]) -> bytes:
    """For `from_json`."""
    plain = {str(key): [each.rows, each.mean, each.squares] for key, each in found.items()}
    return orjson.dumps(plain, option=orjson.OPT_SERIALIZE_NUMPY)


def from_json(content: bytes) -> dict[int, Moments]:
    """Raises `ValueError` or `TypeError` for anything but the result of `to_json`."""
    return {
        int(key): Moments(rows, np.array(mean, dtype=np.float64), np.array(squares, dtype=np.float64))
        for key, (rows, mean, squares) in dict(orjson.loads(content)).items()
    }
