"""The processes of a service by role, as the kernel shows them, so that one of each can be killed."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from podium.sweep.runtime.layout import DataDirectory
from podium.sweep.runtime.process_trees import children

PARTS = ("scheduler", "api", "gateway", "host")
ON_RAY = ("raylet", "gcs", "guardian")
ON_SLOT = ("slot", "slot relay", "fork server")
KINDS = (*PARTS, *ON_SLOT, "template", *ON_RAY, "serve")
_NAMES = {  # as `name_process` sets them
    "slot": "podium-slot",
    "fork server": "podium-fork-srv",
    "trial": "podium-trial",
    "template": "podium-template",
    "worker template": "podium-ray-tmpl",
    "member": "podium-member",
}


@dataclass(frozen=True, slots=True)
class Process:
    """A living process of the service."""

    pid: int
    parent: int
    name: str
    command: str


@dataclass(frozen=True, slots=True)
class ReportedComponent:
    """A component as `serve` shows it in its status file."""

    pid: int | None
    ready: bool


class Processes:
    """Some processes at one time, by role."""

    def __init__(self, found: Iterable[Process]) -> None:
        self._found = {process.pid: process for process in found}

    def trials(self) -> list[Process]:
        """The processes of attempts, without their own children."""
        return [p for p in self._named("trial") if self._parent_is(p, _is_fork_server)]

    def fork_servers(self) -> list[Process]:
        """One for each slot, and one for each of its sets of preloaded packages."""
        return self._named("fork server")

    def slots(self) -> list[Process]:
        """The slots."""
        return self._named("slot")

    def slot_relays(self) -> list[Process]:
        """The actors that pass calls on to the slots, one for each node."""
        return [p for p in self._found.values() if _is_slot_relay(p) and not self._parent_is(p, _is_slot_relay)]

    def members(self) -> list[Process]:
        """The members of ensembles."""
        return self._named("member")

    def _named(self, kind: str) -> list[Process]:
        return [process for process in self._found.values() if process.name == _NAMES[kind]]

    def _parent_is(self, process: Process, kind: object) -> bool:
        parent = self._found.get(process.parent)
        return parent is not None and callable(kind) and bool(kind(parent))


class Census(Processes):
    """Every process of a service at one time."""

    def __init__(self, serve_pid: int) -> None:
        super().__init__(_below(serve_pid))
        self.serve = serve_pid

    def of(self, kind: str, data: DataDirectory) -> list[int]:
        """The process ids of one of `KINDS`; a component that does not run has none."""
        if kind == "serve":
            return [self.serve]
        if kind in (*PARTS, "guardian"):
            shown = reported_components(data).get("ray" if kind == "guardian" else kind)
            return [shown.pid] if shown is not None and shown.pid in self._found else []
        if kind == "slot":
            return [process.pid for process in self.slots()]
        if kind == "slot relay":
            return [process.pid for process in self.slot_relays()]
        if kind in ("fork server", "template", "worker template"):
            return [process.pid for process in self._named(kind)]
        name = {"raylet": "/raylet/raylet ", "gcs": "/gcs/gcs_server "}[kind]
        return [process.pid for process in self._found.values() if name in process.command.replace("\0", " ")]


def reported_components(data: DataDirectory) -> dict[str, ReportedComponent]:
    """The components by name; {} if no service is up."""
    try:
        parts = json.loads(data.service_file.read_text())["parts"]
    except (OSError, ValueError, KeyError):
        return {}
    return {part["name"]: ReportedComponent(part["pid"], part["state"] == "ready") for part in parts}


def read_process(pid: int, parent: int) -> Process | None:
    """A process as the kernel shows it; None if it has ended."""
    try:
        name = Path(f"/proc/{pid}/comm").read_text().strip()
        command = Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace")
    except OSError:
        return None
    return Process(pid, parent, name, command)


def _below(root: int) -> list[Process]:
    found: list[Process] = []
    queue = [(pid, root) for pid in children(root)]
    while queue:
        pid, parent = queue.pop()
        process = read_process(pid, parent)
        if process is None:
            continue
        found.append(process)
        queue += [(child, pid) for child in children(pid)]
    return found


def _is_fork_server(process: Process) -> bool:
    return process.name == _NAMES["fork server"]


def _is_slot_relay(process: Process) -> bool:
    return process.command.startswith("ray::RaySlotRelay")
