"""Row 14, replication for queries per second: replicas of each network, and versions that replace each other.

Run it while a service runs: `podium serve`, then `python queries_per_second.py`.
"""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from sklearn.datasets import load_digits

from podium import Client

REQUESTS, CLIENTS = 200, 4
SWEEP = {
    "name": "served",
    "method": "random",
    "metric": {"name": "val_accuracy", "goal": "maximize"},
    "parameters": {"lr": {"min": 1e-3, "max": 0.03, "log": True}, "epochs": {"value": 5}},
    "run_cap": 2,
    "program": {"model": "mlp", "data": {"name": "digits"}},
}


def rate(client: Client, ensemble_id: int) -> float:
    """Answered requests per second, from several threads."""
    rows = np.asarray(load_digits().data[:1], dtype=np.float32)
    began = time.perf_counter()
    with ThreadPoolExecutor(CLIENTS) as threads:
        answers = list(threads.map(lambda _: client.predict(ensemble_id, rows)["outcome"], range(REQUESTS)))
    assert set(answers) <= {"ok", "degraded"}
    return REQUESTS / (time.perf_counter() - began)


def main() -> None:
    """Serve one network by one replica, then as a new version by two, and return to the first."""
    client = Client.of()
    sweep = client.wait(client.submit(SWEEP)["id"])
    ensemble_id = client.build_ensemble(sweep["id"], k=1)["id"]
    client.wait_ensemble(ensemble_id)
    print(f"version 1, 1 replica: {rate(client, ensemble_id):.0f} requests/s")
    client.add_version(ensemble_id, sweep["id"], k=1, replicas=2)
    while (found := client.ensemble(ensemble_id))["version"] == 1 or found["state"] != "ready":
        time.sleep(0.2)
    print(f"version 2, 2 replicas: {rate(client, ensemble_id):.0f} requests/s")
    client.roll_back(ensemble_id)
    while (found := client.ensemble(ensemble_id))["version"] != 1 or found["state"] != "ready":
        time.sleep(0.2)
    print(f"rolled back: version {found['version']} answers again")
    client.retire_ensemble(ensemble_id)


if __name__ == "__main__":
    main()
