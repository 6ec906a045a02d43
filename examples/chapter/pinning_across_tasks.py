"""Row 8, pinning across tasks: the trials of a sweep run on the node that its file names.

Devices have names: `gpu-1` is one of the head, `b:gpu-1` one of the node b.
Run it while a service runs: `podium serve`, then `python pinning_across_tasks.py`, or with the name of a node.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

from podium import Client


def objective(trial: Any) -> float:
    """Nothing to learn: the example is about the device."""
    return float(trial.params["x"])


def document(node: str) -> dict[str, Any]:
    """A sweep whose trials run on a node."""
    return {
        "name": f"pinned-to-{node}",
        "method": "random",
        "metric": {"name": "x", "goal": "minimize"},
        "parameters": {"x": {"min": 0.0, "max": 1.0}},
        "run_cap": 4,
        "resources": {"node": node},
        "program": {"function": "pinning_across_tasks:objective", "code": str(Path(__file__).parent)},
    }


def main() -> None:
    """Pin a sweep to a node, and another one to a node that does not exist."""
    client = Client.of()
    node = sys.argv[1] if len(sys.argv) > 1 else "head"
    sweep = client.wait(client.submit(document(node))["id"])
    used = sorted({str(trial["device"]) for trial in client.trials(sweep["id"])})
    print(f"node {node}: {sweep['counts']['finished']} of 4 trials finished, on {', '.join(used)}")
    waiting = client.submit(document("nowhere"))["id"]
    while (reason := client.sweep(waiting)["wait_reason"]) in (None, "scheduler", "proposal"):
        time.sleep(0.2)
    print(f"{reason}: {client.sweep(waiting)['wait_message']}")
    client.cancel_sweep(waiting)


if __name__ == "__main__":
    main()
