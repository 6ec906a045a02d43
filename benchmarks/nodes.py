"""Row 18: trials on the nodes of a cluster, on machines that are namespaces of this one (`tests/cluster/machines.py`).

A head with one slot, and nodes that `podium node join` adds, with data directories of their own. Measured:

- from the start of that command until the first trial of the node has reported, which no other node delays by trials of
  its own: they share two cores;
- trials of 1 s on all nodes, 62 for each slot as in row 4: the share of the time, from the start of the first to the
  end of the last, in which they hold the devices, and in which they sleep, the share of the ideal;
- the time between two trivial trials on a node and on the head;
- for trials that leave a model and predictions of 200 kB each, from the end of the process until the next trial is
  placed on its device, and from the release of the device until the trial is recorded, as a reader of the database sees
  it;
- from a cut of the network until the trial runs again on another machine;
- a request to a member on a node and on the head (`far_member.py`).

The trials of 1 s are compared with Ray Tune on as many machines and CPUs, started by `ray start`, with fewer trials,
since it needs minutes for them. Bare actors on the same machines show the cost of one process per trial alone: each
call forks a process that sleeps. This is not a strict bound: Ray runs its agents there, which Podium does not start,
and a Ray worker is larger than a fork server.

Not measured: a real network, GPUs. Needs root.
"""

from __future__ import annotations

import itertools
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks import far_member
from benchmarks.results import Figure, Row, Target, at_least, at_most, more
from benchmarks.run_settings import Plan
from podium.sweep.ray_cluster import ray_connection_settings
from tests.cluster.cluster_rig import Cluster
from tests.cluster.machines import Machine, Network, unavailable_reason
from tests.running_service import function_sweep, wait_for

PROGRAMS = """
import time

def trivial(trial):
    return trial.params["x"]

def second(trial):
    trial.report(trial.params["x"], 0)
    time.sleep(1.0)
    return trial.params["x"]

def saves(trial):
    import torch
    time.sleep(0.2)
    trial.save_model(torch.nn.Linear(250, 199))
    rows = 5_000
    trial.save_predictions({"validation": torch.full((rows, 10), 0.1).numpy()},
                           targets={"validation": torch.zeros(rows, dtype=torch.int64).numpy()})
    return trial.params["x"]

def long(trial):
    import torch
    model = torch.nn.Linear(2, 2)
    found = trial.resume()
    for epoch in range(0 if found is None else found.epoch + 1, 120):
        time.sleep(0.25)
        trial.report(trial.params["x"], epoch)
        trial.save_checkpoint(model, epoch=epoch)
    return trial.params["x"]

def reads(trial):
    first = float(trial.data.inputs[0].sum())
    trial.report(first, 0)
    return first
"""
_WAIT_FOR_NODES = """
def wait_for_nodes(slots):
    end = time.monotonic() + 60.0
    while ray.cluster_resources().get("CPU", 0) < slots:
        if time.monotonic() > end:
            sys.exit(f"only {ray.cluster_resources()} of {slots} CPUs have joined")
        time.sleep(0.2)
"""
_TUNE = f"""
import json, sys, tempfile, time
import ray
from ray import tune
{_WAIT_FOR_NODES}
def second(config):
    began = time.time()
    time.sleep(1.0)
    tune.report(dict(began=began, ended=time.time()))

if __name__ == "__main__":
    ray.init(address=sys.argv[1], log_to_driver=False, logging_level=40)
    wait_for_nodes(int(sys.argv[3]))
    with tempfile.TemporaryDirectory() as folder:
        tuner = tune.Tuner(
            second, param_space=dict(x=tune.uniform(0.0, 1.0)),
            tune_config=tune.TuneConfig(num_samples=int(sys.argv[2])),
            run_config=tune.RunConfig(storage_path=folder, verbose=0),
        )
        metrics = [result.metrics for result in tuner.fit()]
        print(json.dumps(max(each["ended"] for each in metrics) - min(each["began"] for each in metrics)))
"""
_BARE = f"""
import json, os, sys, time
import ray
{_WAIT_FOR_NODES}
class Forks:
    def second(self):
        began = time.time()
        process = os.fork()
        if process == 0:
            time.sleep(1.0)
            os._exit(0)
        os.waitpid(process, 0)
        return began, time.time()

ray.init(address=sys.argv[1], log_to_driver=False, logging_level=40)
trials, slots = int(sys.argv[2]), int(sys.argv[3])
wait_for_nodes(slots)
actors = [ray.remote(Forks).options(num_cpus=1).remote() for _ in range(slots)]
ray.get([actor.__ray_ready__.remote() for actor in actors])
time.sleep(5.0)
running = dict(zip([actor.second.remote() for actor in actors], actors))
left, times = trials - slots, []
while running:
    (done, *_), _ = ray.wait(list(running))
    actor = running.pop(done)
    if left > 0:
        running[actor.second.remote()] = actor
        left -= 1
    times.append(ray.get(done))
print(json.dumps(max(ended for _, ended in times) - min(began for began, _ in times)))
"""
_WAIT_S = 300.0
_POLL_S = 0.002  # between two reads of the database for trials that have been recorded
_NODE_S = 8.0  # between the starts of two nodes of a bare Ray: nodes that start together exceed Ray's time limit
_TUNE_S = 1800.0  # Ray Tune starts an actor for each trial, which takes a core for a second


def run(plan: Plan, numbers: frozenset[int]) -> list[Row]:
    """Row 18; none without root."""
    if reason := unavailable_reason():
        plan.say(f"row 18 is skipped: {reason}")
        return []
    nodes, slots = (1, 2) if plan.quick else (4, 8)
    all_slots = nodes * slots + 1  # the head has one as well
    trials, peer_trials = all_slots * (2 if plan.quick else 62), all_slots * (2 if plan.quick else 10)
    plan.say("a far member")
    near_member, more_far = far_member.measured(plan)
    with tempfile.TemporaryDirectory(prefix="r-") as folder:
        podium = _podium(Path(folder), nodes, slots, trials, plan)
    plan.say("bare actors and Ray Tune")
    bare, tune = (_on_ray(source, nodes, slots, count) for source, count in ((_BARE, trials), (_TUNE, peer_trials)))
    joined, share, busy, far, near, placed, recorded, resumed = podium
    peer = Figure(share.name, "%", (tune,))
    overhead = Figure("a trivial trial on a node, more than on the head", "ms", (far - near,))
    targets: list[Target] = [
        at_most(joined, 6.0),
        at_least(busy, 97.0),
        at_least(share, 97.0),
        at_most(overhead, 5.0),
        at_most(recorded, 150.0),
        at_most(resumed, 10.0),
        at_most(more_far, 0.15),
    ]
    return [
        Row(
            number=18,
            work=f"{nodes} nodes with {slots} slots: join, {trials} trials of 1 s, trivial trials, a cut, a far member",
            podium=[
                joined,
                busy,
                share,
                overhead,
                Figure("a trivial trial on the head", "ms", (near,)),
                placed,
                recorded,
                resumed,
                near_member,
                more_far,
            ],
            repetitions=1,
            targets=targets,
            peer_name="Ray Tune on the same machines",
            peer=[peer],
            ratios={share.name: more(share, peer)},
            notes=[
                "machines are namespaces that share the cores of this one",
                f"Ray Tune ran {peer_trials} trials of 1 s; its share is not corrected for the shorter run",
                f"bare actors that fork a process for each trial: {bare:.1f} % of the ideal",
                "times of a node are shifted by the measured offset of its clock, which is inexact on a busy machine",
            ],
        )
    ]


def _podium(
    folder: Path, nodes: int, slots: int, trials: int, plan: Plan
) -> tuple[Figure, Figure, Figure, float, float, Figure, Figure, Figure]:
    code = folder / "code"
    code.mkdir()
    (code / "work.py").write_text(PROGRAMS)
    with Network(folder / "m") as network:
        cluster = Cluster(network, folder, head_slots=1)
        plan.say("nodes join")
        joined, machines = [], []
        for name in (f"n{number}" for number in range(nodes)):
            document = function_sweep(code, "work:second", run_cap=10_000, resources={"node": name})
            waiting = cluster.submit(document, folder)
            cluster.token_of(name)  # created before: the administrator's command is not part of a join
            began = time.time()
            machines.append(cluster.join_by_command(name, slots=slots))
            joined.append(_first_report_on(cluster, waiting, machines[-1]) - began)
            cluster.command("sweep", "cancel", str(waiting), "--json")
            wait_for("it has ended", lambda each=waiting: cluster.state(each) == "cancelled", _WAIT_S)  # type: ignore[misc]
        plan.say("trials of 1 s")
        share, busy = _shares(cluster, _finished(cluster, folder, "work:second", trials), nodes * slots + 1)
        plan.say("trivial trials")
        trivial = 20 if plan.quick else 200
        near, far = (_between_starts_ms(cluster, folder, device, trivial) for device in ("cpu-0", "n0:cpu-0"))
        plan.say("trials with files")
        placed, recorded = _with_files_ms(cluster, folder, "n0:cpu-0", trivial)
        plan.say("a cut")
        resumed = reported_elsewhere(cluster, folder, machines[0], machines[0].unplug)
        cluster.close()
    return (
        Figure("a node joins: its first trial has reported", "s", tuple(joined)),
        Figure("1 s trials, share of the ideal", "%", (share,)),
        Figure("1 s trials, devices busy", "%", (busy,)),
        far,
        near,
        Figure("with 400 kB of model and predictions: the next trial is placed", "ms", placed),
        Figure("with 400 kB of model and predictions: device free until recorded", "ms", recorded),
        Figure("a cut: its trials have reported elsewhere", "s", resumed),
    )


def _first_report_on(cluster: Cluster, sweep_id: int, machine: Machine) -> float:
    """The time at which user code of a trial on this machine has reported for the first time."""

    def found() -> list[float]:
        here = {each.trial for each in cluster.attempts(sweep_id) if each.device.startswith(f"{machine.name}:")}
        return [at for trial, at in reports_at(cluster, sweep_id, 1).items() if trial in here]

    return float(min(wait_for("a trial on the node has reported", found, _WAIT_S)))


def reports_at(cluster: Cluster, sweep_id: int, attempt: int) -> dict[int, float]:
    """When user code of attempts with this number has reported for the first time, by trial."""
    query = (
        "SELECT t.number, min(m.at) FROM metrics m JOIN trials t ON t.id = m.trial_id"
        " WHERE t.sweep_id = :sweep AND m.attempt = :attempt GROUP BY t.number"
    )
    return dict(map(tuple, cluster.rows(query, sweep=sweep_id, attempt=attempt)))


def _finished(cluster: Cluster, folder: Path, function: str, trials: int) -> int:
    sweep_id = cluster.submit(function_sweep(folder / "code", function, run_cap=trials), folder)
    wait_for("the sweep has finished", lambda: cluster.state(sweep_id) == "finished", _WAIT_S)
    return sweep_id


def _shares(cluster: Cluster, sweep_id: int, slots: int) -> tuple[float, float]:
    """In percent of the time of the slots: the seconds that trials sleep, and those in which they hold a device."""
    times = [(each.started_at, each.ended_at) for each in cluster.attempts(sweep_id) if each.ended_at is not None]
    slots_s = slots * (max(ended for _, ended in times) - min(started for started, _ in times))
    return 100.0 * len(times) / slots_s, 100.0 * sum(ended - started for started, ended in times) / slots_s


def _between_starts_ms(cluster: Cluster, folder: Path, device: str, trials: int) -> float:
    """The median time between the starts of two trivial trials on a device, while the others are drained."""
    others = sorted(cluster.devices("ready") - {device})
    cluster.command("devices", "drain", *others, "--json")
    attempts = cluster.attempts(_finished(cluster, folder, "work:trivial", trials))
    cluster.command("devices", "return", *others, "--json")
    starts = sorted(each.started_at for each in attempts)
    return 1000.0 * statistics.median(after - before for before, after in itertools.pairwise(starts))


def _with_files_ms(
    cluster: Cluster, folder: Path, device: str, trials: int
) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """For trials on one device, each in milliseconds: from the end of its process until the next trial is placed, and
    from the release of the device until the trial is recorded.
    """
    others = sorted(cluster.devices("ready") - {device})
    cluster.command("devices", "drain", *others, "--json")
    sweep_id = cluster.submit(function_sweep(folder / "code", "work:saves", run_cap=trials), folder)
    recorded_at: dict[int, float] = {}
    end_s = time.monotonic() + _WAIT_S
    while len(recorded_at) < trials and time.monotonic() < end_s:
        rows = cluster.rows("SELECT number FROM trials WHERE sweep_id = :sweep AND state = 'finished'", sweep=sweep_id)
        for (number,) in rows:
            recorded_at.setdefault(number, time.time())
        time.sleep(_POLL_S)
    cluster.command("devices", "return", *others, "--json")
    query = (
        "SELECT t.number, e.at FROM events e JOIN trials t ON t.id = e.trial_id"
        " WHERE e.sweep_id = :sweep AND e.kind = 'trial.sending'"
    )
    released = [(number, at) for number, at in cluster.rows(query, sweep=sweep_id)]
    attempts = sorted(cluster.attempts(sweep_id), key=lambda each: each.started_at)
    placed = tuple(
        1000.0 * (after.started_at - before.ended_at)
        for before, after in itertools.pairwise(attempts)
        if before.ended_at is not None
    )
    return placed, tuple(1000.0 * (recorded_at[number] - at) for number, at in released)


def reported_elsewhere(
    cluster: Cluster, folder: Path, machine: Machine, fault: Callable[[], None]
) -> tuple[float, ...]:
    """Seconds from a fault until the trials of a node have reported from other machines, which are idle."""
    others = sorted(name for name in cluster.devices("ready") if not name.startswith(f"{machine.name}:"))
    count = len(cluster.devices("ready")) - len(others)
    cluster.command("devices", "drain", *others, "--json")
    sweep_id = cluster.submit(function_sweep(folder / "code", "work:long", run_cap=count), folder)
    wait_for("they run", lambda: len(cluster.attempts(sweep_id)) == count)
    cluster.command("devices", "return", *others, "--json")
    time.sleep(3.0)
    began = time.time()
    fault()

    def again() -> dict[int, float]:
        found = reports_at(cluster, sweep_id, 2)
        return found if len(found) >= min(count, len(others)) else {}

    reported: dict[int, float] = wait_for("they run elsewhere", again, _WAIT_S)
    return tuple(at - began for at in reported.values())


def _on_ray(source: str, nodes: int, slots: int, trials: int) -> float:
    """A program's share of the ideal, in percent, on machines of its own."""
    with tempfile.TemporaryDirectory(prefix="r-") as folder:
        took_s = _seconds_on_ray(Path(folder), source, nodes, slots, trials)
    return 100.0 * trials / ((nodes * slots + 1) * took_s)


def _seconds_on_ray(folder: Path, source: str, nodes: int, slots: int, trials: int) -> float:
    token = folder / "token"
    token.write_text("0" * 64)
    environment = ray_connection_settings.environment(token, cluster=True)
    program = folder / "program.py"
    program.write_text(source)
    common = ["--disable-usage-stats", "--block", f"--object-store-memory={100 << 20}"]
    with Network(folder / "m") as network, (folder / "ray.log").open("wb") as log:
        head = network.add("head")
        ray = [sys.executable, "-m", "ray.scripts.scripts", "start"]
        head.start(
            [*ray, "--head", "--port=6379", f"--node-ip-address={head.address}", "--num-cpus=1",
             "--include-dashboard=false", f"--temp-dir={head.folder}/r", *common],
            environment, stdout=log, stderr=log,
        )  # fmt: skip
        time.sleep(10.0)
        for number in range(nodes):
            machine = network.add(f"n{number}")
            machine.start(
                [*ray, f"--address={head.address}:6379", f"--node-ip-address={machine.address}",
                 f"--num-cpus={slots}", *common],
                environment, stdout=log, stderr=log,
            )  # fmt: skip
            time.sleep(_NODE_S)
        printed = head.start(
            [sys.executable, str(program), f"{head.address}:6379", str(trials), str(nodes * slots + 1)],
            {**environment, "RAY_AIR_NEW_OUTPUT": "0"}, stdout=-1, stderr=log, text=True,
        ).communicate(timeout=_TUNE_S)[0]  # fmt: skip
    return float(json.loads(printed.strip().splitlines()[-1]))
