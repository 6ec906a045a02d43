"""Row 13, one network per device: two networks on two devices take little longer than one network on one.

Run it while a service with two devices runs: `podium serve --devices cpu:2`, then `python one_network_per_device.py`.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from podium import Client


def document(networks: int) -> dict[str, Any]:
    """A sweep of networks that all cost the same."""
    return {
        "name": f"{networks}-networks",
        "method": "random",
        "metric": {"name": "val_accuracy", "goal": "maximize"},
        "parameters": {"lr": {"min": 1e-3, "max": 0.03, "log": True}, "epochs": {"value": 20}},
        "run_cap": networks,
        "resources": {"threads": 1},
        "program": {"model": "mlp", "data": {"name": "digits"}},
    }


def seconds(client: Client, networks: int) -> float:
    """The time from the first start to the last end of a sweep."""
    sweep = client.wait(client.submit(document(networks))["id"])
    assert sweep["started_at"] is not None and sweep["ended_at"] is not None
    return (datetime.fromisoformat(sweep["ended_at"]) - datetime.fromisoformat(sweep["started_at"])).total_seconds()


def main() -> None:
    """Time one network, then one per device."""
    client = Client.of()
    devices = len(client.devices())
    seconds(client, 1)  # the data are prepared now
    one, all_of_them = seconds(client, 1), seconds(client, devices)
    print(f"1 network: {one:.2f} s; {devices} networks on {devices} devices: {all_of_them:.2f} s")
    print(f"{all_of_them / one:.2f} times the time of one network, instead of {devices}")


if __name__ == "__main__":
    main()
