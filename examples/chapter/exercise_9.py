"""Row 24, exercise 9: the best three networks as one program. Is the ensemble better than each of them?

Run it while a service runs: `podium serve`, then `python exercise_9.py`.
"""

from __future__ import annotations

from podium import Client

SWEEP = {
    "name": "exercise-9",
    "method": "random",
    "seed": 9,
    "metric": {"name": "val_accuracy", "goal": "maximize"},
    "parameters": {
        "lr": {"min": 1e-3, "max": 0.03, "log": True},
        "hidden": {"values": [32, 64, 128]},
        "epochs": {"value": 6},
    },
    "run_cap": 6,
    "program": {"model": "mlp", "data": {"name": "digits"}},
    "validation": {"split": [0.5, 0.15, 0.05, 0.3]},  # many test rows, for a narrow interval
}


def main() -> None:
    """Evaluate on the test split, which no choice has used."""
    client = Client.of()
    sweep = client.wait(client.submit(SWEEP)["id"])
    ensemble = client.build_ensemble(sweep["id"], k=3, mode="in_graph")
    client.wait_ensemble(ensemble["id"])
    result = client.evaluate(ensemble["id"])["result"]
    assert result is not None
    for position, scores in enumerate(result["members"]):
        print(f"network {position + 1}: accuracy {scores['accuracy']:.4f}, log loss {scores['log_loss']:.4f}")
    together = result["ensemble"]
    print(f"ensemble:  accuracy {together['accuracy']:.4f}, log loss {together['log_loss']:.4f}")
    low, high = result["difference_ci95"]
    better = "yes" if low > 0 else "no" if high < 0 else "not decided by these rows"
    print(f"ensemble minus the best network on {result['rows']} rows: {result['difference']:+.4f}")
    print(f"95 % interval {low:+.4f} to {high:+.4f}; better: {better}")
    client.retire_ensemble(ensemble["id"])


if __name__ == "__main__":
    main()
