"""Two services in one existing Ray cluster: each runs trials on the nodes of it, and neither sees the other's."""

from __future__ import annotations

import contextlib
import itertools
import os
import signal
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from podium.sweep.ray_cluster.existing_cluster_timings import ExistingClusterTimings
from podium.sweep.ray_cluster.node_services_actor import SUPERVISOR_PREFIX, node_of_supervisor
from podium.sweep.ray_cluster.ray_slot_actor import ACTOR_PREFIX
from podium.sweep.ray_cluster.ray_slots import namespace_of
from podium.sweep.runtime.existing_cluster_mode import ExistingCluster
from podium.sweep.runtime.process_title import process_name
from tests.cluster.cluster_rig import Service
from tests.cluster.machines import Machine, Network
from tests.cluster.plain_ray import PlainRay
from tests.running_service import function_sweep, wait_for

pytestmark = pytest.mark.slow

IDLE_RELEASE_S = 4.0
SCHEDULER = "podium-schedule"  # the kernel keeps 15 characters
CPUS = 4
LONG_S = 180.0
PROGRAM = """
import os, pathlib, time
import torch

def train(trial):
    print("works", flush=True)
    print(*[name for name in os.environ if name.startswith("RAY_") or name == "PYTHONBREAKPOINT"], flush=True)
    for epoch in range(4):
        time.sleep(0.4)
        trial.report(1.0 / (epoch + 1), epoch)
    note = pathlib.Path(trial.dir, "note.txt")
    note.write_text("kept")
    trial.save_artifact(note)
    return 1.0
"""
KILL = """
for each in ray.util.list_named_actors(all_namespaces=True):
    if each["namespace"] == sys.argv[1]:
        ray.kill(ray.get_actor(each["name"], namespace=each["namespace"]))
print("{}")
"""
NAMED_ACTORS = "print(json.dumps(ray.util.list_named_actors(all_namespaces=True)))"
numbers = itertools.count(1)


@pytest.fixture(scope="module")
def folder(can_make_machines: None) -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="j-") as made:
        code = Path(made) / "code"
        code.mkdir()
        (code / "program.py").write_text(PROGRAM)
        yield Path(made)


@pytest.fixture(scope="module")
def network(folder: Path) -> Iterator[Network]:
    with Network(folder / "m") as made:
        yield made


@pytest.fixture(scope="module")
def ray(network: Network, folder: Path) -> PlainRay:
    return PlainRay(network.add("rayhead"), folder)


@pytest.fixture(scope="module")
def node(ray: PlainRay, network: Network) -> Machine:
    """A node with `CPUS` CPUs, on which nobody has started Podium."""
    machine = network.add("worker")
    ray.join(machine, CPUS)
    return machine


@pytest.fixture(scope="module")
def service(ray: PlainRay, node: Machine, network: Network, folder: Path) -> Iterator[Service]:
    started = _serve(network, folder / "one", ray)
    yield started
    started.close()


def test_sweep_runs_on_a_node_without_podium_and_its_slots_are_released(
    service: Service, ray: PlainRay, node: Machine, folder: Path
) -> None:
    assert service.devices("ready") == set()
    sweep_id = service.submit(function_sweep(folder / "code", "program:train", run_cap=4), folder)
    service.wait_until("the sweep has finished", lambda: service.state(sweep_id) == "finished", LONG_S)
    attempts = service.attempts(sweep_id)
    assert {each.device for each in attempts} == {"worker:cpu-0", "worker:cpu-1"}
    for each in attempts:
        directory = service.folder_of(sweep_id, each)
        log = (directory / "log").read_text()
        assert "works" in log and "PYTHONBREAKPOINT" not in log and "RAY_" not in log
        assert (directory / "artifacts" / "note.txt").read_text() == "kept"
    assert service.rows("SELECT name FROM nodes WHERE member_port > 0") == [("worker",)], "members may be placed there"
    service.wait_until("the slots are released", lambda: service.devices("ready") == set())
    service.wait_until("the node is idle", lambda: _actors(ray) == set())
    wait_for("nothing of Podium runs there", lambda: not _podium_processes(node))


def _wait_until_finished(service: Service, sweep_id: int) -> None:
    service.wait_until("the sweep has finished", lambda: service.state(sweep_id) == "finished", LONG_S)


def test_slots_that_were_released_are_opened_again(service: Service, folder: Path) -> None:
    for run_cap in (4, 1):
        service.wait_until("no slot is open", lambda: service.devices("ready") == set(), LONG_S)
        sweep_id = service.submit(function_sweep(folder / "code", "program:train", run_cap=run_cap), folder)
        _wait_until_finished(service, sweep_id)


def test_two_services_do_not_see_each_other(
    service: Service, ray: PlainRay, node: Machine, network: Network, folder: Path
) -> None:
    other = _serve(network, folder / "two", ray)
    sweeps = {}
    for each, run_cap in ((other, 50), (service, 6)):  # the first still runs when the second has slots
        sweeps[each] = each.submit(function_sweep(folder / "code", "program:train", run_cap=run_cap), folder)
        _wait_for_slots(each)
    slots = Counter(namespace for namespace, name in _actors(ray) if name.startswith(ACTOR_PREFIX))
    assert slots == {_namespace(each): 2 for each in sweeps}
    other.kill()
    service.wait_until("the sweep has finished", lambda: service.state(sweeps[service]) == "finished", LONG_S)
    assert [each.state for each in service.attempts(sweeps[service])] == ["finished"] * 6
    (left,) = {namespace for namespace, _ in _actors(ray)} - {_namespace(service)}
    ray.run(KILL, left)
    wait_for("the processes of the killed service have ended", lambda: not _podium_processes(node))


def test_stopped_service_leaves_nothing_on_the_cluster(
    ray: PlainRay, node: Machine, network: Network, folder: Path
) -> None:
    third = _serve(network, folder / "three", ray)
    sweep_id = third.submit(function_sweep(folder / "code", "program:train", run_cap=50), folder)
    third.wait_until("a trial has finished", lambda: "finished" in {a.state for a in third.attempts(sweep_id)}, LONG_S)
    third.close()
    wait_for("its actors have ended", lambda: _actors(ray) == set())
    wait_for("its processes have ended", lambda: not _podium_processes(node))


def test_restarted_scheduler_continues_its_trials(service: Service, ray: PlainRay, folder: Path) -> None:
    sweep_id = service.submit(function_sweep(folder / "code", "program:train", run_cap=4), folder)
    service.wait_until("both slots work", lambda: len(service.running(sweep_id)) == 2, LONG_S)
    (scheduler,) = [pid for pid in service.machine.processes() if process_name(pid) == SCHEDULER]
    os.kill(scheduler, signal.SIGKILL)
    service.wait_until("the sweep has finished", lambda: service.state(sweep_id) == "finished", LONG_S)
    assert [each.state for each in service.attempts(sweep_id)] == ["finished"] * 4
    service.wait_until("the slots are released", lambda: _actors(ray) == set())


def test_node_with_another_version_is_not_used(ray: PlainRay, node: Machine, network: Network, folder: Path) -> None:
    about = folder / "packages" / "podium-9.0.dist-info" / "METADATA"
    about.parent.mkdir(parents=True)
    about.write_text("Metadata-Version: 2.1\nName: podium\nVersion: 9.0\n")
    old = network.add("old")
    ray.join(old, CPUS, about.parent.parent)
    wide = _serve(network, folder / "four", ray, max_slots=CPUS + 1)
    sweep_id = wide.submit(function_sweep(folder / "code", "program:train", run_cap=2 * CPUS + 1), folder)
    log = wide.data.logs / "scheduler.log"
    refusal = "node old is not used: this node has podium 9.0"
    wide.wait_until("the node is refused", lambda: refusal in log.read_text(), LONG_S)
    wide.wait_until("the sweep has finished", lambda: wide.state(sweep_id) == "finished", LONG_S)
    assert {each.device.split(":")[0] for each in wide.attempts(sweep_id)} == {"worker"}
    assert log.read_text().count(refusal) == 1
    (refused,) = [each for each in wide.command("node", "list", "--json") if each["name"] == "old"]
    assert (refused["state"], refused["devices"]) == ("refused", [])
    assert refused["refused"].startswith("this node has podium 9.0")
    old.kill()
    gone = lambda: "old" not in {each["name"] for each in wide.command("node", "list", "--json")}  # noqa: E731
    wide.wait_until("it is no longer listed", gone, LONG_S)
    wide.close()


def test_node_that_is_drained_gets_no_more_trials(
    service: Service, ray: PlainRay, node: Machine, network: Network, folder: Path
) -> None:
    sweep_id = service.submit(function_sweep(folder / "code", "program:train", run_cap=16), folder)
    service.wait_until("both slots work", lambda: len(service.running(sweep_id)) == 2, LONG_S)
    ray.join(network.add("spare"), CPUS)
    (node_id,) = {found[0] for _, name in _actors(ray) if (found := node_of_supervisor(name)) is not None}
    ray.command(
        "drain-node", "--address", ray.address, "--node-id", node_id, "--reason", "DRAIN_NODE_REASON_PREEMPTION",
        "--reason-message", "test", "--deadline-remaining-seconds", "600",
    )  # fmt: skip
    service.wait_until("the sweep has finished", lambda: service.state(sweep_id) == "finished", LONG_S)
    attempts = service.attempts(sweep_id)
    assert [each.state for each in attempts] == ["finished"] * 16, "no trial was interrupted"
    assert {each.device.split(":")[0] for each in attempts} == {"worker", "spare"}
    last = max(each.started_at for each in attempts if each.device.startswith("worker"))
    assert all(each.started_at > last for each in attempts if each.device.startswith("spare"))


def test_removed_node_is_not_used_until_it_is_returned(
    ray: PlainRay, node: Machine, network: Network, folder: Path
) -> None:
    service = _serve(network, folder / "five", ray)
    sweep_id = service.submit(function_sweep(folder / "code", "program:train", run_cap=2 * CPUS), folder)
    _wait_for_slots(service)
    names = {name for (name,) in service.rows("SELECT name FROM nodes")}
    for name in names:
        service.say("node", "remove", name)
    service.wait_until("its slots are closed", lambda: service.devices("ready") == service.devices("busy") == set())
    time.sleep(ExistingClusterTimings().avoid_s)
    started = {each.device for each in service.attempts(sweep_id)}
    assert not service.running(sweep_id) and {device.split(":")[0] for device in started} == names
    for name in names:
        service.say("node", "return", name)
    service.wait_until("the sweep has finished", lambda: service.state(sweep_id) == "finished", LONG_S)
    service.close()


def _serve(network: Network, folder: Path, ray: PlainRay, max_slots: int = 2) -> Service:
    folder.mkdir()
    joined = ExistingCluster(ray.address, str(ray.token_file), max_slots=max_slots, idle_release_s=IDLE_RELEASE_S)
    service = Service(network.add(f"serve{next(numbers)}"), folder, existing_cluster=joined)
    service.wait_until("the service is ready", lambda: "is ready" in service.log, LONG_S)
    return service


def _wait_for_slots(service: Service) -> None:
    service.wait_until("both slots work", lambda: len(service.devices("ready")) == 2, LONG_S)


def _namespace(service: Service) -> str:
    return namespace_of(str(service.rows("SELECT name FROM service")[0][0]))


def _actors(ray: PlainRay) -> set[tuple[str, str]]:
    """Namespace and name of the slots and node supervisors of all services."""
    found = ray.run(NAMED_ACTORS)
    assert isinstance(found, list)
    prefixes = (ACTOR_PREFIX, SUPERVISOR_PREFIX)
    return {(each["namespace"], each["name"]) for each in found if each["name"].startswith(prefixes)}


def _podium_processes(machine: Machine) -> list[str]:
    """The names of Podium's processes on a machine, without those that have ended: its init reaps none."""
    found = []
    for pid in machine.processes():
        with contextlib.suppress(FileNotFoundError):
            if " Z " not in Path(f"/proc/{pid}/stat").read_text() and process_name(pid).startswith("podium"):
                found.append(process_name(pid))
    return found
