"""Measures a member on another machine against one on the same: `python -m tests.cluster.measure_members`.

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

from podium.ensemble.protocol.framing import unix_endpoint
from podium.ensemble.protocol.prediction_messages import Request, pack_requests
from podium.ensemble.serving.node_transport import NodeTransport
from podium.ensemble.serving.transport import Connection
from podium.ensemble.worker.control_messages import TlsListening
from podium.ensemble.worker.worker_server import WorkerServer
from podium.sweep.runtime import cluster_certificates
from podium.sweep.runtime.certificate_pin import connecting_context, read_certificate
from tests.cluster.machines import Network
from tests.member_process import Repeats
from tests.message_recorder import MessageRecorder

FEATURES = 768  # 3 kB
WARM, REQUESTS, BLOCKS = 500, 2000, 10


def main() -> None:
    """Print the quantiles of each, and the difference of the medians of each block."""
    with tempfile.TemporaryDirectory(prefix="r-") as made, Network(Path(made) / "m") as network:
        head, node = network.add("head"), network.add("node")
        identities = {}
        for machine in (head, node):
            identities[machine.name] = files = (machine.folder / "crt", machine.folder / "key")
            cluster_certificates.ensure(*files, machine.address)
        certificate, key = identities["node"]
        trusted = read_certificate(identities["head"][0])
        listening = TlsListening(node.address, 8400, 8499, str(certificate), str(key), trusted)
        command = [sys.executable, "-m", "tests.cluster.measure_members"]
        endpoints = []
        for machine, where in ((head, unix_endpoint(head.folder / "s")), (node, json.dumps(asdict(listening)))):
            worker = machine.start([*command, "worker", where], stdout=subprocess.PIPE, text=True)
            assert worker.stdout is not None
            endpoints.append(worker.stdout.readline().strip())
        print(head.run(*command, "client", *map(str, identities["head"]), *endpoints, timeout_s=600.0))


def serve(where: str) -> None:
    """A worker, until it is killed; prints its endpoint."""
    endpoint = where if where.startswith("unix:") else TlsListening(**json.loads(where))
    server = WorkerServer(endpoint, 1, Repeats())
    server.start()
    print(server.endpoint, flush=True)
    while True:
        time.sleep(60)


async def measure(certificate: str, key: str, endpoints: list[str]) -> None:
    """Send requests to both in turn."""
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

    for _ in range(WARM):
        for position in (0, 1):
            await once(position)
    differences = []
    found: list[list[float]] = [[], []]
    for _ in range(BLOCKS):
        block: list[list[float]] = [[], []]
        for _ in range(REQUESTS):
            for position in (0, 1):
                block[position].append(await once(position))
        differences.append(statistics.median(block[1]) - statistics.median(block[0]))
        for position in (0, 1):
            found[position] += block[position]
    transport.close()
    for name, values in zip(("local", "far"), found, strict=True):
        p50, p99 = np.quantile(values, [0.5, 0.99])
        print(f"{name}: p50 {p50:.3f} ms, p99 {p99:.3f} ms, {len(values)} requests")
    print(
        f"far minus local, p50 of each of {BLOCKS} blocks: median {statistics.median(differences):+.3f} ms, "
        f"{min(differences):+.3f} to {max(differences):+.3f}"
    )


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["worker", where]:
            serve(where)
        case ["client", certificate, key, *endpoints]:
            uvloop.run(measure(certificate, key, endpoints))
        case _:
            main()
