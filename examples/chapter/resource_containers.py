"""Row 10, resource containers: the state of an attempt has a namespace of its own, and is gone when it ends.

Run it while a service runs: `podium serve`, then `python resource_containers.py`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

from podium import Client

counter = torch.zeros(())  # shared by name in the chapter; here each attempt has its own


def objective(trial: Any) -> float:
    """Count in a global variable and in a file, and leave both behind."""
    counter.add_(1)
    file = trial.dir / "counter"
    seen = int(file.read_text()) if file.exists() else 0
    file.write_text(str(seen + 1))
    trial.set_user_attr("file", seen + 1)
    trial.set_user_attr("folder", str(trial.dir))
    return float(counter)


def main() -> None:
    """Run trials one after the other in one folder of code, and look for what they left."""
    client = Client.of()
    document = {
        "name": "containers",
        "method": "random",
        "metric": {"name": "counter", "goal": "minimize"},
        "parameters": {"x": {"min": 0.0, "max": 1.0}},
        "run_cap": 4,
        "resources": {"max_concurrent": 1},
        "program": {"function": "resource_containers:objective", "code": str(Path(__file__).parent)},
    }
    sweep = client.wait(client.submit(document)["id"])
    trials = list(client.trials(sweep["id"]))
    left = sum(Path(trial["user_attrs"]["folder"]).exists() for trial in trials)
    print("counter in memory:", *(f"{trial['value']:.0f}" for trial in trials))
    print("counter in a file:", *(trial["user_attrs"]["file"] for trial in trials))
    print(f"{len({trial['user_attrs']['folder'] for trial in trials})} folders, {left} left")


if __name__ == "__main__":
    main()
