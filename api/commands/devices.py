"""`podium devices`: every device and what is on it; cli."""

from __future__ import annotations

from api.commands.options import DEFAULT_DATA_DIR, AsJson, DataDir


def devices(data_dir: DataDir = DEFAULT_DATA_DIR, as_json: AsJson = False) -> None:
    """List the devices: the trial on each slot, and the ensemble members beside it."""
    from api import show  # rich and the HTTP client: not for --help
    from api.client import Client

    with Client.of(data_dir) as client:
        found = client.devices()
    if as_json:
        show.print_json(found)
        return
    rows = [
        (
            device["id"],
            show.state(device["state"]),
            device["trial_id"] or "–",
            len(device["member_ids"]) or "–",
            device["slot_pid"],
            device["reason"],
        )
        for device in found
    ]
    show.console.print(show.table(None, ("device", "state", "trial", "members", "slot pid", "reason"), rows))
