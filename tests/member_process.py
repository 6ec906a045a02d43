"""A worker in its own process, on a network of plain arithmetic: `python -m tests.member_process ENDPOINT EPOCH`.

It prints `ready` once it serves, and ends when its standard input closes.
"""

from __future__ import annotations

import sys

import numpy as np
from numpy.typing import NDArray

from podium.ensemble.worker.inference_server import WorkerServer
from podium.ensemble.worker.neural_network_interface import NetworkOutputs


class Repeats:
    """Predicts `inputs[:, 0]` for the first class, and fails on NaN."""

    def predict(self, inputs: NDArray[np.float32]) -> NetworkOutputs:
        if np.isnan(inputs).any():
            raise ArithmeticError("poison")
        return NetworkOutputs(np.stack([inputs[:, 0], 1 - inputs[:, 0]], axis=1)[np.newaxis], {}, None)


def serve(endpoint: str, epoch: int) -> None:
    server = WorkerServer(endpoint, epoch, Repeats())
    server.start()
    print("ready", flush=True)
    sys.stdin.read()
    server.close()


if __name__ == "__main__":
    serve(sys.argv[1], int(sys.argv[2]))
