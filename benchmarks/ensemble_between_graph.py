"""Row 7: an ensemble of three networks, each in its own process, over HTTP, compared with Ray Serve.

Measured: requests with one row of the digits, JSON in and out, from clients with persistent connections: the latency of
one client in a closed loop, and the requests per second of 16 such clients.

Podium: the gateway's own port, a bearer token, validated rows, and the status of each member in every response. Ray
Serve: `benchmarks.ray_serve_baseline`, with `gather` and a timeout; once with default settings, and once with the
settings that its documentation recommends for throughput (gRPC between replicas, HAProxy in front), called "tuned"
here. Both sides: the same three model files and the same code that runs them, an MLP 64-128-10 each with one thread,
one process per member, plus one process for Podium and two for Ray Serve (its proxy and the ingress). The service and
Ray are started again for each repetition, one after the other and never at the same time. The clients are one process
on the same cores; the notes list how many cores each kind of process used with 16 clients.

For comparison: the same three networks as one program (in-graph), and between-graph over the Open Inference Protocol
with raw tensors.

Not measured: large inputs, several machines, GPUs, more than one replica, TLS, batching on Ray Serve (`serve.batch`
waits 10 ms for further requests by default).
"""

from __future__ import annotations

import contextlib
import tempfile
from collections import defaultdict
from collections.abc import Callable, Mapping
from pathlib import Path

from benchmarks.ensemble_servers import FAST, Served, podium, ray_serve, train
from benchmarks.results import Figure, Row, at_most, more, ratio, times_more
from benchmarks.run_settings import Plan

CLIENTS = 16
DEADLINE_MS = 1000.0
ALONE, TOGETHER = "p50, 1 client", "requests/s, 16 clients"
UNITS = {
    ALONE: "ms",
    "p95, 1 client": "ms",
    "p99, 1 client": "ms",
    TOGETHER: "1/s",
    "p99, 16 clients": "ms",
}
JSON, TUNED = "", ", tuned"
Open = Callable[[], contextlib.AbstractContextManager[Served]]
Samples = Mapping[str, list[float]]


def run(plan: Plan, numbers: frozenset[int]) -> list[Row]:
    """Row 7."""
    ours: Samples = defaultdict(list)
    theirs: Samples = defaultdict(list)
    notes: list[str] = []
    with tempfile.TemporaryDirectory(prefix="podium-bench-") as folder:
        data_dir = Path(folder) / "data"
        models = train(data_dir, DEADLINE_MS)
        sides: list[tuple[str, str, Open, Samples]] = [
            ("Podium", JSON, lambda: podium(data_dir, "between_graph"), ours),
            ("Ray Serve", JSON, lambda: ray_serve(models, "gather", DEADLINE_MS, {}), theirs),
            ("Podium", ", raw tensors", lambda: podium(data_dir, "between_graph", binary=True), ours),
            ("Ray Serve", TUNED, lambda: ray_serve(models, "gather", DEADLINE_MS, FAST), theirs),
            ("Podium", ", in-graph", lambda: podium(data_dir, "in_graph"), ours),
        ]
        for _ in range(plan.repetitions):
            for name, kind, side, samples in sides[:2] if plan.quick else sides:
                with side() as served:
                    notes.append(name + kind + ": " + measure(served, kind, samples, plan))
                plan.say(notes[-1])
    return [_row(_figures(ours), _figures(theirs), plan, notes)]


def measure(served: Served, kind: str, samples: Samples, plan: Plan) -> str:
    """One repetition of one side; returns the result as text."""
    seconds = 1.0 if plan.quick else 6.0
    (one, _), (many, cores) = served.ask(1, seconds), served.ask(CLIENTS, seconds)
    for heard in (one, many):
        if len(heard.good) < len(heard.answers):
            raise RuntimeError(f"{len(heard.answers) - len(heard.good)} of {len(heard.answers)} requests failed")
    found = (one.took_ms(0.5), one.took_ms(0.95), one.took_ms(0.99), many.per_second, many.took_ms(0.99))
    for name, value in zip(UNITS, found, strict=True):
        samples[name + kind].append(value)
    return f"{found[0]:.2f} ms with 1 client, {found[3]:.0f} requests/s with {CLIENTS}; then in cores: {cores}"


def _figures(samples: Samples) -> dict[str, Figure]:
    units = {name: unit for name in samples for plain, unit in UNITS.items() if name.startswith(plain)}
    return {name: Figure(name, units[name], tuple(values)) for name, values in samples.items()}


def _row(ours: dict[str, Figure], theirs: dict[str, Figure], plan: Plan, notes: list[str]) -> Row:
    ratios = {}
    for kind in (JSON, TUNED):
        if ALONE + kind in theirs:
            ratios[ALONE + kind] = ratio(ours[ALONE], theirs[ALONE + kind])
            ratios[TOGETHER + kind] = more(ours[TOGETHER], theirs[TOGETHER + kind])
    return Row(
        7, "between-graph ensemble of three networks, one row a request, JSON over HTTP", list(ours.values()),
        plan.repetitions, targets=(times_more(ours[TOGETHER], theirs[TOGETHER], 20), at_most(ours[ALONE], 2.5)),
        peer_name="Ray Serve, gather with a timeout", peer=list(theirs.values()), ratios=ratios, notes=notes,
    )  # fmt: skip
