"""Three networks behind BentoML, as its documentation batches requests: `bentoml serve` imports this module.

The paths of the model files are in a variable of the environment. One service with all networks in one worker and
adaptive batching of up to 16 rows, as on the page on adaptive batching; its largest latency is the deadline of row 7. A
request is `{"inputs": [[...]]}`, and the response is the bare array of probabilities: the mean of the networks, which
run one after the other. There is no token and no status of each member; access logs are off, and the rest is as by
default. BentoML checks the shape of the rows and converts them.
"""

from __future__ import annotations

import os
from typing import Annotated

import bentoml
import numpy as np
from bentoml.validators import DType, Shape

from benchmarks.peer_names import MODELS
from benchmarks.peer_networks import AllNetworks

BATCH = 16
LATENCY_MS = 10_000


@bentoml.service(workers=1, logging={"access": {"enabled": False}})
class Networks:
    """All networks."""

    def __init__(self) -> None:
        self._networks = AllNetworks(os.environ[MODELS].split(os.pathsep))

    @bentoml.api(batchable=True, max_batch_size=BATCH, max_latency_ms=LATENCY_MS)  # type: ignore[untyped-decorator]
    def predict(
        self, inputs: Annotated[np.ndarray, DType("float32"), Shape((-1, 64))]
    ) -> Annotated[np.ndarray, DType("float32")]:
        return self._networks.predict(inputs)
