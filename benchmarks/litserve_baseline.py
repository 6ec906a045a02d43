"""Three networks behind LitServe, as its documentation batches requests; a process of its own.

`python -m benchmarks.litserve_baseline PORT MODEL...`. Serves until SIGTERM.

One worker with all networks, and one API server process, which is LitServe's default for one worker. Requests are
batched as on its page on batching: up to 16, with the batch timeout below. `fast_queue` (ZeroMQ) is on, as its
reference advises from 100 requests per second. `predict` runs the networks one after the other on the rows of the
batch, and returns the mean of their probabilities. A request is `{"inputs": [[...]]}` with one row. There is no token,
no validation of the rows and no status of each member; access logs are off.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import litserve
import numpy as np

from benchmarks.peer_networks import AllNetworks, Rows

BATCH = 16
BATCH_TIMEOUT_S = 0.005  # 1 to 10 ms are not clearly ordered with 16 clients


class Networks(litserve.LitAPI):  # type: ignore[misc]
    """One row of each request to one batch, and back."""

    def __init__(self, paths: Sequence[str]) -> None:
        super().__init__(max_batch_size=BATCH, batch_timeout=BATCH_TIMEOUT_S)
        self._paths = paths

    def setup(self, device: str) -> None:
        self._networks = AllNetworks(self._paths)

    def decode_request(self, request):  # type: ignore[no-untyped-def]  # LitServe would read a type as FastAPI does
        return np.asarray(request["inputs"], dtype=np.float32)

    def batch(self, inputs: list[Rows]) -> Rows:
        return np.concatenate(inputs)

    def predict(self, rows: Rows) -> Rows:
        return self._networks.predict(rows)

    def unbatch(self, output: Rows) -> list[Rows]:
        return list(output)

    def encode_response(self, output: Rows) -> dict[str, Any]:
        return {"outputs": [output.tolist()]}


def main() -> None:
    """See the module."""
    port, *models = sys.argv[1:]
    server = litserve.LitServer(Networks(models), accelerator="cpu", devices=1, workers_per_device=1, fast_queue=True)
    server.run(host="127.0.0.1", port=int(port), log_level="warning", generate_client_file=False)


if __name__ == "__main__":
    main()
