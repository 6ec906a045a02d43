"""The settings of a node that joins the service of another machine; the node's guardian and its raylet."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from podium.sweep.runtime.atomic_files import write_atomic
from podium.sweep.runtime.layout import DataDirectory
from podium.sweep.runtime.runtime_directory import RuntimeDirectory

MEMBER_PORTS = (8400, 8499)  # of members of ensembles, and of the agent
# Variables in the environment of all processes of a node.
NODE_ROOT = "PODIUM_NODE_ROOT"  # its data directory
AGENT_SOCKET = "PODIUM_NODE_AGENT"  # the path of the socket of its agent
# Exit statuses of the agent, and then of the guardian.
LEAVE = 17  # the head has asked the node to leave
REFUSED = 18  # the head no longer accepts the token of the node


@dataclass(frozen=True, slots=True)
class NodeSettings:
    """How a node reaches the head, and what it contributes."""

    head: str  # HOST:PORT of Ray on the head
    address: str  # at which the head reaches this node
    name: str
    data_dir: str  # of the files of attempts on this machine
    runtime_dir: str
    cpus: int  # slots, on a machine without GPUs
    gpus: int | None = None  # None: all that Ray detects
    url: str = ""  # of the head's port for nodes; "": this node has the files of the head
    token: str = ""  # with the role node
    certificate: str = ""  # of that port (PEM)
    artifact_url: str = ""  # object store for the files of attempts; "": the head
    artifact_credentials: str = ""  # file with its credentials; "": in the environment
    member_ports: tuple[int, int] | None = MEMBER_PORTS  # first and last; None: no members of ensembles on this node

    @property
    def data(self) -> DataDirectory:
        return DataDirectory(Path(self.data_dir))

    @property
    def runtime(self) -> RuntimeDirectory:
        return RuntimeDirectory(Path(self.runtime_dir))

    def save(self) -> Path:
        """Write the settings to their file in the runtime directory; returns its path."""
        path = self.runtime.settings_file
        write_atomic(path, json.dumps(asdict(self)).encode(), mode=0o600)
        return path

    @classmethod
    def load(cls, path: Path) -> NodeSettings:
        """The settings that `save` has written. Raises `OSError`."""
        values = json.loads(path.read_bytes())
        ports = values["member_ports"]
        return cls(**{**values, "member_ports": ports and tuple(ports)})
