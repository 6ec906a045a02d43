"""Row 7: ensembles of three networks over HTTP, compared with Ray Serve, LitServe and BentoML.

Measured: requests with one row of the digits, JSON in and out, from clients with persistent connections in a closed
loop: the latency of one client; and the requests per second of 16, 64 and 256 clients. With it, the processor time per
request of all processes of each server, which depends less on what else the machine does.

Podium: the gateway's own port. Between-graph is one process per network; in-graph is one process with all networks.
Between-graph also over the Open Inference Protocol with raw tensors.

Ray Serve (`benchmarks.ray_serve_baseline`): composition with `gather` and a timeout, one process per network, its proxy
and the ingress; once with default settings, and once with the settings that its documentation recommends for throughput
(gRPC between replicas, HAProxy in front), called "tuned" here. LitServe (`benchmarks.litserve_baseline`) and BentoML
(`benchmarks.bentoml_baseline`): all networks in one worker with batches of up to 16.

The work is not equal, to the advantage of the peers: in Podium each request carries a bearer token, its rows are
validated, and the response has the mean, the labels, their entropy and mutual information, and a report on each member.
The peers have no token and no report: Ray Serve answers with the mean, the labels and a count, LitServe and BentoML
with the mean alone. In LitServe and BentoML a network that hangs or crashes stops all three; in-graph ensembles share
this, and between-graph ensembles do not.

All sides run the same three model files by the same code, an MLP 64-128-10 each with one thread, and have the same
deadline. Each server is started again for each repetition, one after the other and never at the same time. The clients
are one process on the same cores; the notes list how many cores each kind of process used, and a measurement whose
clients used most of one core is refused, since it would show their limit.

Not measured: large inputs, several machines, GPUs, more than one replica or worker, TLS, batching on Ray Serve
(`serve.batch` waits 10 ms for further requests by default).
"""

from __future__ import annotations

import contextlib
import tempfile
from collections import defaultdict
from collections.abc import Callable, Mapping
from pathlib import Path

from benchmarks import ensemble_servers
from benchmarks.ensemble_servers import FAST, Answers, Served, podium, ray_serve, train
from benchmarks.results import Figure, Row, Target, at_most, more, ratio, times_more
from benchmarks.run_settings import Plan

MANY, QUICK = (16, 64, 256), (16,)
DEADLINE_MS = 10_000.0
LOAD_CORES = 0.9  # beyond this, the clients may be what limits the rate
BETWEEN, RAW, IN_GRAPH = "between-graph", "between-graph, raw tensors", "in-graph"
COMPOSED, TUNED, LIT, BENTO = "Ray Serve", "Ray Serve, tuned", "LitServe", "BentoML"
OURS, PEERS = (BETWEEN, RAW, IN_GRAPH), (COMPOSED, TUNED, LIT, BENTO)
NOT_QUICK = frozenset({RAW, TUNED})  # what a quick run leaves out
UNITS = {
    "p50": "ms", "p95": "ms", "p99": "ms", "requests/s": "1/s", "answered": "%", "processor time a request": "us",
}  # fmt: skip
ALONE, TOGETHER = "p50, 1 client", "requests/s, 16 clients"
COMPARED = (ALONE, *(f"requests/s, {clients} clients" for clients in MANY), "processor time a request, 16 clients")
PAIRS = (*((BETWEEN, peer) for peer in PEERS), (IN_GRAPH, LIT), (IN_GRAPH, BENTO))
AIMS = ((BETWEEN, COMPOSED, 40.0), (BETWEEN, TUNED, 10.0), (IN_GRAPH, LIT, 4.0), (BETWEEN, LIT, 2.5))
ALONE_MS = 2.5
SURE = 16  # with at most 16 clients, each request must be answered; with more, slow servers miss the deadline
Open = Callable[[], contextlib.AbstractContextManager[Served]]
Figures = Mapping[tuple[str, str], Figure]  # by name, and by the side


def run(plan: Plan, numbers: frozenset[int]) -> list[Row]:
    """Row 7."""
    samples: dict[tuple[str, str], list[float]] = defaultdict(list)
    notes: list[str] = []
    with tempfile.TemporaryDirectory(prefix="podium-bench-") as folder:
        data_dir = Path(folder) / "data"
        opened = sides(data_dir, train(data_dir, DEADLINE_MS))
        for _ in range(plan.repetitions):
            for side in (side for side in opened if not plan.quick or side not in NOT_QUICK):
                with opened[side]() as served:
                    for name, value in measure(served, side, plan, notes).items():
                        samples[name, side].append(value)
    return [row(as_figures(samples), plan, notes, ensemble_servers.peer_versions())]


def sides(data_dir: Path, models: list[str]) -> dict[str, Open]:
    """What is measured, in alternation of Podium and its peers."""
    return {
        BETWEEN: lambda: podium(data_dir, "between_graph"),
        COMPOSED: lambda: ray_serve(models, "gather", DEADLINE_MS, {}),
        RAW: lambda: podium(data_dir, "between_graph", binary=True),
        TUNED: lambda: ray_serve(models, "gather", DEADLINE_MS, FAST),
        IN_GRAPH: lambda: podium(data_dir, "in_graph"),
        LIT: lambda: ensemble_servers.litserve(models),
        BENTO: lambda: ensemble_servers.bentoml(models),
    }


def measure(served: Served, side: str, plan: Plan, notes: list[str]) -> dict[str, float]:
    """One repetition of one side. Raises `RuntimeError` for a failed request, or if the clients were too slow."""
    found: dict[str, float] = {}
    for clients in (1, *(QUICK if plan.quick else MANY)):
        answers = served.ask(clients, 1.0 if plan.quick else 4.0)
        check(answers, side, clients)
        found |= quantities(answers, clients)
        notes.append(f"{side}, {clients}: {answers.heard.per_second:.0f} requests/s; in cores: {answers.cores()}")
        plan.say(notes[-1])
    return found


def check(answers: Answers, side: str, clients: int) -> None:
    """Raise `RuntimeError` for failed requests of few clients, or if the clients had no time to spare."""
    failed = len(answers.heard.answers) - len(answers.heard.good)
    if (failed and clients <= SURE) or not answers.heard.good:
        raise RuntimeError(f"{side}: {failed} of {len(answers.heard.answers)} requests of {clients} clients failed")
    if answers.load_cores > LOAD_CORES:
        raise RuntimeError(
            f"{side}: the load of {clients} clients used {answers.load_cores:.2f} of one core, so that it may be what "
            "limits the rate; measure with several load processes"
        )


def quantities(answers: Answers, clients: int) -> dict[str, float]:
    """What is recorded of one load; the units are in `UNITS`."""
    heard = answers.heard
    found = {"p99": heard.took_ms(0.99), "processor time a request": answers.processor_us}
    if clients == 1:
        found = {"p50": heard.took_ms(0.5), "p95": heard.took_ms(0.95), **found}
    else:
        answered = 100 * len(heard.good) / len(heard.answers)
        found = {"requests/s": heard.per_second, "answered": answered, **found}
    return {f"{name}, {clients} {'client' if clients == 1 else 'clients'}": value for name, value in found.items()}


def as_figures(samples: Mapping[tuple[str, str], list[float]]) -> dict[tuple[str, str], Figure]:
    """The samples as figures."""
    return {
        (name, side): Figure(f"{name}, {side}", UNITS[name.split(", ")[0]], tuple(values))
        for (name, side), values in samples.items()
    }


def row(found: Figures, plan: Plan, notes: list[str], versions: str) -> Row:
    """The figures with their ratios and targets."""
    return Row(
        7, "ensemble of three networks, one row a request, JSON over HTTP", _of_sides(found, OURS), plan.repetitions,
        targets=targets(found), peer_name=versions, peer=_of_sides(found, PEERS), ratios=_ratios(found), notes=notes,
    )  # fmt: skip


def targets(found: Figures) -> list[Target]:
    """Those of the sides that were measured."""
    rates = [
        times_more(found[TOGETHER, ours], found[TOGETHER, peer], times, peer)
        for ours, peer, times in AIMS
        if (TOGETHER, peer) in found
    ]
    return [*rates, at_most(found[ALONE, BETWEEN], ALONE_MS)]


def _of_sides(found: Figures, wanted: tuple[str, ...]) -> list[Figure]:
    return [figure for wanted_side in wanted for (_, side), figure in found.items() if side == wanted_side]


def _ratios(found: Figures) -> dict[str, float]:
    return {
        f"{name}, {ours} to {peer}": (more if name.startswith("requests/s") else ratio)(
            found[name, ours], found[name, peer]
        )
        for ours, peer in PAIRS
        for name in COMPARED
        if (name, ours) in found and (name, peer) in found
    }
