"""Row 16, between-graph replication of an ensemble: a network that hangs costs one member, not the answer.

Run it on the machine of a service: `podium serve`, then `python between_graph_ensemble.py`.
"""

from __future__ import annotations

import os
import signal

import numpy as np
from sklearn.datasets import load_digits

from podium import Client

DEADLINE_MS = 1000.0
SWEEP = {
    "name": "between-graph",
    "method": "random",
    "metric": {"name": "val_accuracy", "goal": "maximize"},
    "parameters": {"lr": {"min": 1e-3, "max": 0.03, "log": True}, "epochs": {"value": 5}},
    "run_cap": 4,
    "program": {"model": "mlp", "data": {"name": "digits"}},
}


def main() -> None:
    """Stop the process of one of three networks, and ask while it is stopped."""
    client = Client.of()
    sweep = client.wait(client.submit(SWEEP)["id"])
    built = client.build_ensemble(sweep["id"], k=3, mode="between_graph", deadline_ms=DEADLINE_MS)
    ensemble = client.wait_ensemble(built["id"])
    rows = np.asarray(load_digits().data[:8], dtype=np.float32)
    before = client.predict(ensemble["id"], rows)
    print(f"all run: {before['outcome']}, {before['answered']} of {before['requested']} in {before['total_ms']:.1f} ms")
    pid = ensemble["members"][0]["replicas"][0]["pid"]
    assert pid is not None
    os.kill(pid, signal.SIGSTOP)
    try:
        hung = client.predict(ensemble["id"], rows)
    finally:
        os.kill(pid, signal.SIGCONT)
    (late,) = [member for member in hung["members"] if member["status"] != "ok"]
    in_time = "within" if hung["total_ms"] <= DEADLINE_MS * 1.5 else "after"
    print(f"one hangs: {hung['outcome']}, {hung['answered']} of {hung['requested']}; its member is {late['status']}")
    print(f"answered {in_time} the deadline of {DEADLINE_MS:.0f} ms: {hung['total_ms']:.0f} ms")
    client.retire_ensemble(ensemble["id"])


if __name__ == "__main__":
    main()
