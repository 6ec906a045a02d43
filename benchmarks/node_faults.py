"""Row 20: faults of a node, and a large data set for it, on machines that are namespaces of this one.

A head and a node with eight slots. Measured: how many of 50 attempts are lost whose node is cut off for 4 s each; from
the kill of the node's raylet until its trials have started elsewhere; from a new start of a killed head until all
trials on a node with sixteen slots have reported again, in the same attempts; and from the submission of a sweep over
1 GB of data, which the head has already read, until it runs on all slots of the first node, with the bytes that the
node received.

Needs root, and about 5 GB of disk.
"""

from __future__ import annotations

import os
import signal
import tempfile
import time
from pathlib import Path

import numpy as np

from benchmarks.nodes import PROGRAMS, reported_elsewhere, reports_at
from benchmarks.results import Figure, Row, at_most
from benchmarks.run_settings import Plan
from podium.sweep.runtime.process_title import process_name
from tests.cluster.cluster_rig import Attempt, Cluster
from tests.cluster.machines import Machine, Network, unavailable_reason
from tests.running_service import function_sweep, wait_for

CUT_S = 4.0
BETWEEN_CUTS_S = 8.0
WAIT_S = 300.0
FEATURES = 1024


def run(plan: Plan, numbers: frozenset[int]) -> list[Row]:
    """Row 20; none without root."""
    if reason := unavailable_reason():
        plan.say(f"row 20 is skipped: {reason}")
        return []
    slots, adopting, cut, megabytes = (2, 3, 4, 20) if plan.quick else (8, 16, 50, 1000)
    with tempfile.TemporaryDirectory(prefix="r-") as made, Network(Path(made) / "m") as network:
        folder = Path(made)
        (folder / "code").mkdir()
        (folder / "code" / "work.py").write_text(PROGRAMS)
        cluster = Cluster(network, folder, head_slots=1)
        node = cluster.join_by_command("n0", slots=slots)
        cluster.command("devices", "drain", "cpu-0", "--json")
        plan.say(f"{megabytes} MB of data")
        started, received = _data(cluster, node, folder, slots, megabytes)
        plan.say("cuts")
        lost = _lost_by_cuts(cluster, node, folder, slots, cut)
        plan.say("a killed raylet")
        cluster.command("devices", "return", "cpu-0", "--json")
        resumed = _after_raylet(cluster, node, folder)
        plan.say("a killed head")
        adopted = _adopted(cluster, node, folder, adopting)
        cluster.close()
    targets = [
        at_most(lost, 0.0),
        at_most(adopted, 15.0),
        at_most(resumed, 5.0),
        at_most(started, 15.0),
        at_most(received, 1.1 * megabytes),
    ]
    faults = f"{cut} attempts cut off for {CUT_S:g} s, a killed head, a killed raylet"
    work = f"a node with {slots} slots: {faults}, {megabytes} MB of data"
    return [Row(20, work, [lost, adopted, resumed, started, received], repetitions=1, targets=targets)]


def _data(cluster: Cluster, node: Machine, folder: Path, slots: int, megabytes: int) -> tuple[Figure, Figure]:
    rows = megabytes * 1_000_000 // (4 * FEATURES)
    inputs = np.random.default_rng(0).random((rows, FEATURES), np.float32)
    np.savez(folder / "data.npz", x=inputs, y=np.arange(rows) % 10)
    data = {"file": str(folder / "data.npz"), "target": "y", "task": "classification"}
    program = {"function": "work:reads", "code": str(folder / "code"), "data": data}
    document = function_sweep(folder / "code", "work:reads", run_cap=1, program=program)
    _on_head(cluster, folder, document)
    before = _received_bytes(node)
    began = time.time()
    sweep_id = cluster.submit({**document, "run_cap": slots}, folder)
    wait_for("it has finished", lambda: cluster.state(sweep_id) == "finished", WAIT_S)
    attempts = cluster.attempts(sweep_id)
    assert {each.device.partition(":")[0] for each in attempts} == {node.name} and len(attempts) == slots
    took = max(reports_at(cluster, sweep_id, 1).values()) - began
    megabytes_received = (_received_bytes(node) - before) / 1e6
    return (
        Figure(f"{megabytes} MB of data: trials on all slots of the node have read it", "s", (took,)),
        Figure("the node has received", "MB", (megabytes_received,)),
    )


def _on_head(cluster: Cluster, folder: Path, document: dict[str, object]) -> None:
    """Run a sweep on the head, which reads the data."""
    others = sorted(cluster.devices("ready"))
    cluster.command("devices", "return", "cpu-0", "--json")
    cluster.command("devices", "drain", *others, "--json")
    sweep_id = cluster.submit(document, folder)
    wait_for("the head has the data", lambda: cluster.state(sweep_id) == "finished", WAIT_S)
    cluster.command("devices", "drain", "cpu-0", "--json")
    cluster.command("devices", "return", *others, "--json")


def _received_bytes(machine: Machine) -> int:
    lines = machine.run("cat", "/proc/net/dev").splitlines()
    return sum(int(line.split(":")[1].split()[0]) for line in lines[2:] if not line.strip().startswith("lo:"))


def _lost_by_cuts(cluster: Cluster, node: Machine, folder: Path, slots: int, wanted: int) -> Figure:
    """Cut the network again and again, while all slots of the node are busy."""
    sweep_id = cluster.submit(function_sweep(folder / "code", "work:long", run_cap=10_000), folder)
    cut: set[tuple[int, int]] = set()
    while len(cut) < wanted:
        wait_for("all slots work", lambda: len(_running(cluster, sweep_id)) == slots, WAIT_S)
        time.sleep(BETWEEN_CUTS_S)
        cut |= {(each.trial, each.number) for each in _running(cluster, sweep_id)}
        node.unplug()
        time.sleep(CUT_S)
        node.plug()
    time.sleep(BETWEEN_CUTS_S)
    lost = [each for each in cluster.attempts(sweep_id) if each.ended_at is not None and each.state != "finished"]
    cluster.command("sweep", "cancel", str(sweep_id), "--json")
    wait_for("it has ended", lambda: cluster.state(sweep_id) == "cancelled", WAIT_S)
    return Figure(f"{len(cut)} attempts, cut off for {CUT_S:g} s: lost", "attempts", (float(len(lost)),))


def _running(cluster: Cluster, sweep_id: int) -> list[Attempt]:
    return [each for each in cluster.attempts(sweep_id) if each.ended_at is None]


def _adopted(cluster: Cluster, node: Machine, folder: Path, slots: int) -> Figure:
    """Kill `podium serve` and start it again, while all slots of a new node are busy, which replaces `node`."""
    cluster.take_out(node)
    names = {f"{cluster.join_by_command('n1', slots=slots).name}:cpu-{position}" for position in range(slots)}
    cluster.command("devices", "drain", "cpu-0", "--json")
    wait_for("only the new node takes trials", lambda: cluster.devices("ready") == names, WAIT_S)
    sweep_id = cluster.submit(function_sweep(folder / "code", "work:long", run_cap=slots), folder)
    wait_for("all have reported", lambda: len(_steps(cluster, sweep_id)) == slots, WAIT_S)
    before = [(each.trial, each.number, each.device) for each in cluster.attempts(sweep_id)]
    cluster.signal(signal.SIGKILL)
    told = _steps(cluster, sweep_id)
    began = time.time()
    cluster.start()
    wait_for(
        "all report again",
        lambda: all(step > told[trial] for trial, step in _steps(cluster, sweep_id).items()),
        WAIT_S,
    )
    took = time.time() - began
    assert [(each.trial, each.number, each.device) for each in cluster.attempts(sweep_id)] == before
    wait_for("it has finished", lambda: cluster.state(sweep_id) == "finished", WAIT_S)
    return Figure(f"the head is killed and started again: its {slots} trials on the node have reported", "s", (took,))


def _steps(cluster: Cluster, sweep_id: int) -> dict[int, int]:
    """The last step that each trial has reported."""
    query = (
        "SELECT t.number, max(m.step) FROM metrics m JOIN trials t ON t.id = m.trial_id WHERE t.sweep_id = :sweep"
        " GROUP BY t.number"
    )
    return dict(map(tuple, cluster.rows(query, sweep=sweep_id)))


def _after_raylet(cluster: Cluster, node: Machine, folder: Path) -> Figure:
    def kill() -> None:
        (raylet,) = [pid for pid in node.processes() if process_name(pid) == "raylet"]
        os.kill(raylet, signal.SIGKILL)

    return Figure(
        "its raylet is killed: a trial has reported elsewhere", "s", reported_elsewhere(cluster, folder, node, kill)
    )
