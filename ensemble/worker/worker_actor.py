"""The worker as a Ray actor, which Ray places and kills; predictions use the worker's own socket; worker process."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from podium.ensemble.worker.worker_server import WorkerServer

COMPILE = "PODIUM_COMPILE"  # set to 1 to also try compiled plans in-graph; each takes many seconds to prepare


class WorkerActor:
    """Loads and warms the networks of one worker and serves them on `endpoint`."""

    def __init__(self, visible: str, threads: int) -> None:
        # Set before torch is imported, so that nothing has initialized the devices yet.
        os.environ["CUDA_VISIBLE_DEVICES"] = visible
        os.environ["OMP_NUM_THREADS"] = str(threads)
        # The machine is shared with trials: a thread that spins while another has no core turns 40 us into 80 ms.
        os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
        self._threads = threads
        self.server: WorkerServer | None = None
        self._started = ""

    def start(
        self, files: str, *, in_graph: bool, endpoint: str, epoch: int, features: int, combination: str, precision: str
    ) -> str:
        """Load, warm and bind. Returns its pid and execution plan as JSON; later calls return the same.

        Raises `EnsembleError` naming the file that cannot be loaded.
        """
        import torch  # these imports must follow CUDA_VISIBLE_DEVICES

        from podium.ensemble.worker.worker_server import WorkerServer

        if self.server is None:
            torch.set_num_threads(self._threads)
            network = _load(files, in_graph=in_graph, combination=combination, precision=precision, features=features)
            server = WorkerServer(endpoint, epoch, network, known_row=network.known_rows(1, features))
            server.start()
            self.server = server
            self._started = json.dumps({"pid": os.getpid(), "plan": network.plan()})
        return self._started

    def health(self) -> str:
        """The server's counters and latencies as JSON; any answer shows that the process is alive."""
        return json.dumps({} if self.server is None else self.server.health())


def _load(files: str, *, in_graph: bool, combination: str, precision: str, features: int) -> Any:
    """Load and warm the network."""
    from podium.ensemble.values.ensemble_snapshot import Combination
    from podium.ensemble.values.ensemble_spec import Precision
    from podium.ensemble.worker.network_interface import ModelFile
    from podium.ensemble.worker.network_loading import InGraphNetwork, load

    network = load(
        [ModelFile(**file) for file in json.loads(files)],
        in_graph=in_graph, combination=Combination.from_json(combination), precision=Precision(precision),
    )  # fmt: skip
    if isinstance(network, InGraphNetwork):
        network.warm(features, slow=os.environ.get(COMPILE) == "1")
    else:
        network.warm(features)
    return network
