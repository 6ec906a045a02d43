"""Runs Ray's head node and the process template under a guardian that leaves no process behind; started by `serve`.

`python -P -m podium.sweep.ray_cluster.ray_head_guardian FILE`. Not all of Ray's processes exit with their parent. The
guardian is a subreaper, and all processes of Ray, slots, trials and members are below it. On SIGTERM, when `serve`
exits (end-of-file on standard input), or when Ray exits, it kills everything below it. A process template that is
killed is started again; the processes that it has forked keep running.
"""

from __future__ import annotations

import contextlib
import functools
import os
import select
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from filelock import FileLock, Timeout

from podium.sweep.process_template import template_forked_process
from podium.sweep.process_template.template_launcher import TemplateProcess
from podium.sweep.ray_cluster import ray_worker_launcher
from podium.sweep.ray_cluster.ray_connection_settings import address_of
from podium.sweep.ray_cluster.ray_worker_template import WORKER_TEMPLATE
from podium.sweep.runtime import fail_points
from podium.sweep.runtime.component_startup_and_heartbeats import report_ready, send_heartbeat
from podium.sweep.runtime.joined_node_settings import LEAVE, REFUSED
from podium.sweep.runtime.process_title import name_process, process_name
from podium.sweep.runtime.process_trees import (
    become_subreaper,
    children,
    die_with_parent,
    kill_descendants,
    kill_orphans,
)
from podium.sweep.runtime.runtime_directory import RuntimeDirectory
from podium.sweep.runtime.serve_environment_for_trials import user_environment
from podium.sweep.runtime.service_settings import ServiceSettings

OWN_RAY = "podium.sweep.ray_cluster.ray_head_process"
EXISTING_CLUSTER_RAYLET = "podium.sweep.ray_cluster.zero_resource_raylet"
STOP_S = 3.0
RESTART_S = 1.0
PREDECESSOR_S = 20.0  # an earlier guardian may still be killing its processes


def main() -> None:
    """Wait until no other Ray of this service is running, then start one.

    When `serve` is killed and restarted immediately, the earlier guardian is still killing trials and removing Ray's
    files, which are also the files of this one.
    """
    name_process("podium-guardian")
    settings = ServiceSettings.load(Path(sys.argv[1]))
    try:
        with FileLock(settings.data.ray_lock).acquire(timeout=PREDECESSOR_S):
            status = guard(settings.runtime, OWN_RAY if settings.existing_cluster is None else EXISTING_CLUSTER_RAYLET)
    except Timeout:
        sys.exit(f"another Ray of {settings.data_dir} did not exit within {PREDECESSOR_S:g} s")
    sys.exit(status)


def guard(runtime: RuntimeDirectory, ray: str = "", *, agent: str = "", ends_with_stdin: bool = True) -> int:
    """Start Ray, report when it is ready, and stop it with all its processes; returns the exit status.

    Args:
        runtime: Of this machine, with the file of settings.
        ray: The module that starts Ray, and gets the path of the settings; "" on a node of an existing Ray cluster.
        agent: The module of the node agent; "" on the head. It is restarted, unless it exits with `LEAVE` or `REFUSED`.
        ends_with_stdin: Whether to stop at end-of-file on standard input.
    """
    become_subreaper()
    shutil.rmtree(runtime.ray, ignore_errors=True)  # other processes would read a stale address
    wakes = _Wakes(ends_with_stdin=ends_with_stdin)
    # If this process is killed together with `serve`, no other process would stop Ray.
    exit_with_guardian = functools.partial(die_with_parent, os.getpid(), signal.SIGTERM)
    template = _start_template(runtime, forks_workers=bool(ray))
    started = {name: _Restartable(name, runtime.settings_file, exit_with_guardian) for name in (ray, agent) if name}
    announced = not ray
    adopted: set[int] = set()
    left: int | None = None
    while not (wakes.stopping or left is not None or (ray and started[ray].exit_status is not None)):
        if not wakes.wait(0.5 if announced else 0.05):
            break
        send_heartbeat()
        if not announced and address_of(runtime):
            announced = True
            report_ready()
        if template.has_failed:
            print("the process template failed", file=sys.stderr)  # after its traceback
            break
        if agent and started[agent].exit_status is not None:
            left = started[agent].exit_status if started[agent].exit_status in (LEAVE, REFUSED) else None
            if left is None:
                started[agent].restart()
        adopted = _watch_template(template, {each.pid for each in started.values()}, adopted)
    _stop(started[ray].process if ray else None)
    template.close()
    shutil.rmtree(runtime.ray, ignore_errors=True)
    return left if left is not None else 0 if wakes.stopping else 1


class _Wakes:
    """What the guardian waits for: signals, and the end of standard input."""

    def __init__(self, *, ends_with_stdin: bool) -> None:
        self._read, write = os.pipe()
        os.set_blocking(write, False)
        signal.set_wakeup_fd(write, warn_on_full_buffer=False)
        signal.signal(signal.SIGTERM, self._on_stop)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        self._watched = [0, self._read] if ends_with_stdin else [self._read]
        self.stopping = False

    def wait(self, timeout_s: float) -> bool:
        """Wait for a signal; False at end-of-file on standard input."""
        readable, _, _ = select.select(self._watched, [], [], timeout_s)
        if self._read in readable:
            os.read(self._read, 4096)
        return not (0 in readable and not os.read(0, 4096))

    def _on_stop(self, *_: object) -> None:
        self.stopping = True


def _start_template(runtime: RuntimeDirectory, *, forks_workers: bool) -> TemplateProcess:
    """Start the process template, and name its sockets in the environment of what is started after it."""
    workers = runtime.ray_workers_socket if forks_workers else None
    template = TemplateProcess(runtime.template_socket, workers, _template_environment())
    template.start_if_exited()
    os.environ[template_forked_process.TEMPLATE_SOCKET] = str(runtime.template_socket)
    if workers is not None:
        os.environ[ray_worker_launcher.TEMPLATE_SOCKET] = str(workers)
    return template


class _Restartable:
    """A process below the guardian that runs a module with the settings of this machine."""

    def __init__(self, module: str, settings: Path, exit_with_guardian: Callable[[], None]) -> None:
        self._module = module
        self._settings = settings
        self._exit_with_guardian = exit_with_guardian
        self.process = self._start()

    @property
    def pid(self) -> int:
        return self.process.pid

    @property
    def exit_status(self) -> int | None:
        """None while it runs."""
        return self.process.poll()

    def restart(self) -> None:
        """Start it again, since it has exited: at most once a second, and later if there are too many processes."""
        if time.monotonic() - self._started_s >= RESTART_S:
            with contextlib.suppress(OSError):
                self.process = self._start()

    def _start(self) -> subprocess.Popen[bytes]:
        self._started_s = time.monotonic()
        return subprocess.Popen(
            [sys.executable, "-P", "-m", self._module, str(self._settings)],
            stdin=subprocess.DEVNULL,
            preexec_fn=self._exit_with_guardian,
        )


def _template_environment() -> dict[str, str]:
    """The environment of the template, which the kernel shows for all processes that it forks: without tokens."""
    return {**user_environment(), **fail_points.variable()}


def _watch_template(template: TemplateProcess, started: set[int], adopted: set[int]) -> set[int]:
    """Restart the template if it was killed, and watch the processes that it has left to this one.

    These keep running: fork servers, members and Ray workers. When one of them exits, the processes that it has left
    behind are killed.

    Args:
        template: The template.
        started: The pids of Ray and of the agent.
        adopted: The processes left by earlier templates.

    Returns:
        `adopted` without those that have exited, and with those that are new.
    """
    killed = template.pid
    with contextlib.suppress(OSError):  # too many processes: tried again
        template.start_if_exited()
    if template.pid != killed:
        _wait_for_exit(WORKER_TEMPLATE)  # it ends with the template; then Ray's workers are children of this process
        adopted = set(children(os.getpid())) - {*started, template.pid}
    running = {pid for pid in adopted if not _reaped(pid)}
    if running != adopted:
        kill_orphans({*started, template.pid, *running})
    return running


def _wait_for_exit(name: str) -> None:
    """Wait until no child of this process has this name."""
    end = time.monotonic() + STOP_S
    while time.monotonic() < end:
        if not [pid for pid in children(os.getpid()) if process_name(pid) == name and not _reaped(pid)]:
            return
        time.sleep(0.01)


def _reaped(pid: int) -> bool:
    """Whether a child has exited; then it is reaped."""
    try:
        return os.waitpid(pid, os.WNOHANG)[0] != 0
    except ChildProcessError:
        return True


def _stop(ray: subprocess.Popen[bytes] | None) -> None:
    """Terminate Ray, then kill the processes that are left."""
    if ray is not None and ray.poll() is None:
        ray.terminate()
        end = time.monotonic() + STOP_S
        while ray.poll() is None and time.monotonic() < end:
            time.sleep(0.02)
    kill_descendants()


if __name__ == "__main__":
    main()
