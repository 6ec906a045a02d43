"""Row 15, in-graph replication of an ensemble: one program holds all networks, and waits for each of them.

Run it while a service runs: `podium serve`, then `python in_graph_ensemble.py`.
"""

from __future__ import annotations

import numpy as np
from sklearn.datasets import load_digits

from podium import Client

SWEEP = {
    "name": "in-graph",
    "method": "random",
    "metric": {"name": "val_accuracy", "goal": "maximize"},
    "parameters": {"lr": {"min": 1e-3, "max": 0.03, "log": True}, "epochs": {"value": 5}},
    "run_cap": 4,
    "program": {"model": "mlp", "data": {"name": "digits"}},
}


def main() -> None:
    """Build an ensemble of three, and compare its answer with the mean of its networks."""
    client = Client.of()
    sweep = client.wait(client.submit(SWEEP)["id"])
    ensemble = client.build_ensemble(sweep["id"], k=3, mode="in_graph")
    client.wait_ensemble(ensemble["id"])
    rows = np.asarray(load_digits().data[:64], dtype=np.float32)
    answer = client.predict(ensemble["id"], rows, whole=True)
    members = np.array([outputs for outputs in answer["member_outputs"] if outputs is not None])
    difference = float(np.abs(members.mean(axis=0) - np.array(answer["outputs"])).max())
    processes = {each["pid"] for member in client.ensemble(ensemble["id"])["members"] for each in member["replicas"]}
    print(f"{answer['answered']} of {answer['requested']} networks in {len(processes)} process: {answer['outcome']}")
    print(f"the answer differs from the mean of the networks by {difference:.0e}")
    client.retire_ensemble(ensemble["id"])


if __name__ == "__main__":
    main()
