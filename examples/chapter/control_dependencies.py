"""Row 5, control dependencies: a sweep that waits for another one, and takes the best learning rate from it.

Run it while a service runs: `podium serve`, then `python control_dependencies.py`.
"""

from __future__ import annotations

from typing import Any

from podium import Client

PROGRAM = {"model": "mlp", "data": {"name": "digits"}}


def document(name: str, parameters: dict[str, Any], **more: Any) -> dict[str, Any]:
    """A short sweep on the digits."""
    return {
        "name": name,
        "method": "random",
        "metric": {"name": "val_accuracy", "goal": "maximize"},
        "parameters": {**parameters, "epochs": {"value": 3}},
        "run_cap": 3,
        "program": PROGRAM,
        **more,
    }


def main() -> None:
    """Submit both sweeps at once; the second starts when the first has finished."""
    client = Client.of()
    rates = {"lr": {"min": 1e-4, "max": 0.1, "log": True}}
    coarse = client.submit(document("coarse", rates))
    widths = {**rates, "hidden": {"values": [16, 32, 64, 128]}}
    fix_from = {"sweep": coarse["id"], "parameters": ["lr"]}
    fine = client.submit(document("fine", widths, fix_from=fix_from))
    print(f"sweep {fine['id']} is {fine['state']} after sweep {fine['predecessors'][0]['id']}")
    fine, coarse = client.wait(fine["id"]), client.sweep(coarse["id"])
    assert fine["fixed"] is not None and fine["best"] is not None and coarse["best"] is not None
    assert fine["started_at"] is not None and coarse["ended_at"] is not None
    order = "after" if fine["started_at"] >= coarse["ended_at"] else "BEFORE"
    print(f"it started {order} the first had ended, with lr {fine['fixed']['params']['lr']:.4g} for all its trials")
    print(f"best accuracy: {coarse['best']['value']:.3f}, then {fine['best']['value']:.3f}")


if __name__ == "__main__":
    main()
