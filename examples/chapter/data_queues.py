"""Row 11, queues: batches of a split are read on demand, shuffled, padded to the longest row, and end with the epoch.

Run it while a service runs: `podium serve`, then `python data_queues.py`.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from podium import Client

SEQUENCES, LONGEST = 1000, 50


def objective(trial: Any) -> float:
    """Read two epochs; the sums tell whether each row came once."""
    first: list[float] = []
    for epoch in range(2):
        rows, widths, total = 0, [], 0.0
        for inputs, _ in trial.batches("train", 20, shuffle=True, pad=0.0):
            if not widths:
                first.append(float(inputs[0].sum()))
            rows += len(inputs)
            widths.append(inputs.shape[1])
            total += float(inputs.double().sum())
        numbers = {"rows": rows, "batches": len(widths), "shortest": min(widths), "longest": max(widths), "sum": total}
        trial.log(numbers, epoch)
    trial.set_user_attr("shuffled", first[0] != first[1])
    return float(rows)


def write_sequences(file: Path) -> None:
    """Sequences of different lengths, filled with zeros."""
    generator = np.random.default_rng(0)
    lengths = generator.geometric(0.1, SEQUENCES).clip(1, LONGEST)
    values = generator.integers(1, 100, (SEQUENCES, LONGEST)) * (np.arange(LONGEST) < lengths[:, None])
    np.savez(file, x=values.astype(np.float32), y=lengths % 2)


def main() -> None:
    """Print what arrived in each epoch."""
    client = Client.of()
    with tempfile.TemporaryDirectory() as folder:
        write_sequences(Path(folder) / "sequences.npz")
        document = {
            "name": "queues",
            "method": "grid",
            "metric": {"name": "read", "goal": "maximize"},
            "parameters": {"again": {"values": [0]}},
            "program": {
                "function": "data_queues:objective",
                "code": str(Path(__file__).parent),
                "data": {"file": str(Path(folder) / "sequences.npz"), "target": "y"},
            },
        }
        sweep = client.wait(client.submit(document)["id"])
    (trial,) = client.trials(sweep["id"])
    curves = client.metrics(trial["id"])
    for epoch in range(2):
        read = {name: int(points[epoch][1]) for name, points in curves.items() if len(points) == 2}
        print("epoch {}: {rows} rows in {batches} batches, sum {sum},".format(epoch, **read), end=" ")
        print("padded to {shortest} to {longest} values".format(**read))
    print(f"order of the two epochs: {'different' if trial['user_attrs']['shuffled'] else 'equal'}")


if __name__ == "__main__":
    main()
