"""Row 2, simple placement and logged placements: every attempt records where it ran, and checks its device.

Run it while a service runs: `podium serve`, then `python logging_placements.py`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from podium import Client


def objective(trial: Any) -> float:
    """Report the torch device that this trial was pinned to."""
    trial.set_user_attr("device", str(trial.device))
    return float(trial.params["x"])


def main() -> None:
    """Print the placement of each attempt."""
    client = Client.of()
    document = {
        "name": "placements",
        "method": "random",
        "metric": {"name": "x", "goal": "minimize"},
        "parameters": {"x": {"min": 0.0, "max": 1.0}},
        "run_cap": 6,
        "program": {"function": "logging_placements:objective", "code": str(Path(__file__).parent)},
    }
    sweep = client.wait(client.submit(document)["id"])
    wrong = 0
    for trial in client.trials(sweep["id"]):
        for attempt in client.trial(trial["id"])["attempts"]:
            found, used = attempt["torch_device"], trial["user_attrs"]["device"]
            wrong += found != used
            print(f"trial {trial['number']}: {attempt['device']}, {found}, process {attempt['pid']}")
    print(f"{sweep['counts']['finished']} placements logged, {wrong} differ from the device that was used")


if __name__ == "__main__":
    main()
