"""Row 8, pinning across tasks: the trials of a sweep run on the devices that an operator leaves open.

Devices have names: `gpu-1` is one of the head, `b:gpu-1` one of the node b.
Run it while a service runs: `podium serve`, then `python pinning_across_tasks.py`.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

from podium import Client


def objective(trial: Any) -> float:
    """Nothing to learn: the example is about the device."""
    return float(trial.params["x"])


def main() -> None:
    """Drain all devices but the last one, run a sweep, and return them."""
    client = Client.of()
    names = sorted(device["id"] for device in client.devices())
    wanted, others = names[-1], names[:-1]
    document = {
        "name": "pinned",
        "method": "random",
        "metric": {"name": "x", "goal": "minimize"},
        "parameters": {"x": {"min": 0.0, "max": 1.0}},
        "run_cap": 4,
        "program": {"function": "pinning_across_tasks:objective", "code": str(Path(__file__).parent)},
    }
    try:
        for name in others:
            client.drain_device(name, "reserved by an example")
        sweep = client.wait(client.submit(document)["id"])
    finally:
        for name in others:
            client.return_device(name)
    placed = Counter(trial["device"] for trial in client.trials(sweep["id"]))
    print(f"devices: {', '.join(names)}")
    print(f"{placed[wanted]} of {sum(placed.values())} trials on {wanted}")


if __name__ == "__main__":
    main()
