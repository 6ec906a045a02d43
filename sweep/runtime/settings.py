"""How one service is set up: decided by `podium serve`, handed to each of its parts; every part."""

from __future__ import annotations

import json
import os
import re
from dataclasses import asdict, dataclass
from pathlib import Path

from podium.sweep.runtime.layout import DataDirectory, RuntimeDirectory
from podium.sweep.values.errors import ServiceError

MAX_DEFAULT_CPU_SLOTS = 8
_REACHED = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104  # what is listened on, and where that is reached
_DEVICES = re.compile(r"(?P<kind>auto|gpu|cpu|pretend-gpu)(:(?P<count>[1-9][0-9]{0,3}))?")


@dataclass(frozen=True, slots=True)
class DevicePlan:
    """Which devices to make slots of.

    `auto`: GPUs where there are any, CPU slots where there are none; `gpu`: GPUs, or an error; `cpu:N`: N CPU
    slots; `pretend-gpu:N`: N slots pinned as if to GPUs, which train on the CPU: to try pinning without one.
    """

    kind: str = "auto"
    count: int | None = None

    @classmethod
    def parse(cls, text: str) -> DevicePlan:
        """Read `--devices`. Raises `ServiceError`, naming what is possible."""
        match = _DEVICES.fullmatch(text)
        if match is None or (match["count"] and match["kind"] in ("auto", "gpu")):
            raise ServiceError(f"--devices {text!r}: write auto, gpu, cpu, cpu:N or pretend-gpu:N")
        return cls(match["kind"], int(match["count"]) if match["count"] else None)

    @property
    def cpu_slots(self) -> int:
        """How many CPU slots to make when CPUs are the devices."""
        return self.count or min(cores(), MAX_DEFAULT_CPU_SLOTS)


@dataclass(frozen=True, slots=True)
class ServiceSettings:
    """One service: where it keeps things, where it listens, what it runs on."""

    data_dir: str
    runtime_dir: str
    host: str = "127.0.0.1"
    port: int = 8300
    gateway_port: int = 8301
    devices: DevicePlan = DevicePlan()
    allowed_hosts: tuple[str, ...] = ()  # names of the service beside those of loopback
    tls_cert: str = ""  # files; without them it speaks plain HTTP
    tls_key: str = ""
    proxies: tuple[str, ...] = ()  # addresses of those before it, which have TLS and say who asks

    @property
    def data(self) -> DataDirectory:
        return DataDirectory(Path(self.data_dir))

    @property
    def runtime(self) -> RuntimeDirectory:
        return RuntimeDirectory(Path(self.runtime_dir))

    @property
    def url(self) -> str:
        return f"{self._base}:{self.port}"

    @property
    def gateway_url(self) -> str:
        return f"{self._base}:{self.gateway_port}"

    @property
    def own_host(self) -> str:
        """Where this machine reaches it."""
        return _REACHED.get(self.host, self.host)

    @property
    def public_url(self) -> str:
        """Where browsers reach it, on other machines too."""
        if not self.allowed_hosts or not (self.tls_cert or self.proxies):
            return self.url
        name = self.allowed_hosts[0]
        with_port = self.proxies or ":" in name.rpartition("]")[2]
        return f"https://{name}" if with_port else f"https://{name}:{self.port}"

    @property
    def _base(self) -> str:
        host = f"[{self.own_host}]" if ":" in self.own_host else self.own_host
        return f"{'https' if self.tls_cert else 'http'}://{host}"

    @property
    def session_cookie(self) -> str:
        """The name of the cookie of a session; it has the port, since cookies know none."""
        return f"podium_session_{self.port}"

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> ServiceSettings:
        values = json.loads(text)
        values["devices"] = DevicePlan(**values["devices"])
        values |= {name: tuple(values[name]) for name in ("allowed_hosts", "proxies")}
        return cls(**values)


def cores() -> int:
    """The CPU cores that this process may use."""
    return len(os.sched_getaffinity(0))
