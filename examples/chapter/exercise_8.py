"""Row 23, exercise 8: train several networks in parallel with cross-validation, and keep the best three.

Run it while a service runs: `podium serve`, then `python exercise_8.py`.
"""

from __future__ import annotations

import time

from podium import Client

SWEEP = {
    "name": "exercise-8",
    "method": "random",
    "seed": 8,
    "metric": {"name": "val_accuracy", "goal": "maximize"},
    "parameters": {
        "lr": {"min": 1e-3, "max": 0.03, "log": True},
        "hidden": {"values": [32, 64, 128]},
        "epochs": {"value": 4},
    },
    "run_cap": 6,
    "program": {"model": "mlp", "data": {"name": "digits"}},
    "validation": {"folds": 3},
    "keep": {"models": 3},
    "ensemble": {"k": 3},
}


def main() -> None:
    """Print the mean and the deviation over the folds of the three best, and the ensemble that they form."""
    client = Client.of()
    sweep = client.wait(client.submit(SWEEP)["id"])
    print(f"{sweep['counts']['finished']} networks, each trained on 3 folds, on {len(client.devices())} devices")
    for best in client.best(sweep["id"], 3):
        deviation = client.metrics(best["trial_id"])["val_accuracy_std"][-1][1]
        hidden, lr = best["params"]["hidden"], best["params"]["lr"]
        print(f"trial {best['number']}: accuracy {best['value']:.3f} ± {deviation:.3f}, {hidden} hidden, lr {lr:.4f}")
    while (sweep := client.sweep(sweep["id"]))["ensemble_id"] is None and sweep["ensemble_error"] is None:
        time.sleep(0.2)
    assert sweep["ensemble_id"] is not None, sweep["ensemble_error"]
    ensemble = client.wait_ensemble(sweep["ensemble_id"])
    print(f"kept: trials {', '.join(str(member['trial_number']) for member in ensemble['members'])}")
    client.retire_ensemble(ensemble["id"])


if __name__ == "__main__":
    main()
