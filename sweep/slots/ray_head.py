"""Ray's head under a guardian that leaves nothing behind; started by `serve`, holds nothing of ours.

`python -P -m podium.sweep.slots.ray_head SETTINGS`. Ray's processes are many and not all die with their parent. The
guardian is a subreaper below which all of them live, slots, trials and members too: when it is told to end, when
`serve` dies (end-of-file on standard input), or when Ray itself ends, it kills everything below it.
"""

from __future__ import annotations

import functools
import os
import secrets
import select
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

from filelock import FileLock, Timeout

from podium.sweep.runtime.atomic_files import write_whole
from podium.sweep.runtime.component import say_ready
from podium.sweep.runtime.layout import DataDirectory, RuntimeDirectory
from podium.sweep.runtime.process_trees import become_subreaper, die_with_parent, kill_descendants
from podium.sweep.runtime.settings import ServiceSettings

# What names another Ray, where somebody uses one: its token would hold here in place of ours, and be in every process.
OF_ANOTHER_RAY = ("RAY_AUTH_TOKEN", "RAY_ADDRESS")
STOP_S = 3.0
PREDECESSOR_S = 20.0  # a guardian before us may still be killing what was below it
# Ray wants to count at least this much; its object store is not used for data here.
_OBJECT_STORE_BYTES = 100 * 2**20


def environment(data: DataDirectory) -> dict[str, str]:
    """What a process needs to talk to this service's Ray, and what keeps a user's folder off its path."""
    return {
        "RAY_AUTH_MODE": "token",
        "RAY_AUTH_TOKEN_PATH": str(data.ray_token),
        # Meant for Windows and macOS; with it Ray's node is 127.0.0.1 here too, and all of Ray listens there alone.
        # Without, Ray makes of --node-ip-address=127.0.0.1 the machine's own address, and listens on every interface.
        "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
        "RAY_GRACEFUL_SHUTDOWN_DRAIN_TIMEOUT_S": "0",
        "RAY_USAGE_STATS_ENABLED": "0",
        "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
        # Ray would run all of its workers at 15. Members answer people; trials are made nice by their fork server.
        "RAY_worker_niceness": "0",
        "PYTHONSAFEPATH": "1",
    }


def address_file(runtime: RuntimeDirectory) -> Path:
    """Where Ray writes its address when it is up."""
    return runtime.ray / "ray_current_cluster"


def address_of(runtime: RuntimeDirectory) -> str:
    """The address of Ray; "" while it is not up. Ray creates the file first, and writes the address afterwards."""
    try:
        return address_file(runtime).read_text().strip()
    except FileNotFoundError:
        return ""


def ensure_token(data: DataDirectory) -> None:
    """Ray's own secret: made once, mode 0600, never handed to a trial."""
    if not data.ray_token.exists():
        write_whole(data.ray_token, secrets.token_hex(32).encode(), mode=0o600)


def _command(settings: ServiceSettings) -> list[str]:
    plan = settings.devices
    gpus = {"cpu": ["--num-gpus=0"], "pretend-gpu": [f"--num-gpus={plan.count or 2}"]}.get(plan.kind, [])
    return [
        sys.executable, "-P", "-m", "podium.sweep.slots.ray_start", "start", "--head", "--block", "--port=0",
        # The monitor would add and remove nodes for an autoscaler: it only takes time from every start.
        "--include-log-monitor=false", "--no-monitor", "--disable-usage-stats", "--log-color=false",
        "--node-ip-address=127.0.0.1", f"--temp-dir={settings.runtime.ray}",
        f"--num-cpus={plan.cpu_slots}", f"--object-store-memory={_OBJECT_STORE_BYTES}", *gpus,
    ]  # fmt: skip


def main() -> None:
    """Wait until no Ray of this service is left, then start one.

    When `serve` was killed and is started again at once, the guardian before us still kills trials and removes Ray's
    files: they would be ours.
    """
    settings = ServiceSettings.from_json(sys.argv[1])
    try:
        with FileLock(settings.data.ray_lock).acquire(timeout=PREDECESSOR_S):
            status = guard(settings)
    except Timeout:
        sys.exit(f"another Ray of {settings.data_dir} does not end within {PREDECESSOR_S:g} s")
    sys.exit(status)


def guard(settings: ServiceSettings) -> int:
    """Start Ray, say when it is up, and take it down whole; the exit status of this process."""
    become_subreaper()
    shutil.rmtree(settings.runtime.ray, ignore_errors=True)  # a stale address would lead others astray
    wake_read, wake_write = os.pipe()
    os.set_blocking(wake_write, False)
    signal.set_wakeup_fd(wake_write, warn_on_full_buffer=False)
    stopping: list[int] = []
    signal.signal(signal.SIGTERM, lambda number, _: stopping.append(number))
    signal.signal(signal.SIGCHLD, lambda *_: None)
    # If this process is killed together with `serve`, nobody is left to end Ray: so it ends itself.
    with_us = functools.partial(die_with_parent, os.getpid(), signal.SIGTERM)
    ray = subprocess.Popen(_command(settings), stdin=subprocess.DEVNULL, preexec_fn=with_us)
    announced = False
    while not stopping and ray.poll() is None:
        readable, _, _ = select.select([0, wake_read], [], [], 0.5 if announced else 0.05)
        if wake_read in readable:
            os.read(wake_read, 4096)
        if 0 in readable and not os.read(0, 4096):
            break
        if not announced and address_of(settings.runtime):
            announced = True
            say_ready()
    _stop(ray)
    shutil.rmtree(settings.runtime.ray, ignore_errors=True)
    return 0 if stopping else 1


def _stop(ray: subprocess.Popen[bytes]) -> None:
    """Let Ray end its own, shortly; then end what is left."""
    if ray.poll() is None:
        ray.terminate()
        end = time.monotonic() + STOP_S
        while ray.poll() is None and time.monotonic() < end:
            time.sleep(0.02)
    kill_descendants()


if __name__ == "__main__":
    main()
