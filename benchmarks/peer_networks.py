"""The networks that the peers serve, loaded and run by the same code as in Podium's own members."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from benchmarks.peer_names import WORKER
from podium.ensemble.values.ensemble_snapshot import Combination
from podium.ensemble.values.ensemble_spec import Rule, Task
from podium.ensemble.worker.model_file_spec import ModelFile
from podium.ensemble.worker.network_loading import load
from podium.sweep.runtime.safe_file_reads import sha256_of

Rows = NDArray[np.float32]


class OneNetwork:
    """One network on one thread."""

    def __init__(self, path: str) -> None:
        torch.set_num_threads(1)
        alone = Combination(Task.CLASSIFICATION, Rule.MEAN, (1.0,))
        file = ModelFile(path, sha256_of(Path(path)), 0)
        self._network = load([file], in_graph=False, combination=alone)

    def predict(self, rows: Rows) -> Rows:
        """The probabilities (rows, classes)."""
        answers: Rows = self._network.predict(rows).predictions[0]
        return answers


class AllNetworks:
    """All networks in this process, one after the other; names the process, so that a benchmark finds it."""

    def __init__(self, paths: Sequence[str]) -> None:
        Path("/proc/self/comm").write_text(WORKER)
        self._networks = [OneNetwork(path) for path in paths]

    def predict(self, rows: Rows) -> Rows:
        """The mean of their probabilities (rows, classes)."""
        mean: Rows = np.mean([network.predict(rows) for network in self._networks], axis=0)
        return mean
