"""A Ray cluster that `ray start` has made on machines of the rig, with token authentication, and without Podium."""

from __future__ import annotations

import json
import secrets
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from tests.cluster.machines import Machine

PORT = 6379
RAY = [sys.executable, "-P", "-m", "ray.scripts.scripts"]


class PlainRay:
    """Its head has no CPU."""

    def __init__(self, head: Machine, folder: Path) -> None:
        self.head = head
        self.token_file = folder / "ray.token"
        self.token_file.write_text(secrets.token_hex(32))
        self._variables = {
            "RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN_PATH": str(self.token_file), "RAY_USAGE_STATS_ENABLED": "0",
        }  # fmt: skip
        self._start(head, "--head", "--port", str(PORT), "--include-dashboard", "false", "--num-cpus", "0")

    @property
    def address(self) -> str:
        return f"{self.head.address}:{PORT}"

    def join(self, machine: Machine, cpus: int, packages: Path | None = None) -> None:
        """Start Ray on another machine; `packages`: a folder of packages that come before the installed ones."""
        path = {} if packages is None else {"PYTHONPATH": str(packages)}
        self._start(machine, "--address", self.address, "--num-cpus", str(cpus), variables=path)

    def command(self, *arguments: str) -> str:
        """Run `ray ARGUMENTS...` on its head; what it prints."""
        process = self.head.start([*RAY, *arguments], self._variables, stdout=subprocess.PIPE, text=True)
        said, _ = process.communicate(timeout=60)
        assert process.returncode == 0, f"ray {' '.join(arguments)}"
        return str(said)

    def run(self, program: str, *arguments: str) -> object:
        """Run a Python program on its head, connected to the cluster; the JSON that it prints last."""
        script = f"import ray, sys, json\nray.init({self.address!r}, log_to_driver=False)\n{program}"
        command = [sys.executable, "-P", "-c", script, *arguments]
        process = self.head.start(command, self._variables, stdout=subprocess.PIPE, text=True)
        said, _ = process.communicate(timeout=60)
        assert process.returncode == 0, program
        return json.loads(said.strip().splitlines()[-1])

    def _start(self, machine: Machine, *arguments: str, variables: Mapping[str, str] = MappingProxyType({})) -> None:
        log = (machine.folder / "ray.log").open("wb")
        command = [
            *RAY, "start", "--block", "--node-ip-address", machine.address, "--temp-dir", str(machine.folder / "r"),
            "--object-store-memory", str(100 << 20), *arguments,
        ]  # fmt: skip
        machine.start(command, {**self._variables, **variables}, stdout=log, stderr=log)
        log.close()
