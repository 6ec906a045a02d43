"""A real head and its nodes on machines of the rig: what is done to them, and whether they work again."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from tests.cluster.cluster_rig import Cluster
from tests.cluster.machines import Machine, Network
from tests.faults.node_victims import ON_HEAD, ON_NODE, MachineCensus
from tests.faults.service_under_fire import NotHealthyError

POLL_S = 0.2
STEADY_S = 2.5  # a loss is noticed in this time, unless the network is silent
HEALTHY_S = 150.0  # at most: Ray notices a silent cut after more than a minute
FIND_S = 60.0
UPLOAD_S = 5.0  # to wait for an upload that is on its way
DISK_MB = 192  # of a node
FILLER = "filler"  # on a full disk
# Kind of a fault, and its duration in seconds; 0: it is over at once.
DURATIONS = {
    "slot": 0.0, "slot relay": 0.0, "trial": 0.0, "raylet": 0.0, "agent": 0.0, "guardian": 0.0, "template": 0.0,
    "machine": 0.0,
    "cut 2 s": 2.0, "cut 4 s": 4.0, "cut 20 s": 20.0, "cut 120 s": 120.0,
    "sends nothing 4 s": 4.0, "receives nothing 4 s": 4.0, "sends nothing 20 s": 20.0, "receives nothing 20 s": 20.0,
    "raylet stopped": 5.0, "agent stopped": 8.0, "disk full": 6.0, "nodes": 0.0, "scheduler": 0.0,
}  # fmt: skip
ONE_WAY = tuple(kind for kind in DURATIONS if "nothing" in kind)
BLIPS = ("cut 2 s", "cut 4 s", "sends nothing 4 s", "receives nothing 4 s")  # they cost no attempt


@dataclass(slots=True)
class FaultedNode:
    """A machine that joins by the real command, which is started again when it ends, as by a supervisor."""

    machine: Machine
    process: subprocess.Popen[Any]
    restarts: int = 0


class FaultedCluster:
    """The head and its nodes, which keep their names across faults."""

    def __init__(self, network: Network, folder: Path, *, nodes: int, head_slots: int, node_slots: int) -> None:
        self.rig = Cluster(network, folder, head_slots=head_slots)
        self.node_slots = node_slots
        self.nodes = {name: self._join(name) for name in (f"n{number}" for number in range(1, nodes + 1))}
        self.devices = frozenset(
            [f"cpu-{position}" for position in range(head_slots)]
            + [f"{name}:cpu-{position}" for name in self.nodes for position in range(node_slots)]
        )

    @property
    def url(self) -> str:
        """Of the API, in the network of the head."""
        return str(json.loads(self.rig.data.service_file.read_text())["url"])

    @property
    def token(self) -> str:
        return self.rig.data.admin_token.read_text().strip()

    @property
    def machines(self) -> list[Machine]:
        return [self.rig.head, *(node.machine for node in self.nodes.values())]

    @property
    def restarts(self) -> int:
        """How often `podium node join` ended and was started again."""
        return sum(node.restarts for node in self.nodes.values())

    def inflict(self, kind: str, name: str, draw: random.Random) -> float:
        """Do something to a node, or to the head, for its duration; the time at which it began."""
        if kind in ON_HEAD:
            if kind == "nodes":
                self._wait_for_upload()
            return self._signal(self.rig.head, kind, signal.SIGKILL, draw)[0]
        machine = self.nodes[name].machine
        if kind == "machine":
            return self._replace(name)
        if kind in ("raylet stopped", "agent stopped"):
            at, pid = self._signal(machine, kind.split()[0], signal.SIGSTOP, draw)
            time.sleep(DURATIONS[kind])
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)
            return at
        if DURATIONS[kind] == 0.0:
            return self._signal(machine, kind, signal.SIGKILL, draw)[0]
        begin, end = self._lasting(kind, machine)
        at = time.time()
        begin()
        time.sleep(DURATIONS[kind])
        end()
        return at

    def wait_healthy(self) -> float:
        """Wait until all devices and processes are there for `STEADY_S`, in which each device ran an attempt.

        Returns the time at which this began. Raises `NotHealthyError`.
        """
        since, worked = time.time(), frozenset[str]()

        def is_steady() -> bool:
            nonlocal since, worked
            if not self._is_complete():
                since, worked = time.time(), frozenset()
                return False
            worked |= self._busy()
            return time.time() - since >= STEADY_S and self.devices <= worked

        self.until(is_steady, lambda: self._lacking(worked))
        return since

    def until(self, condition: Callable[[], bool], problem: Callable[[], str]) -> None:
        """Wait, and restart commands that end. Raises `NotHealthyError` with the problem."""
        end = time.monotonic() + HEALTHY_S
        while not condition():
            if self.rig.process.poll() is not None:
                raise NotHealthyError(f"serve ended with status {self.rig.process.returncode}")
            for node in self.nodes.values():
                if node.process.poll() is not None:
                    node.process = self.rig.start_node(node.machine, self.node_slots)
                    node.restarts += 1
            if time.monotonic() > end:
                raise NotHealthyError(f"not within {HEALTHY_S:g} s: {problem()}")
            time.sleep(POLL_S)

    def files_on(self, name: str) -> list[str]:
        """Folders of attempts on the disk of a node, and links to files that are on their way to the head."""
        machine = self.nodes[name].machine
        data = machine.folder / "data"
        seen = Path(f"/proc/{machine.init}/root")  # as this machine sees its disks
        found = [*(seen / data.relative_to("/")).glob("trials/*/*/*"), *(seen / data.relative_to("/")).glob("outbox/*")]
        return sorted(str(path.relative_to(seen / data.relative_to("/"))) for path in found)

    def _is_complete(self) -> bool:
        head = MachineCensus(self.rig.head)
        censuses = (MachineCensus(node.machine) for node in self.nodes.values())
        return (
            self.devices <= self.rig.devices("ready")
            and all(len(head.of(kind)) == 1 for kind in ON_HEAD)
            and all(each.is_complete(self.node_slots) for each in censuses)
        )

    def _lacking(self, worked: frozenset[str]) -> str:
        ready = self.rig.devices("ready")
        processes = {
            name: {kind: MachineCensus(node.machine).of(kind) for kind in (*ON_NODE, "slot")}
            for name, node in self.nodes.items()
        }
        return (
            f"not ready: {sorted(self.devices - ready)}; without a trial: {sorted(self.devices - worked)};"
            f" processes: {processes}"
        )

    def _busy(self) -> set[str]:
        return {row[0] for row in self.rig.rows("SELECT device_id FROM attempts WHERE ended_at IS NULL")}

    def _join(self, name: str) -> FaultedNode:
        return FaultedNode(*self.rig.join_with_disk(name, self.node_slots, DISK_MB))

    def _replace(self, name: str) -> float:
        """Kill a machine; a new one with empty disks joins under its name."""
        at = time.time()
        self.nodes[name].machine.kill()
        restarts = self.nodes[name].restarts
        self.nodes[name] = self._join(name)
        self.nodes[name].restarts = restarts
        return at

    def _signal(self, machine: Machine, kind: str, number: int, draw: random.Random) -> tuple[float, int]:
        """Send a signal to one process of a role, as soon as there is one. Raises `NotHealthyError`."""
        end = time.monotonic() + FIND_S
        while time.monotonic() < end:
            if pids := MachineCensus(machine).of(kind):
                pid, at = draw.choice(pids), time.time()
                with suppress(ProcessLookupError):
                    os.kill(pid, number)
                    return at, pid
            time.sleep(0.02)
        raise NotHealthyError(f"{machine.name} has no {kind} within {FIND_S:g} s")

    def _lasting(self, kind: str, machine: Machine) -> tuple[Callable[[], object], Callable[[], object]]:
        """What begins a fault that lasts, and what ends it."""
        if kind == "disk full":
            filler = str(machine.folder / "data" / FILLER)
            fill = partial(machine.run, "sh", "-c", f"cat /dev/zero > {filler} || true", stderr=subprocess.DEVNULL)
            return fill, partial(machine.run, "rm", filler)
        if kind.startswith("sends"):
            return machine.drop_outgoing, machine.plug
        if kind.startswith("receives"):
            return machine.drop_incoming, machine.plug
        return machine.unplug, machine.plug

    def _wait_for_upload(self) -> None:
        """Wait until the head has received a part of a file, but not all; for `UPLOAD_S` at most."""
        end = time.monotonic() + UPLOAD_S
        uploads = self.rig.data.uploads
        while time.monotonic() < end and not (uploads.exists() and any(uploads.iterdir())):
            time.sleep(0.01)
