"""The worker as a Ray actor: Ray places, watches and ends it; the data goes over its own socket."""

from __future__ import annotations

import json
import os
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ensemble.member import MemberServer


class MemberActor:
    """Loads the networks of one worker, warms them, and serves them on `endpoint`."""

    def __init__(self, visible: str, threads: int) -> None:
        # Before torch is imported, and so before anything can look at the devices.
        os.environ["CUDA_VISIBLE_DEVICES"] = visible
        os.environ["OMP_NUM_THREADS"] = str(threads)
        self._threads = threads
        self._server: MemberServer | None = None

    def start(self, files: str, in_graph: bool, endpoint: str, epoch: int, features: int) -> str:
        """Load, warm and bind; returns who it is, as JSON. Raises `EnsembleError` naming what cannot be loaded."""
        import numpy as np  # these load torch, which must come after the mask
        import torch

        from ensemble.member import MemberServer
        from ensemble.networks import ModelFile, load

        if self._server is None:
            torch.set_num_threads(self._threads)
            network = load([ModelFile(**file) for file in json.loads(files)], in_graph=in_graph)
            for rows in (1, 64):
                network.predict(np.zeros((rows, features), dtype=np.float32))
            self._server = MemberServer(endpoint, epoch, network)
            self._server.start()
        return json.dumps({"pid": os.getpid()})

    def health(self) -> str:
        """The counts so far, as JSON: an answer at all says that the process lives."""
        counts: dict[str, Any] = {} if self._server is None else asdict(self._server.counts)
        return json.dumps(counts)
