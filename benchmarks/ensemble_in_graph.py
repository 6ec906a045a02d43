"""Row 6: an ensemble of 3 and of 10 networks as one program, compared with a plain Python loop over the members.

Measured: p50 of many calls with rows in, and every member's probabilities and their mean out, as numpy arrays. The
networks are an MLP 64-128-10, and a CNN of two blocks on 28 x 28 pixels, each with its own weights. Podium:
`InGraphNetwork` after its warm-up, which selects the fastest plan; the measured times are in the notes. The loop: each
module called in turn under `torch.inference_mode`, softmax, `stack`, `mean`; with one thread or with one per core,
whichever is faster. These two are measured before, since a change of the number of threads slows down the next call;
Podium may still use another number than the loop.

Podium and the faster loop take turns in one process, and the ratio is the median over the rounds of the loop's time
divided by Podium's in the same round: other load slows down a whole round. The quartiles of the rounds are in the
notes. The process has the environment of a member, `OMP_WAIT_POLICY=PASSIVE`.

Then the overhead of the service: the same ensemble of three MLPs in a worker process behind its socket, called by the
gateway's aggregator in another process with the gateway's event loop (uvloop), one request at a time: p50 of a request
minus p50 of the program itself in that worker.

Not measured: HTTP and JSON (row 7), several clients, GPUs, compiled plans, which take many seconds to prepare and are
tried on request only.
"""

from __future__ import annotations

import asyncio
import functools
import json
import multiprocessing
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np
import torch
import uvloop
from numpy.typing import NDArray
from torch import nn

from benchmarks.results import Figure, Row, Target, at_most
from benchmarks.run_settings import Plan
from podium.ensemble.serving.aggregator import Aggregator
from podium.ensemble.values.ensemble_snapshot import Combination, Member, Replica, Snapshot, Traffic
from podium.ensemble.values.ensemble_spec import Mode, Rule, Task
from podium.ensemble.values.ensemble_states import EnsembleState, MemberState
from podium.ensemble.values.prediction import Outcome
from podium.ensemble.worker.in_graph_network import InGraphNetwork
from podium.ensemble.worker.inference_server import WorkerServer
from podium.ensemble.worker.model_file_spec import ModelFile
from podium.ensemble.worker.network_loading import load
from podium.sweep.networks import models, weight_files
from podium.sweep.runtime.safe_file_reads import sha256_of
from podium.sweep.runtime.service_settings import available_cores

MEMBERS = (3, 10)
ROWS = (1, 64, 1024)
CLASSES = 10
NOISE = 0.05  # if the loop is selected, both sides run the same code
ADDED_MS = 0.25
EPOCH = 1
CALLS = (15, 1000)  # at least, at most
CALLS_S = 4.0
CHOICE_S = 1.0  # for each number of threads of the loop
CHOICE_BLOCKS = 4  # of calls with one number of threads, in turn with the other
CPU = torch.device("cpu")
POLICY = ("OMP_WAIT_POLICY", "PASSIVE")  # as the process template sets for members

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


@dataclass(frozen=True, slots=True)
class Measured:
    """One batch size of one ensemble."""

    name: str
    ours_us: float
    loop_us: float
    ratio: float  # the loop's time divided by ours: the median of the rounds
    note: str


def run(plan: Plan, numbers: frozenset[int]) -> list[Row]:
    """Row 6."""
    found: dict[str, list[Measured]] = {}
    added: list[float] = []
    for _ in range(plan.repetitions):
        for kind in KINDS[:1] if plan.quick else KINDS:
            for members in MEMBERS:
                for each in in_new_process(one_ensemble, kind, members, plan):
                    found.setdefault(each.name, []).append(each)
                    plan.say(each.note)
        added.append(added_ms(plan))
        plan.say(f"added by the service: {added[-1]:.3f} ms")
    ours = [Figure(name, "us", tuple(each.ours_us for each in runs)) for name, runs in found.items()]
    loop = [Figure(name, "us", tuple(each.loop_us for each in runs)) for name, runs in found.items()]
    ratios = {name: statistics.median(each.ratio for each in runs) for name, runs in found.items()}
    notes = [each.note for runs in found.values() for each in runs]
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


def in_new_process(measure: Callable[..., list[Measured]], *arguments: object) -> list[Measured]:
    """Call `measure` in a process with the environment of a member."""
    with as_member(), ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        return pool.submit(measure, *arguments).result()


@contextmanager
def as_member() -> Iterator[None]:
    """Processes that are started meanwhile have the environment of a member."""
    name, value = POLICY
    before = os.environ.get(name)
    os.environ[name] = value
    try:
        yield
    finally:
        if before is None:
            del os.environ[name]
        else:
            os.environ[name] = before


def one_ensemble(kind: Kind, members: int, plan: Plan, device: torch.device = CPU) -> list[Measured]:
    """Measure all batch sizes of one ensemble: its own time and the loop's. `device`: of the loop's networks."""
    with tempfile.TemporaryDirectory(prefix="podium-bench-") as folder:
        torch.set_num_threads(available_cores())  # the maximum for the ensemble
        ensemble = warm_ensemble(saved(Path(folder), kind, members), kind.features)
        loop = plain_loop([_network(kind, seed).to(device) for seed in range(members)], device)
    found, used = [], ensemble.plan()["threads"]
    for rows, chosen in zip(ROWS, ensemble.plan()["groups"][0]["sizes"], strict=True):
        name = f"{members} {kind.name}s, {rows} row{'s' * (rows > 1)}"
        inputs = np.random.default_rng(0).random((rows, kind.features), dtype=np.float32)
        threads = faster_number(loop, inputs, plan)
        ours, best = in_turn([functools.partial(ensemble.predict, inputs), threaded(loop, inputs, threads)], plan)
        low, middle, high = statistics.quantiles([one / other for one, other in zip(best, ours, strict=True)], n=4)
        times = ", ".join(f"{way} {took:.0f}" for way, took in chosen["took_us"].items())
        note = (
            f"{name}: {middle:.2f} × ({low:.2f} to {high:.2f}), {len(ours)} rounds; plan {chosen['plan']}, threads "
            f"{used[str(rows)]}, of the loop {threads}; when it was warmed, in us: {times}"
        )
        found.append(Measured(name, p50_us(ours), p50_us(best), middle, note))
    return found


def plain_loop(networks: list[nn.Module], device: torch.device = CPU) -> Callable[[Rows], tuple[Rows, Rows]]:
    """The loop that a user would write without Podium."""

    @torch.inference_mode()
    def predict(inputs: Rows) -> tuple[Rows, Rows]:
        rows = torch.from_numpy(inputs).to(device)
        predictions = torch.stack([torch.softmax(network(rows), dim=1) for network in networks])
        return predictions.cpu().numpy(), predictions.mean(dim=0).cpu().numpy()

    return predict


def threaded(loop: Callable[[Rows], object], inputs: Rows, threads: int) -> Callable[[], object]:
    """A call of the loop with this number of threads."""

    def call() -> object:
        torch.set_num_threads(threads)
        return loop(inputs)

    return call


def faster_number(loop: Callable[[Rows], object], inputs: Rows, plan: Plan) -> int:
    """The number of threads with which the loop is faster: one, or one per core."""
    took: dict[int, list[float]] = {number: [] for number in sorted({1, available_cores()})}
    for _ in range(CHOICE_BLOCKS):
        for number, times in took.items():
            times += in_turn([threaded(loop, inputs, number)], plan, CHOICE_S / CHOICE_BLOCKS)[0]
    return min(took, key=lambda number: statistics.median(took[number]))


def in_turn(calls: Sequence[Callable[[], object]], plan: Plan, longest_s: float = CALLS_S) -> list[list[float]]:
    """The seconds that each call takes, by round; each round begins with another call."""
    took: list[list[float]] = [[] for _ in calls]
    order = list(zip(calls, took, strict=True))
    end = time.perf_counter() + (0.2 if plan.quick else longest_s)
    while len(took[0]) < CALLS[0] or (time.perf_counter() < end and len(took[0]) < CALLS[1]):
        for call, times in order:
            began = time.perf_counter()
            call()
            times.append(time.perf_counter() - began)
        order.append(order.pop(0))
    return took


def p50_us(seconds: Sequence[float]) -> float:
    """The median in microseconds."""
    return 1e6 * statistics.median(seconds)


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
    ensemble = load(files, in_graph=True, combination=_mean(len(files)))
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
        with as_member():
            worker.start()
        its.close()  # if the worker ends, the wait for it ends
        try:
            bare_us: float = mine.recv()
            through_us = uvloop.run(requests_us(endpoint, inputs, plan))
        finally:
            mine.close()
            worker.join(10)
    return (through_us - bare_us) / 1e3


def serve(files: list[ModelFile], endpoint: str, inputs: Rows, plan: Plan, parent: Connection) -> None:
    """The worker process: reports the time of its program itself, then serves until the parent is done."""
    torch.set_num_threads(available_cores())
    ensemble = warm_ensemble(files, inputs.shape[1])
    bare_us = p50_us(*in_turn([lambda: ensemble.predict(inputs)], plan))
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
    return p50_us(took)


def _snapshot(endpoint: str, features: int) -> Snapshot:
    """An ensemble whose members share one process, as the gateway sees it."""
    replica = Replica(1, MemberState.READY, EPOCH, endpoint)
    members = tuple(Member(number, number, (replica,), number, 1) for number in range(1, MEMBERS[0] + 1))
    classes = tuple(str(label) for label in range(CLASSES))
    return Snapshot(
        1, "bench", 1, Mode.IN_GRAPH, MEMBERS[0], 1000.0, classes, features, _mean(MEMBERS[0]), members
    )  # fmt: skip
