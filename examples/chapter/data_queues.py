"""Row 11, queues: batches of a split are read on demand, shuffled, and end with the epoch.

Run it while a service runs: `podium serve`, then `python data_queues.py`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from podium import Client

BATCH_SIZE = 100


def objective(trial: Any) -> float:
    """Read two epochs; the sums tell whether each row came once."""
    first: list[float] = []
    for epoch in range(2):
        sizes, total, begin = [], 0.0, 0.0
        for inputs, _ in trial.batches("train", BATCH_SIZE, shuffle=True):
            begin = begin or float(inputs[0].sum())
            sizes.append(len(inputs))
            total += float(inputs.double().sum())
        first.append(begin)
        trial.log({"rows": sum(sizes), "batches": len(sizes), "last": sizes[-1], "total": total}, epoch)
    trial.set_user_attr("shuffled", first[0] != first[1])
    return float(sum(sizes))


def main() -> None:
    """Print what arrived in each epoch."""
    client = Client.of()
    document = {
        "name": "queues",
        "method": "grid",
        "metric": {"name": "rows", "goal": "maximize"},
        "parameters": {"again": {"values": [0]}},
        "program": {
            "function": "data_queues:objective",
            "code": str(Path(__file__).parent),
            "data": {"name": "digits"},
        },
    }
    sweep = client.wait(client.submit(document)["id"])
    (trial,) = client.trials(sweep["id"])
    curves = client.metrics(trial["id"])
    for epoch, rows in curves["rows"]:
        batches, last, total = (curves[name][int(epoch)][1] for name in ("batches", "last", "total"))
        print(f"epoch {epoch:.0f}: {rows:.0f} rows in {batches:.0f} batches, the last of {last:.0f}, sum {total:.0f}")
    order = "different" if trial["user_attrs"]["shuffled"] else "equal"
    same = "equal" if curves["total"][0][1] == curves["total"][1][1] else "different"
    print(f"order of the two epochs: {order}; rows: {same}")


if __name__ == "__main__":
    main()
