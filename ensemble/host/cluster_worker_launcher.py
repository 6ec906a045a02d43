"""Launches workers on this machine or on nodes, through the agents of these; host process."""

from __future__ import annotations

import contextlib
import logging
import socket
import ssl
import threading
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace

from podium.ensemble.host.node_worker_handle import NodeWorkerHandle
from podium.ensemble.host.node_worker_messages import HOST_SILENCE_S, KillWorkersExcept, encode_request
from podium.ensemble.host.worker_launcher_interface import OnChange, WorkerConfig, WorkerHandle, WorkerLauncher
from podium.sweep.runtime.certificate_pin import is_pinned
from podium.sweep.values.errors import EnsembleError, PodiumError

CONNECT_S = 3.0
KILL_S = 30.0
log = logging.getLogger("podium.cluster_worker_launcher")


@dataclass(frozen=True, slots=True)
class AgentAddress:
    """Where the agent of a node listens, and the certificate that it must have."""

    host: str
    port: int
    fingerprint: str


Agents = Callable[[], dict[str, AgentAddress]]  # by the name of the node; as last reported


class ClusterWorkerLauncher:
    """Implements `podium.ensemble.host.worker_launcher_interface.WorkerLauncher`.

    Args:
        local: Launches workers on this machine.
        agents: Finds the agents of nodes; called in other threads.
        context: Proves the identity of this service to agents.
    """

    def __init__(self, local: WorkerLauncher, agents: Agents, context: ssl.SSLContext) -> None:
        self._local = local
        self._agents = agents
        self._context = context
        self._killing: dict[str, threading.Thread] = {}  # by the name of the node

    def launch(self, config: WorkerConfig, on_change: OnChange) -> WorkerHandle:
        if not config.node_name:
            return self._local.launch(config, on_change)
        return self._follow(config, on_change, launch=True)

    def find(self, config: WorkerConfig, on_change: OnChange) -> WorkerHandle | None:
        if not config.node_name:
            return self._local.find(config, on_change)
        return self._follow(config, on_change, launch=False)

    def kill_all_except(self, names: Collection[str]) -> None:
        """Those on nodes are killed later; on a node that cannot be reached, they exit since no host asks for them.

        Nothing is launched on a node before that: a new worker has none of these names.
        """
        self._local.kill_all_except(names)
        for node in self._agents():
            thread = threading.Thread(target=self._kill_on, args=(node, tuple(names)), name="node-kill", daemon=True)
            self._killing[node] = thread
            thread.start()

    def _follow(self, config: WorkerConfig, on_change: OnChange, *, launch: bool) -> WorkerHandle:
        assignment = replace(config.assignment, host_silence_s=HOST_SILENCE_S)
        node = config.node_name
        killing = self._killing.get(node) if launch else None

        def connect() -> ssl.SSLSocket:
            if killing is not None:
                killing.join()
            return self._connect(node)

        return NodeWorkerHandle(replace(config, assignment=assignment), connect, on_change, launch=launch)

    def _kill_on(self, node: str, names: tuple[str, ...]) -> None:
        try:
            with self._connect(node) as connection:
                connection.settimeout(KILL_S)
                connection.sendall(encode_request(KillWorkersExcept(names)))
                while connection.recv(1 << 16):
                    pass
        except (OSError, PodiumError) as error:
            log.warning("cannot reach node %s to end workers that are no longer needed: %s", node, error)

    def _connect(self, node: str) -> ssl.SSLSocket:
        """Raises `OSError`, and `EnsembleError` if the node is unknown or has another certificate."""
        agent = self._agents().get(node)
        if agent is None:
            raise EnsembleError(f"node {node} has no agent for members")
        plain = socket.create_connection((agent.host, agent.port), timeout=CONNECT_S)
        with contextlib.ExitStack() as stack:
            stack.callback(plain.close)
            connection = self._context.wrap_socket(plain)
            stack.pop_all()
        if not is_pinned(connection, agent.fingerprint):
            connection.close()
            raise EnsembleError(f"node {node} has another certificate than it has reported")
        return connection
