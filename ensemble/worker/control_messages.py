"""What the host assigns to a worker process, and what the process reports; host and worker process."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any

from podium.ensemble.worker.model_file_spec import ModelFile

COMPILE = "PODIUM_COMPILE"  # set to 1 to also try compiled plans in-graph; each takes many seconds to prepare


class Phase(StrEnum):
    """The phase of a worker process."""

    STARTING = "starting"  # the process does not exist yet
    WARMING = "warming"  # loading and warming its networks
    READY = "ready"
    LOAD_FAILED = "load_failed"  # its networks cannot be loaded; a restart would not help
    EXITED = "exited"  # the process no longer exists


@dataclass(frozen=True, slots=True)
class TlsListening:
    """Where a worker listens on TCP, and whom it trusts."""

    host: str
    first_port: int
    last_port: int  # 0: any free port
    certificate: str  # path; of this machine
    key: str  # path
    client: str  # certificate of the gateways (PEM)


@dataclass(frozen=True, slots=True)
class WorkerAssignment:
    """The networks of a worker process, and how it runs them."""

    name: str
    files: tuple[ModelFile, ...]  # by member
    in_graph: bool
    endpoint: str
    epoch: int
    features: int
    combination: str  # JSON
    threads: int
    tls: TlsListening | None = None  # on another machine than the head: instead of `endpoint`
    host_silence_s: float | None = None  # it exits when the host has been silent for this long; None: it never does

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> WorkerAssignment:
        values = json.loads(text)
        values["files"] = tuple(ModelFile.from_dict(file) for file in values["files"])
        values["tls"] = None if values["tls"] is None else TlsListening(**values["tls"])
        return cls(**values)


@dataclass(frozen=True, slots=True)
class WorkerReport:
    """The state of a worker process. It sends a report when its phase changes, and on each `PING`."""

    phase: Phase
    pid: int
    reason: str = ""  # of `load_failed` and `exited`
    plan: Mapping[str, Any] = field(default_factory=dict)  # once it is ready: the execution plans of an in-graph worker
    endpoint: str = ""  # once it is ready

    def to_line(self) -> bytes:
        return json.dumps(asdict(self)).encode() + b"\n"

    @classmethod
    def from_line(cls, line: bytes) -> WorkerReport:
        values = json.loads(line)
        return cls(**{**values, "phase": Phase(values["phase"])})


PING = b"?"  # the host asks for a report
EXIT = b"!"  # the host needs the worker no longer; also a process that is stopped reads it when it continues
