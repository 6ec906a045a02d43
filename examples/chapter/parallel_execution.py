"""Row 4, parallel execution: the thread pools of a trial have the size that the sweep file says.

Run it while a service runs: `podium serve`, then `python parallel_execution.py`.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import torch

from podium import Client


def objective(trial: Any) -> float:
    """The time of some matrix products, in milliseconds."""
    trial.set_user_attr("intra_op", torch.get_num_threads())
    trial.set_user_attr("inter_op", torch.get_num_interop_threads())
    matrix = torch.randn(512, 512)
    began = time.perf_counter()
    for _ in range(20):
        matrix = torch.tanh(matrix @ matrix)
    return 1000 * (time.perf_counter() - began)


def main() -> None:
    """The same trial with one thread and with two."""
    client = Client.of()
    for threads in (1, 2):
        document = {
            "name": f"{threads}-threads",
            "method": "grid",
            "metric": {"name": "milliseconds", "goal": "minimize"},
            "parameters": {"again": {"values": [0]}},
            "resources": {"threads": threads},
            "program": {"function": "parallel_execution:objective", "code": str(Path(__file__).parent)},
        }
        sweep = client.wait(client.submit(document)["id"])
        (trial,) = client.trials(sweep["id"])
        pools = trial["user_attrs"]
        print(
            f"threads: {threads}: {pools['intra_op']} within an operation, {pools['inter_op']} between operations, "
            f"{trial['value']:.0f} ms"
        )


if __name__ == "__main__":
    main()
