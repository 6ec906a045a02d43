"""Growth with the number of members: a between-graph ensemble of small networks, each in a process of its own."""

from __future__ import annotations

import json
import tempfile
import time
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks import load, service_parts
from benchmarks.growth_series import Series
from benchmarks.run_settings import Plan
from podium.api.client.client import Client
from podium.api.client.service_for_command import service
from podium.sweep.runtime.layout import DataDirectory

MEMBERS = (3, 10, 30, 100)
CLIENTS = 16
SECONDS = 5.0
DEADLINE_MS = 5_000.0
EXIT_S = 60.0
_BODY = json.dumps({"inputs": [[0.5] * 64]}).encode()  # one row of the digits' width
_SWEEP: dict[str, Any] = {
    "name": "members",
    "program": {"model": "mlp", "data": {"name": "digits"}},
    "metric": {"name": "val_loss", "goal": "minimize"},
    "method": "random",
    "parameters": {"lr": {"min": 0.001, "max": 0.01}, "hidden": {"value": 128}, "epochs": {"value": 1}},
}


def run(plan: Plan) -> list[Series]:
    """One trial per member; the ensembles run one after the other."""
    counts = plan.sizes((2, 4), MEMBERS)
    found: dict[str, dict[int, float]] = defaultdict(dict)
    with tempfile.TemporaryDirectory(prefix="podium-bench-") as folder:
        data_dir = Path(folder) / "data"
        with service(data_dir, "cpu:2", own=True) as client:
            sweep = client.wait(client.submit({**_SWEEP, "run_cap": max(counts)})["id"])
            trials = [trial["id"] for trial in client.trials(sweep["id"])]
            for count in counts:
                measured = measure(client, data_dir, trials[:count], 1.0 if plan.quick else SECONDS)
                for name, value in measured.items():
                    found[name][count] = value
                plan.say(f"{count} members: " + ", ".join(f"{name} {value:.3g}" for name, value in measured.items()))
    return [
        Series(name, unit, "members", values) for key, values in found.items() for name, unit in (key.rsplit(", ", 1),)
    ]


def measure(client: Client, data_dir: Path, trials: Sequence[int], seconds: float) -> dict[str, float]:
    """The time to ready; latency with one client, processor time per request with 16, and the memory of the parts."""
    data = DataDirectory(data_dir)
    about = json.loads(data.service_file.read_text())
    began_s = time.monotonic()
    built = client.build_ensemble(
        trial_ids=list(trials), name=f"members-{len(trials)}", mode="between_graph", quorum=2, deadline_ms=DEADLINE_MS,
        calibrate=False,
    )  # fmt: skip
    try:
        client.wait_ensemble(built["id"])
        ready_s = time.monotonic() - began_s
        token = {
            "Authorization": f"Bearer {data.admin_token.read_text().strip()}",
            "Content-Type": "application/json",
        }
        content = load.request(f"/api/v1/ensembles/{built['id']}/predict", _BODY, token)
        port = int(about["gateway_url"].rsplit(":", 1)[1])
        load.ask(port, content, 1, min(1.0, seconds))
        alone = load.ask(port, content, 1, seconds)
        before = service_parts.processor_s(about["pid"])
        together = load.ask(port, content, CLIENTS, seconds)
        used_s = service_parts.used_s(before, service_parts.processor_s(about["pid"]))
        memory = service_parts.memory_mib(about["pid"])
    finally:
        client.stop_ensemble(built["id"])
    _wait_for_exits(about["pid"])
    if bad := [answer for heard in (alone, together) for answer in heard.answers if answer.status != 200]:
        raise RuntimeError(f"{len(bad)} predictions failed, the first with HTTP status {bad[0].status}")
    used = {part: 1e6 * seconds / len(together.good) for part, seconds in used_s.items()}
    return {
        "built and ready, s": ready_s,
        "p50 of one client, ms": alone.took_ms(0.5),
        f"p99 of {CLIENTS} clients, ms": together.took_ms(0.99),
        "processor time a request, gateway, us": used["gateway"],
        "processor time a request, members, us": used["members"],
        "memory, gateway, MiB": memory["gateway"],
        "memory, ensemble host, MiB": memory["ensemble host"],
        "memory, members, MiB": memory["members"],
    }


def _wait_for_exits(root: int) -> None:
    """Wait until no member runs: the memory of the next ensemble must not include this one's."""
    end = time.monotonic() + EXIT_S
    while service_parts.count(root, "members"):
        if time.monotonic() > end:
            raise RuntimeError(f"members still run {EXIT_S:g} s after the stop of their ensemble")
        time.sleep(0.1)
