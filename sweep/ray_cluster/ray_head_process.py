"""Ray's head without its dashboard, its agents and its client server, and with workers forked from a template.

`python -P -m podium.sweep.ray_cluster.ray_head_process FILE`, started by the guardian in `ray_head_guardian`. It does
what `ray start --head --block` does. The module of that command also imports Ray's job, state and Serve command lines,
which takes 1.5 s of processor time instead of 0.8 s. With `ray[default]`, `ray[tune]` or `ray[serve]` installed, Ray
starts a dashboard, a dashboard agent and a client server; it always starts an agent for runtime environments. There is
no option to disable them, and the metrics ports require no token. Podium uses none of them.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ray._private import node, services, utils
from ray._private.parameter import RayParams
from ray._private.ray_constants import PROCESS_TYPE_GCS_SERVER
from ray._raylet import (  # type: ignore[attr-defined]  # a module in Cython, without types
    DASHBOARD_AGENT_LISTEN_PORT_NAME,
    METRICS_AGENT_PORT_NAME,
    METRICS_EXPORT_PORT_NAME,
    RUNTIME_ENV_AGENT_PORT_NAME,
    persist_port,
)

from podium.sweep.ray_cluster import ray_worker_launcher
from podium.sweep.ray_cluster.ray_gcs_storage import RayStore, StoreWatch
from podium.sweep.runtime.cuda_devices import publish_cuda_devices
from podium.sweep.runtime.disk_space_check import disk_space
from podium.sweep.runtime.process_trees import kill_descendants
from podium.sweep.runtime.service_settings import CLUSTER_PORT, ServiceSettings
from podium.sweep.values.errors import ServiceError

MODULE = "podium.sweep.ray_cluster.ray_head_process"
WITHOUT_STORE = "--without-store"
AGENT_OPTIONS = ("--dashboard_agent_command=", "--runtime_env_agent_command=")
# The raylet requires running agents. These do nothing.
IDLE_AGENT = "sleep infinity"
PORTS_OF_AGENTS = (
    METRICS_AGENT_PORT_NAME,
    METRICS_EXPORT_PORT_NAME,
    DASHBOARD_AGENT_LISTEN_PORT_NAME,
    RUNTIME_ENV_AGENT_PORT_NAME,
)
WORKER_OPTION = "--python_worker_command="
POLL_S = 0.5  # between two checks of Ray's processes
# Ray's minimum; its object store is not used for data.
OBJECT_STORE_BYTES = 100 * 2**20
GCS_START_S = 60.0
NO_PORT = -1  # the value that Ray's own agent reports for a server that is not running


class LeanNode(node.Node):  # type: ignore[misc]
    """A node whose only processes are the raylet and, on the head, the GCS server."""

    def __init__(self, parameters: RayParams, **options: Any) -> None:
        """See `ray._private.node.Node`. Raises `ServiceError` if its folder has too long a path for sockets."""
        try:
            super().__init__(parameters, **options)
        except OSError as error:
            if "AF_UNIX" not in str(error):
                raise
            raise ServiceError(
                f"the path {parameters.temp_dir} is too long for Unix sockets: set XDG_RUNTIME_DIR to a shorter one"
            ) from None

    def start_api_server(self, **_: object) -> None:
        """Start no dashboard; its address stays None."""

    def start_gcs_server(self) -> None:
        """Start the GCS, and raise `RuntimeError` as soon as it exits, for example because its store is damaged.

        Ray itself would notice that after 40 s.
        """
        super().start_gcs_server()
        (started,) = self.all_processes[PROCESS_TYPE_GCS_SERVER]
        end = time.monotonic() + GCS_START_S
        while not _accepts_connections(self.gcs_address) and time.monotonic() < end:
            if (status := started.process.poll()) is not None:
                raise RuntimeError(f"the GCS exited with status {status}; see {self.get_logs_dir_path()}")
            time.sleep(0.02)

    def start_ray_client_server(self) -> None:
        """Start no server for `ray://` addresses."""

    def start_raylet(self, *args: Any, **kwargs: Any) -> None:
        """Start the raylet with idle processes for its agents, and with the launcher for its workers.

        The raylet waits for a file with each port of its agent, so these files are written before it starts.
        """
        for name in PORTS_OF_AGENTS:
            persist_port(self.get_session_dir_path(), self.node_id, name, NO_PORT)
        with _changed_raylet_command():
            super().start_raylet(*args, **kwargs)


def with_idle_agents(command: Sequence[str]) -> list[str]:
    """The raylet's command with `IDLE_AGENT` for Ray's dashboard agent and for its agent for runtime environments.

    Raises:
        RuntimeError: The command lacks an agent: this version of Ray starts it in another way.
    """
    changed = list(command)
    for option in AGENT_OPTIONS:
        positions = [i for i, word in enumerate(command) if word.startswith(option)]
        if not positions:
            raise RuntimeError(
                f"the raylet of this version of Ray has no option {option}, so this agent cannot be disabled; install "
                "the version of Ray in constraints.txt"
            )
        changed[positions[-1]] = f"{option}{IDLE_AGENT}"
    return changed


def with_worker_launcher(command: Sequence[str]) -> list[str]:
    """The raylet's command with `ray_worker_launcher` before Ray's command for Python workers.

    Raises:
        RuntimeError: The command has no such command: this version of Ray starts workers in another way.
    """
    interpreter = subprocess.list2cmdline([sys.executable])
    launcher = subprocess.list2cmdline([sys.executable, "-I", "-S", ray_worker_launcher.__file__])
    before = f"{WORKER_OPTION}{interpreter} "
    changed = [
        f"{WORKER_OPTION}{launcher} {word.removeprefix(before)}" if word.startswith(before) else word
        for word in command
    ]
    if changed == list(command):
        raise RuntimeError(
            f"the raylet of this version of Ray has no option {WORKER_OPTION} with this interpreter, so its workers "
            "cannot be forked; install the version of Ray in constraints.txt"
        )
    return changed


@contextmanager
def _changed_raylet_command() -> Iterator[None]:
    """While active, `ray._private.services` starts raylets with an idle agent and with the launcher."""
    start = services.start_ray_process

    def start_changed(command: Sequence[str], *args: Any, **kwargs: Any) -> Any:
        return start(with_worker_launcher(with_idle_agents(command)), *args, **kwargs)

    services.start_ray_process = start_changed
    try:
        yield
    finally:
        services.start_ray_process = start


def parameters(settings: ServiceSettings, gpus: int | None = None) -> RayParams:
    """Those of `ray start --head` with the resources of the plan and no autoscaler.

    Without a cluster, on any free port of 127.0.0.1. `gpus`: the number of GPUs and MIG instances of this machine.
    """
    plan = settings.devices
    return RayParams(
        node_ip_address=settings.cluster or "127.0.0.1",
        node_name=settings.cluster or "127.0.0.1",
        gcs_server_port=CLUSTER_PORT if settings.cluster else 0,
        num_cpus=plan.cpu_slots,
        num_gpus={"cpu": 0, "pretend-gpu": plan.count or 2}.get(plan.kind, gpus),
        object_store_memory=OBJECT_STORE_BYTES,
        temp_dir=str(settings.runtime.ray),
        include_dashboard=False,
        include_log_monitor=False,
        no_monitor=True,
    )


def main() -> None:
    """Start Ray, write its address to its folder, and wait; exit when one of its processes has exited.

    If Ray does not start with its store, this program starts again: with an empty one, and then without any.
    """
    settings = ServiceSettings.load(Path(sys.argv[1]))
    environment = os.environ.copy()
    gpus = publish_cuda_devices() if settings.devices.kind in ("auto", "gpu") else None
    store, was_kept = (None, False) if sys.argv[2:] == [WITHOUT_STORE] else _prepared_store(settings)
    if store is not None:
        os.environ |= {"RAY_gcs_storage": "rocksdb", "RAY_gcs_storage_path": str(store.gcs)}
    try:
        head = LeanNode(parameters(settings, gpus), head=True, shutdown_at_exit=True, spawn_reaper=True)
    except Exception:
        if store is None:
            raise
        traceback.print_exc()
        print(f"Ray does not start with the store {store.root}; removing it", file=sys.stderr, flush=True)
        kill_descendants()
        store.remove()
        again = [] if was_kept else [WITHOUT_STORE]
        os.execve(sys.executable, [sys.executable, "-P", "-m", MODULE, sys.argv[1], *again], environment)  # noqa: S606
    utils.write_ray_address(head.address, str(settings.runtime.ray))
    sys.exit(wait_until_exited(head, StoreWatch(store).tick))


def _prepared_store(settings: ServiceSettings) -> tuple[RayStore | None, bool]:
    """The store of this service, or None if it has none or its disk is full; and whether it was kept from before."""
    store = RayStore.of(settings)
    if store is None:
        return None, False
    try:
        was_kept = store.prepare(time.time())
        if was_kept or disk_space(settings.data.root).is_sufficient:
            return store, was_kept
        reason = "no space left on its disk"
    except OSError as error:
        reason = str(error)
    print(f"trials on nodes would not survive a restart of this head: {reason}", file=sys.stderr, flush=True)
    store.remove()
    return None, False


def _accepts_connections(address: str) -> bool:
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=1.0).close()
    except OSError:
        return False
    return True


def wait_until_exited(started: LeanNode, tick: Callable[[], None] = lambda: None) -> str:
    """Wait until a process of the node has exited, and kill the others; returns which one it was.

    `tick` is called at each check.
    """
    while not (exited := started.dead_processes()):
        time.sleep(POLL_S)
        tick()
    started.kill_all_processes(check_alive=False, allow_graceful=False)
    return ", ".join(f"{name} exited with status {process.returncode}" for name, process in exited)


if __name__ == "__main__":
    main()
