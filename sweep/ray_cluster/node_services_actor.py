"""An actor for each node of an existing Ray cluster: starts what slots need there, and ends it with itself.

Detached, so that a restarted scheduler finds it. It takes no CPU. The token of the node arrives as an argument, and is
stored in a file that only the owner may read.
"""

from __future__ import annotations

import contextlib
import os
import signal
import stat
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, replace
from pathlib import Path

from podium.sweep.file_store.object_store_check import ObjectStoreCheck
from podium.sweep.ray_cluster.ray_slot_actor import SupervisedNode
from podium.sweep.runtime.filesystem_type import refuse_network
from podium.sweep.runtime.joined_node_settings import LEAVE, NodeSettings
from podium.sweep.runtime.layout import DataDirectory
from podium.sweep.runtime.process_title import process_name
from podium.sweep.runtime.process_trees import children
from podium.sweep.runtime.runtime_directory import RuntimeDirectory
from podium.sweep.runtime.serve_environment_for_trials import without_ray
from podium.sweep.values.errors import DataDirectoryError, FencedError, ServiceError

SUPERVISOR_PREFIX = "node-supervisor-"
_GUARDIAN = "podium.sweep.ray_cluster.existing_cluster_node_guardian"
AGENT_NAME = "podium-agent"
ANY_PORTS = (0, 0)  # of members: the nodes of a Ray cluster reach each other at all ports
STOP_S = 10.0
OTHER_SETTINGS = "its agent was started by this service with other settings, and is replaced"
START_S = 90.0  # an earlier guardian may still be killing its processes
CHECK_S = 0.05


@dataclass(frozen=True, slots=True)
class NodeSupervisorSettings:
    """What the scheduler tells a supervisor about its node and the service."""

    service: str  # the name of the service's namespace
    name: str  # of the node
    address: str
    gpus: int
    data_dir: str  # "": the folder of temporary files
    url: str  # of the head's port for nodes
    token: str
    certificate: str  # of that port (PEM)
    abandoned_s: float
    artifact_url: str = ""  # object store for the files of attempts; "": the head
    store_id: str = ""  # also recorded in that store
    epoch: int = 0  # of the scheduler


def supervisor_name(node_id: str, node_name: str) -> str:
    """The name of the actor: a restarted scheduler reads from it which node has which name."""
    return f"{SUPERVISOR_PREFIX}{node_id}:{node_name}"


def node_of_supervisor(actor_name: str) -> tuple[str, str] | None:
    """The id and the name of the node of a supervisor; None if the actor is another one."""
    if not actor_name.startswith(SUPERVISOR_PREFIX):
        return None
    node_id, _, name = actor_name.removeprefix(SUPERVISOR_PREFIX).partition(":")
    return node_id, name


class NodeSupervisor:
    """Owns the guardian of a node, which ends when this process does."""

    def __init__(self) -> None:
        self._called_s = time.monotonic()
        self._lock = threading.Lock()
        self._guardian: subprocess.Popen[bytes] | None = None
        self._settings: NodeSupervisorSettings | None = None  # of what runs
        self._supervised: SupervisedNode | None = None

    def start(self, settings: NodeSupervisorSettings) -> SupervisedNode | str:
        """Start the guardian unless it runs; returns what it serves, or why this supervisor must be replaced.

        If another service has taken over, the agent gets its address, and slots and trials continue. Raises
        `FencedError` if a scheduler with a higher epoch has called before, and other errors of `PodiumError`.
        """
        with self._lock:
            known = self._settings
            if known is not None and settings.epoch < known.epoch:
                raise FencedError(f"the node {known.name} belongs to the scheduler with epoch {known.epoch}")
            if known is not None and _supervised(settings) != _supervised(known):
                return OTHER_SETTINGS
            self._called_s = time.monotonic()
            if known is not None and settings.url != known.url:
                self._restart_agent(settings)
            self._settings = settings
            if self._supervised is None:
                self._supervised = self._start(settings)
                threading.Thread(target=self._end_when_abandoned, args=(settings.abandoned_s,), daemon=True).start()
            return self._supervised

    def watch(self, poll_s: float) -> str | None:
        """Wait until the guardian has ended, for `poll_s` at most; returns why it has ended, or None."""
        self._called_s = time.monotonic()
        guardian = self._guardian
        if guardian is None:
            return "it was not started"
        try:
            status = guardian.wait(poll_s)
        except subprocess.TimeoutExpired:
            return None
        return "the node was asked to leave" if status == LEAVE else f"its guardian ended with status {status}"

    def stop(self) -> None:
        """End the guardian with all its processes."""
        guardian = self._guardian
        if guardian is not None:
            guardian.terminate()
            try:
                guardian.wait(STOP_S)
            except subprocess.TimeoutExpired:
                guardian.kill()

    def _restart_agent(self, settings: NodeSupervisorSettings) -> None:
        """Let the guardian start the agent again, which reads the settings of the new head."""
        data = DataDirectory(data_folder(settings))
        _node_settings(settings, data, RuntimeDirectory.of(data)).save()
        for pid in children(self._guardian.pid) if self._guardian is not None else ():
            if process_name(pid) == AGENT_NAME:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)

    def _start(self, settings: NodeSupervisorSettings) -> SupervisedNode:
        data = DataDirectory(data_folder(settings))
        claim(data.root)
        refuse_network(data.root)
        if settings.artifact_url:  # with the credentials in the environment of Ray on this node
            ObjectStoreCheck(settings.artifact_url, "", settings.store_id, is_head=False).run()
        data.prepare()
        runtime = RuntimeDirectory.of(data)
        runtime.prepare()
        node = _node_settings(settings, data, runtime)
        runtime.template_socket.unlink(missing_ok=True)
        log = data.logs / "node.log"
        with log.open("ab") as output:
            self._guardian = subprocess.Popen(
                [sys.executable, "-P", "-m", _GUARDIAN, str(node.save())],
                stdin=subprocess.PIPE, stdout=output, stderr=output, start_new_session=True,
                env=without_ray(os.environ),
            )  # fmt: skip
        end_s = time.monotonic() + START_S
        while not runtime.template_socket.exists():
            if self._guardian.poll() is not None or time.monotonic() > end_s:
                lines = log.read_text(errors="replace").strip().splitlines()
                raise ServiceError(f"the process template did not start: {lines[-1] if lines else 'no output'}")
            time.sleep(CHECK_S)
        return SupervisedNode(
            str(data.root), str(runtime.template_socket), str(runtime.agent_socket), settings.abandoned_s,
            withhold_credentials=bool(settings.artifact_url),
        )  # fmt: skip

    def _end_when_abandoned(self, abandoned_s: float) -> None:
        """End this process when the scheduler has not called for long; its slots do the same."""
        while (left_s := self._called_s + abandoned_s - time.monotonic()) > 0:
            time.sleep(left_s)
        self.stop()
        os._exit(0)


def _supervised(settings: NodeSupervisorSettings) -> NodeSupervisorSettings:
    """What the processes on the node depend on: all but the head that they report to."""
    return replace(settings, url="", epoch=0)


def _node_settings(settings: NodeSupervisorSettings, data: DataDirectory, runtime: RuntimeDirectory) -> NodeSettings:
    return NodeSettings(
        head="", address=settings.address, name=settings.name,
        data_dir=str(data.root), runtime_dir=str(runtime.root), cpus=0, gpus=settings.gpus,
        url=settings.url, token=settings.token, certificate=settings.certificate,
        artifact_url=settings.artifact_url, member_ports=ANY_PORTS,
    )  # fmt: skip


def data_folder(settings: NodeSupervisorSettings) -> Path:
    """The data directory of a service on a node."""
    return Path(settings.data_dir or tempfile.gettempdir()) / f"{settings.service}-{settings.name}"


def claim(folder: Path) -> None:
    """Create a folder with mode 0700. Raises `DataDirectoryError` if it belongs to another user."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        status = folder.lstat()
    except OSError as error:
        raise DataDirectoryError(f"cannot create the folder {folder} on the node: {error.strerror}") from error
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.getuid() or status.st_mode & 0o077:
        raise DataDirectoryError(
            f"the folder {folder} on the node is owned by or accessible to other users; remove it, or start the "
            "service with another --node-data-dir"
        )
