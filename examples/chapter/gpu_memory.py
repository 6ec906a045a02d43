"""Row 1, managing GPU memory: a trial sees one device, and one that exceeds its memory limit hurts no other.

Run it while a service runs: `podium serve`, then `python gpu_memory.py`.
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

from podium import Client

LIMIT_MB = 768


def objective(trial: Any) -> float:
    """Hold some memory for a while; on a GPU, torch would see the device of this trial only."""
    trial.set_user_attr("visible", os.environ.get("CUDA_VISIBLE_DEVICES", ""))
    held = bytearray(trial.params["megabytes"] << 20)
    held[:: 1 << 12] = b"x" * len(held[:: 1 << 12])  # write to each page, so that it is resident
    time.sleep(1.0)
    return float(len(held))


def main() -> None:
    """Run four trials, one of which needs more than its limit."""
    client = Client.of()
    document = {
        "name": "gpu-memory",
        "method": "grid",
        "metric": {"name": "bytes", "goal": "minimize"},
        "parameters": {"megabytes": {"values": [16, 32, 2 * LIMIT_MB, 64]}},
        "limits": {"memory_mb": LIMIT_MB},
        "retries": {"memory": 0},
        "program": {"function": "gpu_memory:objective", "code": str(Path(__file__).parent)},
    }
    sweep = client.wait(client.submit(document)["id"])
    for trial in client.trials(sweep["id"]):
        ended = trial["cause"] or trial["state"]
        print(f"trial {trial['number']} on {trial['device']}: {trial['params']['megabytes']} MB, {ended}")
    counts = sweep["counts"]
    print(f"{counts.get('finished', 0)} trials finished, {counts.get('failed', 0)} exceeded {LIMIT_MB} MB")


if __name__ == "__main__":
    main()
