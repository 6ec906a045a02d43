"""Row 3, dynamic and soft placement: the scheduler chooses the device, and says why a trial cannot be placed.

Run it while a service without GPUs runs: `podium serve --devices cpu:2`, then `python dynamic_placement.py`.
"""

from __future__ import annotations

import time
from collections import Counter
from pathlib import Path
from typing import Any

from podium import Client


def objective(trial: Any) -> float:
    """Some work, so that all devices are needed."""
    time.sleep(0.3)
    return float(trial.params["x"])


def document(kind: str) -> dict[str, Any]:
    """A sweep for devices of one kind, or for any: auto."""
    return {
        "name": f"on-{kind}",
        "method": "random",
        "metric": {"name": "x", "goal": "minimize"},
        "parameters": {"x": {"min": 0.0, "max": 1.0}},
        "run_cap": 8,
        "resources": {"device": kind},
        "program": {"function": "dynamic_placement:objective", "code": str(Path(__file__).parent)},
    }


def main() -> None:
    """Run on whatever is free; then ask for a GPU where there may be none."""
    client = Client.of()
    sweep_id = client.wait(client.submit(document("auto"))["id"])["id"]
    placed = Counter(trial["device"] for trial in client.trials(sweep_id))
    print("auto:", ", ".join(f"{count} trials on {device}" for device, count in sorted(placed.items())))
    wanted = client.submit(document("gpu"))
    while (sweep := client.sweep(wanted["id"]))["wait_reason"] in ("scheduler", "proposal"):
        time.sleep(0.2)
    print(f"gpu: {sweep['state']}, {sweep['wait_message'] or 'running'}")
    client.cancel_sweep(sweep["id"])
    print(f"devices used: {len(placed)} of {len(client.devices())}")


if __name__ == "__main__":
    main()
