"""Part of row 18: a member on another machine against one on the same.

Two machines of the rig, without an ensemble around the members: a gateway's connections, and workers on a network of
plain arithmetic. Requests of one row of 3 kB alternate between both, so that both have the same load around them.
"""

from __future__ import annotations

import itertools
import json
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict
from pathlib import Path

import numpy as np
import uvloop

from benchmarks.results import Figure
from benchmarks.run_settings import Plan
from podium.ensemble.protocol.framing import unix_endpoint
from podium.ensemble.protocol.prediction_messages import Request, pack_requests
from podium.ensemble.serving.tls_worker_connections import NodeTransport
from podium.ensemble.serving.unix_socket_transport import Connection
from podium.ensemble.worker.control_messages import TlsListening
from podium.ensemble.worker.inference_server import WorkerServer
from podium.sweep.runtime import cluster_certificates
from podium.sweep.runtime.certificate_pin import connecting_context, read_certificate
from tests.cluster.machines import Network
from tests.member_process import Repeats
from tests.message_recorder import MessageRecorder

FEATURES = 768  # 3 kB
WARM = 500  # requests


def measured(plan: Plan) -> tuple[Figure, Figure]:
    """The median time of a request to a member on the same machine, and how much longer one on a node takes."""
    blocks, requests = (3, 100) if plan.quick else (10, 2000)
    with tempfile.TemporaryDirectory(prefix="r-") as made, Network(Path(made) / "m") as network:
        head, node = network.add("head"), network.add("node")
        identities = {}
        for machine in (head, node):
            identities[machine.name] = files = (machine.folder / "crt", machine.folder / "key")
            cluster_certificates.ensure(*files, machine.address)
        certificate, key = identities["node"]
        trusted = read_certificate(identities["head"][0])
        listening = TlsListening(node.address, 8400, 8499, str(certificate), str(key), trusted)
        command = [sys.executable, "-m", "benchmarks.far_member"]
        endpoints = []
        for machine, where in ((head, unix_endpoint(head.folder / "s")), (node, json.dumps(asdict(listening)))):
            worker = machine.start([*command, "worker", where], stdout=subprocess.PIPE, text=True)
            assert worker.stdout is not None
            endpoints.append(worker.stdout.readline().strip())
        numbers = (str(blocks), str(requests))
        found = json.loads(
            head.run(*command, "client", *numbers, *map(str, identities["head"]), *endpoints, timeout_s=600.0)
        )
    return (
        Figure("a request of 3 kB to a member on the head", "ms", tuple(found["local"])),
        Figure("to one on a node, more", "ms", tuple(found["more"])),
    )


def serve(where: str) -> None:
    """A worker, until it is killed; prints its endpoint."""
    endpoint = where if where.startswith("unix:") else TlsListening(**json.loads(where))
    server = WorkerServer(endpoint, 1, Repeats())
    server.start()
    print(server.endpoint, flush=True)
    while True:
        time.sleep(60)


async def measure(blocks: int, requests: int, certificate: str, key: str, endpoints: list[str]) -> None:
    """Send requests to both in turn; prints the medians of each block as JSON."""
    transport = NodeTransport(connecting_context(Path(certificate), Path(key)))
    listeners = [MessageRecorder() for _ in endpoints]
    connections: list[Connection] = [
        transport.open(endpoint, listener) for endpoint, listener in zip(endpoints, listeners, strict=True)
    ]
    numbers = itertools.count(1)
    rows = np.random.default_rng(0).normal(size=(1, FEATURES)).astype(np.float32)

    async def once(position: int) -> float:
        began_s = time.perf_counter()
        connections[position].send(pack_requests([Request(next(numbers), 1, 5000.0, rows)]))
        await listeners[position].messages.get()
        return (time.perf_counter() - began_s) * 1000

    async def medians(count: int) -> tuple[float, float]:
        found = [(await once(0), await once(1)) for _ in range(count)]
        return statistics.median(local for local, _ in found), statistics.median(far for _, far in found)

    await medians(WARM)
    each = [await medians(requests) for _ in range(blocks)]
    transport.close()
    print(json.dumps({"local": [local for local, _ in each], "more": [far - local for local, far in each]}))


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["worker", where]:
            serve(where)
        case ["client", blocks, requests, certificate, key, *endpoints]:
            uvloop.run(measure(int(blocks), int(requests), certificate, key, endpoints))
