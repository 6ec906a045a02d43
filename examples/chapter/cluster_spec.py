"""Row 6, cluster spec, jobs and tasks: the roles of a service, its nodes and their devices, as the service knows them.

Run it while a service runs: `podium serve`, then `python cluster_spec.py`.
"""

from __future__ import annotations

from collections import defaultdict

from podium import Client


def main() -> None:
    """Print the components of the head, then each node with its devices."""
    client = Client.of()
    components = client.ready()["parts"]
    print("components of the head:", ", ".join(sorted(part["name"] for part in components)))
    nodes = {node["name"]: node for node in client.nodes()}
    devices: dict[str, list[str]] = defaultdict(list)
    for device in client.devices():
        devices["head" if device["node"] not in nodes else device["node"]].append(device["id"])
    for name in sorted({"head", *nodes, *devices}):
        state = nodes[name]["state"] if name in nodes else "ready"
        print(f"{name}: {state}, {', '.join(sorted(devices[name])) or 'no devices'}")
    print(f"{1 + len(nodes)} nodes, {sum(map(len, devices.values()))} devices")


if __name__ == "__main__":
    main()
