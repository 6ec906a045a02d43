"""Row 7, opening a session: any client talks to the service, and all see the same sweep.

Run it while a service runs: `podium serve`, then `python any_client.py`.
"""

from __future__ import annotations

import json
import subprocess
import sys
from http.client import HTTPConnection
from urllib.parse import urlsplit

from podium import Client
from podium.sweep.runtime.layout import DataDirectory, default_data_directory


def main() -> None:
    """Submit with the Python client; read by REST and by the command line."""
    data = DataDirectory(default_data_directory())
    client = Client.of(data.root)
    document = {
        "name": "any-client",
        "method": "random",
        "metric": {"name": "val_accuracy", "goal": "maximize"},
        "parameters": {"lr": {"min": 1e-4, "max": 0.1, "log": True}, "epochs": {"value": 1}},
        "run_cap": 2,
        "program": {"model": "mlp", "data": {"name": "digits"}},
    }
    sweep = client.wait(client.submit(document)["id"])

    token = data.admin_token.read_text().strip()
    api = HTTPConnection(urlsplit(client.url).netloc)
    api.request("GET", f"/api/v1/sweeps/{sweep['id']}", headers={"Authorization": f"Bearer {token}"})
    by_rest = json.load(api.getresponse())

    command = [sys.executable, "-m", "podium.api.cli.app", "sweep", "show", str(sweep["id"]), "--json"]
    shown = subprocess.run([*command, "--data-dir", str(data.root)], check=True, capture_output=True, text=True)
    by_command = json.loads(shown.stdout)

    for name, seen in (("Python", sweep), ("REST", by_rest), ("command line", by_command)):
        print(f"{name}: sweep {seen['id']} is {seen['state']}, best {seen['best']['value']:.4f}")
    best = {seen["best"]["value"] for seen in (sweep, by_rest, by_command)}
    print(f"3 clients, {len(best)} result")


if __name__ == "__main__":
    main()
