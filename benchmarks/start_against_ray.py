"""Row 13: the start of the service, of slots and of members, compared with Ray itself.

Measured in turn, each on an empty data directory, from exec: `podium serve` with 2 and with 16 CPU slots until
`/readyz` returns 200, which it does when all slots are open; and a bare Ray with the same number of actors: `ray start
--head` with Podium's options and without a dashboard, `ray.init`, and one call of each of 2 or 16 empty actors with one
CPU each. Then the memory of all processes of both (PSS: shared pages count once).

Then, on a service with two slots: an ensemble of three networks of the digits data, each with ten replicas, is stopped
and started: until all 30 processes are ready. One of them is killed (SIGKILL), until it is ready again; Ray replaces an
actor with `max_restarts=1` whose process is killed in the same way, until it answers.

Not measured: a cold disk, GPUs, several machines.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from contextlib import suppress
from pathlib import Path

import psutil

from benchmarks.results import Figure, Row, Target, at_most, ratio
from benchmarks.run_settings import Plan
from benchmarks.start import TIMEOUT_S, Service
from podium.api.client.client import Client
from podium.api.client.service_for_command import service
from podium.api.serve.ports import free_port
from podium.sweep.ray_cluster import ray_connection_settings
from podium.sweep.runtime.layout import DataDirectory

SLOTS = (2, 16)
MEMBERS = 30
KILLS = 5
_MIB = 1 << 20
_SWEEP = {
    "name": "members",
    "program": {"model": "mlp", "data": {"name": "digits"}},
    "metric": {"name": "val_loss", "goal": "minimize"},
    "method": "random",
    "run_cap": 3,
    "parameters": {"lr": {"min": 0.001, "max": 0.01}, "epochs": {"value": 1}},
}
_RAY = """
import os, sys, time
import ray

ray.init(address=sys.argv[1], log_to_driver=False, logging_level=40)


@ray.remote(num_cpus=1, max_restarts=1, max_task_retries=-1)
class Actor:
    def pid(self):
        return os.getpid()


actors = [Actor.remote() for _ in range(int(sys.argv[2]))]
pids = ray.get([actor.pid.remote() for actor in actors])
print("ready", *pids, flush=True)
for line in sys.stdin:
    os.kill(pids[0], 9)
    began = time.perf_counter()
    while (pid := ray.get(actors[0].pid.remote())) == pids[0]:
        pass
    print("answers", time.perf_counter() - began, flush=True)
"""


class BareRay:
    """A head node with empty actors, started by Ray's own command."""

    def __init__(self, actors: int) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="ray-")
        data = DataDirectory(Path(self._folder.name, "data"))
        data.prepare()
        ray_connection_settings.ensure_token(data)
        environment = {**os.environ, **ray_connection_settings.environment(data.ray_token)}
        began = time.perf_counter()
        self._head = subprocess.Popen(
            [
                sys.executable, "-m", "ray.scripts.scripts", "start", "--head", "--block", "--port=0",
                "--include-dashboard=false", "--include-log-monitor=false", "--disable-usage-stats",
                "--node-ip-address=127.0.0.1", f"--temp-dir={self._folder.name}/ray", f"--num-cpus={actors}",
                "--num-gpus=0", f"--object-store-memory={100 * _MIB}",
            ],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
            env=environment,
        )  # fmt: skip
        address = Path(self._folder.name, "ray", "ray_current_cluster")
        while not address.exists() or not address.read_text().strip():
            time.sleep(0.01)
        self._driver = subprocess.Popen(
            [sys.executable, "-c", _RAY, address.read_text().strip(), str(actors)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
            env=environment,
        )  # fmt: skip
        self._read("ready")
        self.ready_s = time.perf_counter() - began

    @property
    def pss_mib(self) -> float:
        return pss_mib(self._head.pid) + pss_mib(self._driver.pid)

    def replace_actor_s(self) -> float:
        """Seconds from the kill of an actor's process until it answers again."""
        assert self._driver.stdin is not None
        self._driver.stdin.write("kill\n")
        self._driver.stdin.flush()
        return float(self._read("answers")[0])

    def close(self) -> None:
        below = psutil.Process(self._head.pid).children(recursive=True)
        assert self._driver.stdin is not None and self._driver.stdout is not None
        self._driver.stdin.close()
        self._driver.wait(TIMEOUT_S)
        self._driver.stdout.close()
        self._head.terminate()
        self._head.wait(TIMEOUT_S)
        for process in psutil.wait_procs(below, timeout=10)[1]:
            process.kill()
        self._folder.cleanup()

    def _read(self, word: str) -> list[str]:
        assert self._driver.stdout is not None
        for line in self._driver.stdout:
            first, *rest = line.split()
            if first == word:
                return rest
        raise RuntimeError("Ray's driver ended")


def run(plan: Plan, numbers: frozenset[int]) -> list[Row]:
    """Row 13."""
    repetitions = 1 if plan.quick else min(3, plan.repetitions)
    ours, peer = (defaultdict[str, list[float]](list) for _ in range(2))
    for _ in range(repetitions):
        for slots in (2,) if plan.quick else SLOTS:
            _measure_starts(slots, ours, peer)
        plan.say(", ".join(f"{name} {values[-1]:.2f} (Ray {peer[name][-1]:.2f})" for name, values in ours.items()))
    members = _measure_members(3 if plan.quick else MEMBERS, 1 if plan.quick else KILLS)
    own = [Figure(name, _unit(name), tuple(values)) for name, values in ours.items()]
    bare = [Figure(name, _unit(name), tuple(values)) for name, values in peer.items()]
    pairs = {figure.name: figure for figure in bare}
    limits = {"2 slots ready": 1.2, "16 slots ready": 1.5}
    return [
        Row(
            13, "start of the service, its slots and its members, compared with Ray's own",
            [*own, *members], repetitions,
            targets=[
                *(_at_most_times(figure, pairs[figure.name], limits[figure.name])
                  for figure in own if figure.name in limits),
                *(at_most(figure, 900) for figure in own if figure.name == "16 slots memory"),
                at_most(members[0], 5), at_most(members[1], 500),
            ],
            peer_name="bare Ray: head, driver, as many actors", peer=bare,
            ratios={figure.name: ratio(figure, pairs[figure.name]) for figure in own},
        )
    ]  # fmt: skip


def _at_most_times(podium: Figure, peer: Figure, times: float) -> Target:
    """Our median must be at most `times` the peer's."""
    found = podium.median / peer.median
    return Target(f"{podium.name} ≤ {times:g} × Ray's", f"{found:.2f} ×", found <= times)


def _unit(name: str) -> str:
    return "MiB" if name.endswith("memory") else "s"


def _measure_starts(slots: int, ours: dict[str, list[float]], peer: dict[str, list[float]]) -> None:
    with tempfile.TemporaryDirectory(prefix="podium-bench-") as folder:
        podium = Service(Path(folder) / "data", free_port(), slots)
        try:
            ours[f"{slots} slots ready"].append(podium.start())
            assert podium.process is not None
            ours[f"{slots} slots memory"].append(pss_mib(podium.process.pid))
        finally:
            podium.stop()
    bare = BareRay(slots)
    try:
        peer[f"{slots} slots ready"].append(bare.ready_s)
        peer[f"{slots} slots memory"].append(bare.pss_mib)
        if slots == min(SLOTS):
            peer["killed actor back"].append(bare.replace_actor_s())
    finally:
        bare.close()


def _measure_members(count: int, kills: int) -> list[Figure]:
    """The start of an ensemble, and the replacement of a killed member."""
    with (
        tempfile.TemporaryDirectory(prefix="podium-bench-") as folder,
        service(Path(folder) / "data", "cpu:2", own=True) as client,
    ):
        sweep = client.wait(client.submit(_SWEEP)["id"])
        trials = [trial["id"] for trial in client.trials(sweep["id"])]
        name = client.build_ensemble(
            trial_ids=trials, replicas=count // len(trials), quorum=2, calibrate=False, deadline_ms=1000
        )["name"]
        client.wait_ensemble(name)
        client.stop_ensemble(name)
        _until_members(client, name, 0)
        began = time.perf_counter()
        client.start_ensemble(name)
        _until_members(client, name, count)
        started_s = time.perf_counter() - began
        back_ms = [1e3 * _replace_member_s(client, name, count) for _ in range(kills)]
    return [
        Figure(f"{count} members ready", "s", (started_s,)),
        Figure("killed member back", "ms", tuple(back_ms)),
    ]


def _replace_member_s(client: Client, name: str, count: int) -> float:
    pid = min(_member_pids(client, name))
    os.kill(pid, signal.SIGKILL)
    began = time.perf_counter()
    _until(lambda: pid not in (pids := _member_pids(client, name)) and len(pids) == count)
    return time.perf_counter() - began


def _until_members(client: Client, name: str, count: int) -> None:
    _until(lambda: len(_member_pids(client, name)) == count)


def _until(condition: object) -> None:
    assert callable(condition)
    end = time.monotonic() + TIMEOUT_S
    while not condition():
        if time.monotonic() > end:
            raise RuntimeError(f"the members are not as expected after {TIMEOUT_S:g} s")
        time.sleep(0.01)


def _member_pids(client: Client, name: str) -> list[int]:
    """The processes of the members that are ready."""
    replicas = [replica for member in client.ensemble(name)["members"] for replica in member["replicas"]]
    return [replica["pid"] for replica in replicas if replica["state"] == "ready" and replica["pid"] is not None]


def pss_mib(root: int) -> float:
    """The memory of a process and its descendants; shared pages count once."""
    total = 0
    for process in (psutil.Process(root), *psutil.Process(root).children(recursive=True)):
        with suppress(psutil.Error):
            total += process.memory_full_info().pss
    return total / _MIB
