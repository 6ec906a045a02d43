"""The processes of a service by role, as the kernel shows them, so that one of each can be killed."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from podium.sweep.runtime.layout import DataDirectory
from podium.sweep.runtime.process_trees import children

PARTS = ("scheduler", "api", "gateway", "host")
ON_RAY = ("raylet", "gcs", "guardian")
ON_SLOT = ("slot", "fork server")
KINDS = (*PARTS, *ON_SLOT, *ON_RAY, "serve")


@dataclass(frozen=True, slots=True)
class Process:
    """A living process of the service."""

    pid: int
    parent: int
    command: str


@dataclass(frozen=True, slots=True)
class ReportedComponent:
    """A component as `serve` shows it in its status file."""

    pid: int | None
    ready: bool


class Census:
    """Every process of a service at one time."""

    def __init__(self, serve_pid: int) -> None:
        self.serve = serve_pid
        self._found = {process.pid: process for process in _below(serve_pid)}

    def trials(self) -> list[Process]:
        """The processes of attempts."""
        return [p for p in self._found.values() if _is_fork_server(p) and self._parent_is(p, _is_fork_server)]

    def fork_servers(self) -> list[Process]:
        """One for each slot, including those that are still warming up."""
        return [p for p in self._found.values() if _is_fork_server(p) and not self._parent_is(p, _is_fork_server)]

    def slots(self) -> list[Process]:
        """The slot actors."""
        return [p for p in self._found.values() if _is_slot(p) and not self._parent_is(p, _is_slot)]

    def of(self, kind: str, data: DataDirectory) -> list[int]:
        """The process ids of one of `KINDS`; a component that does not run has none."""
        if kind == "serve":
            return [self.serve]
        if kind in (*PARTS, "guardian"):
            shown = reported_components(data).get("ray" if kind == "guardian" else kind)
            return [shown.pid] if shown is not None and shown.pid in self._found else []
        if kind == "slot":
            return [process.pid for process in self.slots()]
        if kind == "fork server":
            return [process.pid for process in self.fork_servers()]
        name = {"raylet": "/raylet/raylet ", "gcs": "/gcs/gcs_server "}[kind]
        return [process.pid for process in self._found.values() if name in process.command.replace("\0", " ")]

    def slot_of(self, trial: Process) -> int:
        """The slot actor above a trial's process."""
        return self._found[trial.parent].parent

    def _parent_is(self, process: Process, kind: object) -> bool:
        parent = self._found.get(process.parent)
        return parent is not None and callable(kind) and bool(kind(parent))


def reported_components(data: DataDirectory) -> dict[str, ReportedComponent]:
    """The components by name; {} if no service is up."""
    try:
        parts = json.loads(data.service_file.read_text())["parts"]
    except (OSError, ValueError, KeyError):
        return {}
    return {part["name"]: ReportedComponent(part["pid"], part["state"] == "ready") for part in parts}


def _below(root: int) -> list[Process]:
    found: list[Process] = []
    queue = [(pid, root) for pid in children(root)]
    while queue:
        pid, parent = queue.pop()
        try:
            command = Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace")
        except OSError:
            continue
        found.append(Process(pid, parent, command))
        queue += [(child, pid) for child in children(pid)]
    return found


def _is_fork_server(process: Process) -> bool:
    return "\0podium.sweep.trial_process.fork_server\0" in process.command


def _is_slot(process: Process) -> bool:
    return process.command.startswith("ray::RaySlot")
