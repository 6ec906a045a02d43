"""Row 6: an ensemble of 3 and of 10 networks as one program, compared with a plain Python loop over the members.

Measured: p50 of many calls with rows in, and every member's probabilities and their mean out, as numpy arrays. Podium
and the loop alternate in one process. Networks: an MLP 64-128-10, and a CNN of two blocks on 28 x 28 pixels, each with
its own weights. Podium: `InGraphNetwork` after its warm-up, which selects the fastest plan; the measured times are in
the notes. The loop: each module called in turn under `torch.inference_mode`, softmax, `stack`, `mean`; with one thread
and with one per core, of which the faster counts.

Then the overhead of the service: the same ensemble of three MLPs in a worker process behind its socket, called by the
gateway's aggregator in another process, one request at a time: p50 of a request minus p50 of the program itself in that
worker.

Not measured: HTTP and JSON (row 7), several clients, GPUs, compiled plans, which take many seconds to prepare and are
tried on request only.
"""

from __future__ import annotations

import asyncio
import functools
import json
import multiprocessing
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from benchmarks.results import Figure, Row, Target, at_most, ratio
from benchmarks.run_settings import Plan
from podium.ensemble.serving.aggregator import Aggregator
from podium.ensemble.values.ensemble_snapshot import Combination, Member, Replica, Snapshot, Traffic
from podium.ensemble.values.ensemble_spec import Mode, Precision, Rule, Task
from podium.ensemble.values.ensemble_states import EnsembleState, MemberState
from podium.ensemble.values.prediction import Outcome
from podium.ensemble.worker.in_graph_network import InGraphNetwork
from podium.ensemble.worker.network_interface import ModelFile
from podium.ensemble.worker.network_loading import load
from podium.ensemble.worker.worker_server import WorkerServer
from podium.sweep.networks import models, weight_files
from podium.sweep.runtime.regular_files import sha256_of
from podium.sweep.runtime.service_settings import available_cores

MEMBERS = (3, 10)
ROWS = (1, 64, 1024)
CLASSES = 10
NOISE = 0.05  # if the loop is selected, both sides run the same code
ADDED_MS = 0.3
EPOCH = 1
CALLS = (5, 1000)  # at least, at most

Rows = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Kind:
    """Networks of one architecture."""

    name: str
    features: int
    architecture: dict[str, Any]


KINDS = (
    Kind(
        "MLP", 64,
        {"model": "mlp", "settings": {"hidden": 128, "layers": 1, "dropout": 0.1, "activation": "relu"},
         "image": (1, 8, 8), "classes": CLASSES, "mean": 0.5, "deviation": 0.3},
    ),
    Kind(
        "CNN", 784,
        {"model": "cnn", "settings": {"channels": 8, "blocks": 2, "hidden": 64, "dropout": 0.2},
         "image": (1, 28, 28), "classes": CLASSES, "mean": 0.5, "deviation": 0.3},
    ),
)  # fmt: skip


def run(plan: Plan, numbers: frozenset[int]) -> list[Row]:
    """Row 6."""
    podium: dict[str, list[float]] = {}
    peer: dict[str, list[float]] = {}
    added: list[float] = []
    notes: list[str] = []
    for _ in range(plan.repetitions):
        for kind in KINDS[:1] if plan.quick else KINDS:
            for members in MEMBERS:
                one_ensemble(kind, members, plan, podium, peer, notes)
        added.append(added_ms(plan))
        plan.say(f"added by the service: {added[-1]:.3f} ms")
    ours = [Figure(name, "us", tuple(samples)) for name, samples in podium.items()]
    loop = [Figure(name, "us", tuple(samples)) for name, samples in peer.items()]
    ratios = {one.name: ratio(one, other) for one, other in zip(ours, loop, strict=True)}
    service = Figure("added by the service, 3 MLPs, 1 row", "ms", tuple(added))
    return [
        Row(
            6, "in-graph ensembles, batches of 1, 64 and 1,024 rows: p50 of a call", [*ours, service],
            plan.repetitions, targets=[never_slower(ratios), at_most(service, ADDED_MS)],
            peer_name="a plain loop over the members", peer=loop, ratios=ratios, notes=notes,
        )
    ]  # fmt: skip


def never_slower(ratios: dict[str, float]) -> Target:
    """The target of the selection: if no plan is faster than the loop, the loop is selected."""
    name, worst = min(ratios.items(), key=lambda item: item[1])
    aim = f"never slower than the loop (within {NOISE:.0%})"
    return Target(aim, f"least {worst:.2f} × ({name})", worst >= 1 - NOISE)


def one_ensemble(
    kind: Kind, members: int, plan: Plan, podium: dict[str, list[float]], peer: dict[str, list[float]], notes: list[str]
) -> None:
    """Measure all batch sizes of one ensemble: its own time and the loop's."""
    with tempfile.TemporaryDirectory(prefix="podium-bench-") as folder:
        torch.set_num_threads(available_cores())  # the maximum for the ensemble
        ensemble = warm_ensemble(saved(Path(folder), kind, members), kind.features)
        loop = plain_loop([_network(kind, seed) for seed in range(members)])
    for rows, chosen in zip(ROWS, ensemble.plan()["groups"][0]["sizes"], strict=True):
        name = f"{members} {kind.name}s, {rows} row{'s' * (rows > 1)}"
        inputs = np.random.default_rng(0).random((rows, kind.features), dtype=np.float32)
        ours_us, one_us = in_turn_us([functools.partial(ensemble.predict, inputs), threaded(loop, inputs, 1)], plan)
        loop_us = min(one_us, *in_turn_us([threaded(loop, inputs, available_cores())], plan))
        podium.setdefault(name, []).append(ours_us)
        peer.setdefault(name, []).append(loop_us)
        times = ", ".join(f"{way} {took:.0f}" for way, took in chosen["took_us"].items())
        notes.append(f"{name}: {chosen['plan']}; when it was warmed, in us: {times}")
        plan.say(f"{name}: {chosen['plan']} {ours_us:.0f} us, the loop {loop_us:.0f} us")


def plain_loop(networks: list[nn.Module]) -> Callable[[Rows], tuple[Rows, Rows]]:
    """The loop that a user would write without Podium."""

    @torch.inference_mode()
    def predict(inputs: Rows) -> tuple[Rows, Rows]:
        rows = torch.from_numpy(inputs)
        predictions = torch.stack([torch.softmax(network(rows), dim=1) for network in networks])
        return predictions.numpy(), predictions.mean(dim=0).numpy()

    return predict


def threaded(loop: Callable[[Rows], object], inputs: Rows, threads: int) -> Callable[[], object]:
    """A call of the loop with this number of threads."""

    def call() -> object:
        torch.set_num_threads(threads)
        return loop(inputs)

    return call


def in_turn_us(calls: Sequence[Callable[[], object]], plan: Plan) -> list[float]:
    """p50 of each, in microseconds; in turn, so that other load on the machine affects all of them."""
    seconds = 0.2 if plan.quick else 2.0
    took: list[list[float]] = [[] for _ in calls]
    end = time.perf_counter() + seconds
    while len(took[0]) < CALLS[0] or (time.perf_counter() < end and len(took[0]) < CALLS[1]):
        for call, times in zip(calls, took, strict=True):
            began = time.perf_counter()
            call()
            times.append(time.perf_counter() - began)
    return [1e6 * statistics.median(times) for times in took]


def saved(folder: Path, kind: Kind, members: int) -> list[ModelFile]:
    """Networks as saved by the fit loop."""
    files = []
    for seed in range(members):
        path = folder / f"{seed}.safetensors"
        weight_files.save_weights(_network(kind, seed), path, {"architecture": json.dumps(kind.architecture)})
        files.append(ModelFile(str(path), sha256_of(path), 0))
    return files


def _network(kind: Kind, seed: int) -> nn.Module:
    torch.manual_seed(seed)
    return models.build(kind.architecture).eval()


def _mean(members: int) -> Combination:
    return Combination(Task.CLASSIFICATION, Rule.MEAN, (1 / members,) * members)


def warm_ensemble(files: list[ModelFile], features: int) -> InGraphNetwork:
    """The program of an in-graph worker, as its actor loads and warms it."""
    ensemble = load(files, in_graph=True, combination=_mean(len(files)), precision=Precision.FLOAT32)
    assert isinstance(ensemble, InGraphNetwork)
    ensemble.warm(features)
    return ensemble


# The overhead of the service.


def added_ms(plan: Plan) -> float:
    """p50 of a request through aggregator, socket and worker, minus p50 of the worker's program itself."""
    kind = KINDS[0]
    inputs = np.random.default_rng(0).random((1, kind.features), dtype=np.float32)
    spawn = multiprocessing.get_context("spawn")
    mine, its = spawn.Pipe()
    with tempfile.TemporaryDirectory(prefix="podium-bench-") as folder:
        files = saved(Path(folder), kind, MEMBERS[0])
        endpoint = f"unix:{folder}/worker"
        worker = spawn.Process(target=serve, args=(files, endpoint, inputs, plan, its))
        worker.start()
        its.close()  # if the worker ends, the wait for it ends
        try:
            bare_us: float = mine.recv()
            through_us = asyncio.run(requests_us(endpoint, inputs, plan))
        finally:
            mine.close()
            worker.join(10)
    return (through_us - bare_us) / 1e3


def serve(files: list[ModelFile], endpoint: str, inputs: Rows, plan: Plan, parent: Connection) -> None:
    """The worker process: reports the time of its program itself, then serves until the parent is done."""
    torch.set_num_threads(available_cores())
    ensemble = warm_ensemble(files, inputs.shape[1])
    (bare_us,) = in_turn_us([lambda: ensemble.predict(inputs)], plan)
    server = WorkerServer(endpoint, EPOCH, ensemble)
    server.start()
    parent.send(bare_us)
    parent.poll(None)  # until it closes its end
    server.close()


async def requests_us(endpoint: str, inputs: Rows, plan: Plan) -> float:
    """p50 of requests, one after the other, from the gateway's side."""
    aggregator = Aggregator()
    snapshot = _snapshot(endpoint, inputs.shape[1])
    aggregator.update([Traffic(snapshot.ensemble_id, snapshot.name, EnsembleState.READY, snapshot)])
    while (await aggregator.predict(snapshot, inputs)).outcome is not Outcome.OK:  # until it is connected
        await asyncio.sleep(0.01)
    took: list[float] = []
    for _ in range(200 if plan.quick else 2000):
        began = time.perf_counter()
        prediction = await aggregator.predict(snapshot, inputs)
        took.append(time.perf_counter() - began)
        assert prediction.outcome is Outcome.OK, prediction
    aggregator.close()
    return 1e6 * statistics.median(took)


def _snapshot(endpoint: str, features: int) -> Snapshot:
    """An ensemble whose members share one process, as the gateway sees it."""
    replica = Replica(1, MemberState.READY, EPOCH, endpoint)
    members = tuple(Member(number, number, (replica,)) for number in range(1, MEMBERS[0] + 1))
    classes = tuple(str(label) for label in range(CLASSES))
    return Snapshot(
        1, "bench", 1, Mode.IN_GRAPH, MEMBERS[0], 1000.0, classes, features, _mean(MEMBERS[0]), members
    )  # fmt: skip
