"""Row 12, loading data: a file is read once per machine, and every trial maps the same copy.

Run it while a service runs: `podium serve`, then `python loading_data.py`.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from podium import Client

ROWS, COLUMNS = 20_000, 40


def objective(trial: Any) -> float:
    """The milliseconds until this trial has its data."""
    began = time.perf_counter()
    data = trial.data
    waited_ms = 1000 * (time.perf_counter() - began)
    trial.set_user_attr("mapped", isinstance(data.inputs, np.memmap))
    trial.set_user_attr("rows", len(data.inputs))
    return waited_ms


def write_table(path: Path) -> None:
    """A CSV file of random numbers with a target."""
    values = np.random.default_rng(0).standard_normal((ROWS, COLUMNS + 1))
    header = ",".join([*(f"x{number}" for number in range(COLUMNS)), "y"])
    np.savetxt(path, values, delimiter=",", header=header, comments="", fmt="%.6f")


def main() -> None:
    """Run four trials, one after the other, on a table that the service has not seen before."""
    client = Client.of()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "table.csv"
        write_table(file)
        document = {
            "name": "loading",
            "method": "random",
            "metric": {"name": "milliseconds", "goal": "minimize"},
            "parameters": {"x": {"min": 0.0, "max": 1.0}},
            "run_cap": 4,
            "resources": {"max_concurrent": 1},
            "program": {
                "function": "loading_data:objective",
                "code": str(Path(__file__).parent),
                "data": {"file": str(file), "target": "y", "task": "regression"},
            },
        }
        sweep = client.wait(client.submit(document)["id"])
    trials = list(client.trials(sweep["id"]))
    first, *others = (trial["value"] or 0.0 for trial in trials)
    mapped = sum(trial["user_attrs"]["mapped"] for trial in trials)
    print(f"{trials[0]['user_attrs']['rows']} rows, mapped by {mapped} of {len(trials)} trials")
    print(f"first trial {first:.0f} ms, the others {max(others):.1f} ms or less")


if __name__ == "__main__":
    main()
