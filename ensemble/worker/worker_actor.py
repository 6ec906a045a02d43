"""The worker as a Ray actor: Ray places, watches and ends it; the data goes over its own socket."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from podium.ensemble.worker.worker_server import MemberServer

COMPILE = "PODIUM_COMPILE"  # set to 1: in-graph, compiled plans are tried too; each takes many seconds to prepare


class MemberActor:
    """Loads the networks of one worker, warms them, and serves them on `endpoint`."""

    def __init__(self, visible: str, threads: int) -> None:
        # Before torch is imported, and so before anything can look at the devices.
        os.environ["CUDA_VISIBLE_DEVICES"] = visible
        os.environ["OMP_NUM_THREADS"] = str(threads)
        # Threads that spin while they wait for one that has no core make 40 us into 80 ms: trials share the machine.
        os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
        self._threads = threads
        self._server: MemberServer | None = None
        self._started = ""

    def start(
        self, files: str, in_graph: bool, endpoint: str, epoch: int, features: int, combination: str, precision: str
    ) -> str:
        """Load, warm and bind; returns its pid and its plan, as JSON: who asks again hears the same.

        Raises `EnsembleError` naming what cannot be loaded.
        """
        import torch  # this and the next must come after the mask

        from podium.ensemble.worker.worker_server import MemberServer

        if self._server is None:
            torch.set_num_threads(self._threads)
            network = _load(files, in_graph, combination, precision, features)
            server = MemberServer(endpoint, epoch, network, known_row=network.known_rows(1, features))
            server.start()
            self._server = server
            self._started = json.dumps({"pid": os.getpid(), "plan": network.plan()})
        return self._started

    def health(self) -> str:
        """The server's counts and times, as JSON: an answer at all says that the process lives."""
        return json.dumps({} if self._server is None else self._server.health())


def _load(files: str, in_graph: bool, combination: str, precision: str, features: int) -> Any:
    """The network, warm: nothing is asked of it before."""
    from podium.ensemble.values.ensemble_spec import Combination, Precision
    from podium.ensemble.worker.network import ModelFile
    from podium.ensemble.worker.network_loading import WholeEnsemble, load

    network = load(
        [ModelFile(**file) for file in json.loads(files)],
        in_graph=in_graph, combination=Combination.from_json(combination), precision=Precision(precision),
    )  # fmt: skip
    if isinstance(network, WholeEnsemble):
        network.warm(features, slow=os.environ.get(COMPILE) == "1")
    else:
        network.warm(features)
    return network
