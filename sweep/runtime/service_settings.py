"""The settings of a service, passed by `podium serve` to its components; every component."""

from __future__ import annotations

import json
import os
import re
from dataclasses import asdict, dataclass
from pathlib import Path

from podium.sweep.runtime.atomic_files import write_atomic
from podium.sweep.runtime.existing_cluster_mode import ExistingCluster
from podium.sweep.runtime.layout import DataDirectory
from podium.sweep.runtime.runtime_directory import RuntimeDirectory
from podium.sweep.runtime.setting_cli_options import file_option, option, option_group
from podium.sweep.values.errors import ServiceError

MAX_DEFAULT_CPU_SLOTS = 8
MAX_GATEWAYS = 64
MAX_TRIALS_PER_DEVICE = 16
CLUSTER_PORT = 6379  # of Ray on the head, if other nodes join
NODE_PORT = 8302  # at which nodes ask the head for files
_REACHED = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104  # listen address -> address to connect to
_DEVICES = re.compile(r"(?P<kind>auto|gpu|cpu|pretend-gpu)(:(?P<count>[1-9][0-9]{0,3}))?")


@dataclass(frozen=True, slots=True)
class DevicePlan:
    """The devices that get slots.

    `auto`: GPUs if there are any, else CPU slots; `gpu`: GPUs, or an error; `cpu:N`: N CPU slots; `pretend-gpu:N`: N
    slots that are pinned as if to GPUs but train on the CPU, to test pinning without a GPU.
    """

    kind: str = "auto"
    count: int | None = None

    @classmethod
    def parse(cls, text: str) -> DevicePlan:
        """Parse `--devices`. Raises `ServiceError` with the supported values."""
        match = _DEVICES.fullmatch(text)
        if match is None or (match["count"] and match["kind"] in ("auto", "gpu")):
            raise ServiceError(f"--devices: must be auto, gpu, cpu, cpu:N or pretend-gpu:N; got {text!r}")
        return cls(match["kind"], int(match["count"]) if match["count"] else None)

    @property
    def cpu_slots(self) -> int:
        """The number of CPU slots."""
        return self.count or min(available_cores(), MAX_DEFAULT_CPU_SLOTS)


@dataclass(frozen=True, slots=True)
class ServiceSettings:
    """The settings of a service: directories, addresses, devices, TLS; with the options of `podium serve`, in order."""

    data_dir: str
    runtime_dir: str
    host: str = option("127.0.0.1", "address to listen on; other than loopback requires TLS, own or a proxy's")
    port: int = option(8300, "port of the API; 0: any free port", min=0, max=65535)
    gateway_port: int = option(8301, "port of the gateway; 0: any free port", min=0, max=65535)
    gateways: int = option(1, "gateway processes on that port, at most one for each core", min=1, max=MAX_GATEWAYS)
    devices: DevicePlan = option(DevicePlan(), type=str)
    trials_per_device: int = option(
        1, "most trials that share a device, also on nodes", min=1, max=MAX_TRIALS_PER_DEVICE
    )
    cluster: str = option(  # "": one machine
        "", "this machine's address for nodes on other machines: `podium node join`", metavar="ADDRESS"
    )
    ray_tls: bool = option(False, "with --cluster: encrypt Ray's connections between the machines")
    artifact_url: str = option(  # "": the data directory
        "", "object store for the files of nodes: s3://, gs://, az:// or file://", metavar="URL"
    )
    artifact_credentials: str = file_option("with its credentials as NAME=VALUE; default: the environment")
    existing_cluster: ExistingCluster | None = option_group(ExistingCluster)  # None: the service starts its own Ray
    standby: bool = option(
        False, "wait while another service of the PostgreSQL database leads, and take over when it fails"
    )
    notify: str = file_option("notify these Apprise URLs (mail, chat, webhooks); extra: notify", metavar="URL-FILE")
    database_url_file: str = file_option()  # "": SQLite in the data directory
    allowed_hosts: tuple[str, ...] = option(  # in addition to loopback
        (),
        "another host name under which clients reach the service; repeatable",
        name="allowed_host",
        type=list[str] | None,
        metavar="NAME",
    )
    tls_cert: str = file_option("certificate (PEM, with its chain)")  # without it the service uses plain HTTP
    tls_key: str = file_option("its private key (PEM)")
    proxies: tuple[str, ...] = option(
        (),
        "a trusted TLS proxy that sends X-Forwarded-For; repeatable",
        name="behind_proxy",
        type=list[str] | None,
        metavar="ADDRESS",
    )
    node_port: int = NODE_PORT
    service: str = ""  # its name, if several services share the data directory; see `DataDirectory.service`
    holder: str = ""  # random name of this start, with which it takes the lease of the services of its database

    @property
    def data(self) -> DataDirectory:
        return DataDirectory(Path(self.data_dir), self.service)

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
    def ray_address(self) -> str:
        """Where nodes reach Ray."""
        return f"{self.cluster}:{CLUSTER_PORT}" if self.existing_cluster is None else self.existing_cluster.address

    @property
    def ray_token(self) -> Path | None:
        """The file of Ray's token; None if the existing cluster has none."""
        if self.existing_cluster is None:
            return self.data.ray_token
        return Path(self.existing_cluster.token_file) if self.existing_cluster.token_file else None

    @property
    def gateway_names(self) -> tuple[str, ...]:
        """The gateway processes, as the supervisor names them: `gateway`, or several: `gateway-1`, `gateway-2`, …"""
        if self.gateways == 1:
            return ("gateway",)
        return tuple(f"gateway-{number}" for number in range(1, self.gateways + 1))

    @property
    def gateway_sockets(self) -> list[Path]:
        """The Unix socket of each gateway process, any of which answers predictions."""
        return [self.runtime.gateway_socket(name) for name in self.gateway_names]

    @property
    def own_host(self) -> str:
        """The host at which this machine reaches the service."""
        return _REACHED.get(self.host, self.host)

    @property
    def public_url(self) -> str:
        """The URL for browsers, including those on other machines."""
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
        """The name of the session cookie; includes the port, since cookies are shared by all ports of a host."""
        return f"podium_session_{self.port}"

    def save(self) -> Path:
        """Write the settings to their file in the runtime directory, which only the owner may read; returns its path.

        Components get the path as their argument: `ps` shows arguments to every user of the machine.
        """
        path = self.runtime.settings_file
        write_atomic(path, json.dumps(asdict(self)).encode(), mode=0o600)
        return path

    @classmethod
    def load(cls, path: Path) -> ServiceSettings:
        """The settings that `save` has written. Raises `OSError`."""
        values = json.loads(path.read_bytes())
        values["devices"] = DevicePlan(**values["devices"])
        values["existing_cluster"] = values["existing_cluster"] and ExistingCluster(**values["existing_cluster"])
        values |= {name: tuple(values[name]) for name in ("allowed_hosts", "proxies")}
        return cls(**values)


def available_cores() -> int:
    """The number of CPU cores that this process may use."""
    return len(os.sched_getaffinity(0))
