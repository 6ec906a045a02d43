"""Row 19: data parallel training of four replicas, one of which is ten times slower than the others.

Each replica trains a small network on the digits with a batch of 32. A step takes 20 ms, and 200 ms on the slow
replica, and the backward pass of this small network besides: the loss is computed, the process sleeps until this time
is over, and then computes the gradient. So each replica has a device of its own. Measured are the updates per second on
a fast replica, and the accuracy after the same number of updates, in three modes of `podium.parallel`: `Synchronous`
(DistributedDataParallel, the peer), `SynchronousWithSpares` with one spare, and `Asynchronous` with one server. All
modes, without and with the slow replica, run in the same four processes, so ratios are within one run. Not measured:
several machines, GPUs, and networks whose gradients saturate the network.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Any

from benchmarks.results import Figure, Row, Target
from benchmarks.run_settings import Plan

REPLICAS = 4
SLOW_TIMES = 10.0
STEP_S = 0.02
STEPS = 200
KEPT_PERCENT = 90.0
ROOT = Path(__file__).parents[1]
PROGRAM = Path(__file__).parent / "programs" / "replicas.py"
TIMEOUT_S = 500.0
MODES = {"sync": "DistributedDataParallel", "spares": "one spare", "async": "asynchronous"}
Found = dict[str, dict[str, float]]


def run(plan: Plan, numbers: frozenset[int]) -> list[Row]:
    """Row 19."""
    steps = 5 if plan.quick else STEPS
    found: list[Found] = []
    for _ in range(min(3, plan.repetitions)):
        found.append(measured(steps))
        rates = {name: round(each["steps_per_s"], 1) for name, each in found[-1].items()}
        plan.say(f"updates per second: {rates}")
    return [_row(steps, found)]


def _row(steps: int, found: Sequence[Found]) -> Row:
    spares, asynchronous, peer = (_figures(mode, found) for mode in ("spares", "async", "sync"))
    return Row(
        19,
        f"{REPLICAS} replicas on the digits, one {SLOW_TIMES:g} × slower, {steps} updates",
        [*spares, *asynchronous],
        len(found),
        targets=[_kept(spares[2]), _lost(peer[2])],
        peer_name=MODES["sync"],
        peer=peer,
        ratios={f"{MODES['spares']}, one slow": spares[1].median / peer[1].median},
        notes=(
            "a step takes 20 ms on a device of its own, by sleeping before the backward pass; accuracy is that on the "
            "last 397 digits",
            "an asynchronous update is that of one gradient; those of the slow replica are staler than the bound of 8, "
            "and dropped, so about 75 % of the rate remain",
        ),
    )


def _figures(mode: str, found: Sequence[Found]) -> list[Figure]:
    """The rates, the share of its own rate that a mode keeps, and the accuracies."""
    name = MODES[mode]
    plain, slow = (
        tuple(each[f"{mode}, {how}"]["steps_per_s"] for each in found) for how in ("undisturbed", "one slow")
    )
    kept = tuple(100 * after / before for before, after in zip(plain, slow, strict=True))
    accuracies = [
        Figure(f"{name}, {how}, accuracy", "%", tuple(100 * each[f"{mode}, {how}"]["accuracy"] for each in found))
        for how in ("undisturbed", "one slow")
    ]
    return [
        Figure(f"{name}, undisturbed", "updates/s", plain),
        Figure(f"{name}, one slow", "updates/s", slow),
        Figure(f"{name}, kept", "% of its rate", kept),
        *accuracies,
    ]


def _kept(figure: Figure) -> Target:
    return Target(f"spares keep ≥ {KEPT_PERCENT:g} %", f"{figure.median:.1f} %", figure.median >= KEPT_PERCENT)


def _lost(figure: Figure) -> Target:
    """The comparison only means something if the slow replica delays the peer."""
    return Target(f"the peer keeps < {KEPT_PERCENT:g} %", f"{figure.median:.1f} %", figure.median < KEPT_PERCENT)


def measured(steps: int) -> Found:
    """What the replicas of one run print."""
    from torch.distributed import TCPStore  # type: ignore[attr-defined]

    store = TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False, timeout=timedelta(seconds=TIMEOUT_S))
    processes = [_start(rank, store.port, steps) for rank in range(REPLICAS)]
    try:
        outputs = [process.communicate(timeout=TIMEOUT_S)[0] for process in processes]
        if any(process.returncode for process in processes):
            raise RuntimeError("a replica failed; see its error above")
    finally:
        for process in processes:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    found: Found = json.loads(outputs[1])
    return found


def _start(rank: int, port: int, steps: int) -> subprocess.Popen[str]:
    variables: dict[str, Any] = {
        "RANK": rank, "WORLD_SIZE": REPLICAS, "LOCAL_RANK": rank, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port,
        "TORCHELASTIC_USE_AGENT_STORE": True, "OMP_NUM_THREADS": 1, "PYTHONPATH": ROOT, "CUDA_VISIBLE_DEVICES": "",
    }  # fmt: skip
    return subprocess.Popen(
        [sys.executable, PROGRAM, str(steps), str(STEP_S), str(SLOW_TIMES)],
        env={**os.environ, **{name: str(value) for name, value in variables.items()}},
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
