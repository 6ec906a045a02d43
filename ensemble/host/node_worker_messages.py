"""What the host asks the agent of a node about workers there, and the answers; host process and node agent.

A connection is for one worker, and begins with one request, a line. Then the host sends single bytes: a `PING` every
second, or `EXIT`. The agent answers each `PING`, and tells each change, with the status of the worker, a line. It
closes the connection after the last status.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any

from podium.ensemble.host.worker_launcher_interface import WorkerConfig, WorkerStatus
from podium.ensemble.worker.control_messages import Phase, WorkerAssignment

MAX_REQUEST_BYTES = 1 << 20
PING_S = 1.0
SILENT_S = 10.0  # without anything from the other side: the connection, or the node, is lost
HOST_SILENCE_S = 60.0  # a worker exits when no host has asked about it for this long


@dataclass(frozen=True, slots=True)
class LaunchWorker:
    """Fetch the model files, whose paths are keys of the store, and start the process."""

    config: WorkerConfig


@dataclass(frozen=True, slots=True)
class FindWorker:
    """Follow a process that was started earlier."""

    config: WorkerConfig


@dataclass(frozen=True, slots=True)
class KillWorkersExcept:
    """Kill all processes but those with these names; the answer is the end of the connection."""

    names: tuple[str, ...]


NodeRequest = LaunchWorker | FindWorker | KillWorkersExcept


def encode_request(request: NodeRequest) -> bytes:
    """A request as a line."""
    if isinstance(request, KillWorkersExcept):
        values: dict[str, Any] = {"kill_except": request.names}
    else:
        config = request.config
        about = {**asdict(config), "assignment": config.assignment.to_json()}
        values = {"launch" if isinstance(request, LaunchWorker) else "find": about}
    return json.dumps(values).encode() + b"\n"


def decode_request(line: bytes) -> NodeRequest:
    """The inverse of `encode_request`. Raises `ValueError`, `KeyError` and `TypeError` for other lines."""
    ((kind, values),) = json.loads(line).items()
    if kind == "kill_except":
        return KillWorkersExcept(tuple(values))
    config = WorkerConfig(
        WorkerAssignment.from_json(values["assignment"]), tuple(values["device_ids"]), values["node"], values["visible"]
    )
    if kind not in ("launch", "find"):
        raise ValueError(f"{kind!r} is not a request")
    return LaunchWorker(config) if kind == "launch" else FindWorker(config)


def encode_status(status: WorkerStatus) -> bytes:
    """A status as a line."""
    return json.dumps(asdict(status)).encode() + b"\n"


def decode_status(line: bytes) -> WorkerStatus:
    """The inverse of `encode_status`. Raises `ValueError`, `KeyError` and `TypeError`."""
    values = json.loads(line)
    return WorkerStatus(**{**values, "phase": Phase(values["phase"])})
