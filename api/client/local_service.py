"""A service for as long as one command takes: the one that runs already, or one started for it; cli."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from podium.api.client.client import Client
from podium.sweep.values.errors import DataDirectoryError, ServiceError

START_S = 60.0
STOP_S = 15.0
BAD_DATA_DIRECTORY = 3  # what `serve` exits with when database or data directory cannot be used


@contextlib.contextmanager
def service(data_dir: Path, devices: str = "auto", *, own: bool = False) -> Iterator[Client]:
    """A client of the service on `data_dir`; one started here ends with the block. `own`: do not use a running one."""
    if not own:
        with contextlib.suppress(ServiceError):
            client = Client.of(data_dir)
            client.ready()
            yield client
            client.close()
            return
    process = _start(data_dir, devices)
    try:
        with _wait(process, data_dir) as client:
            yield client
    finally:
        _stop(process)


@contextlib.contextmanager
def cancelled_on_interrupt(client: Client, sweep_id: int) -> Iterator[None]:
    """Ctrl-C in the block ends the sweep too: nobody waits for it any more."""
    try:
        yield
    except KeyboardInterrupt:
        print(f"sweep {sweep_id} is {client.cancel_sweep(sweep_id)['state']}", file=sys.stderr)
        raise


def _start(data_dir: Path, devices: str) -> subprocess.Popen[str]:
    """`podium serve` on free ports. It dies with this process, and Ctrl-C reaches it through us alone."""
    command = [
        sys.executable,
        "-P",
        "-m",
        "podium.api.cli.app",
        "serve",
        "--data-dir",
        str(data_dir),
        "--devices",
        devices,
    ]
    return subprocess.Popen(
        [*command, "--port", "0", "--gateway-port", "0"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
        env={**os.environ, "PODIUM_PARENT": str(os.getpid())},
    )


def _wait(process: subprocess.Popen[str], data_dir: Path) -> Client:
    """The client as soon as every part is ready.

    Raises `ServiceError`, or `DataDirectoryError` when that is why, with what the service said instead.
    """
    end = time.monotonic() + START_S
    while time.monotonic() < end:
        if process.poll() is not None:
            assert process.stdout is not None
            said = process.stdout.read().strip().splitlines()
            error = DataDirectoryError if process.returncode == BAD_DATA_DIRECTORY else ServiceError
            raise error(said[-1] if said else f"the service ended with status {process.returncode}")
        with contextlib.suppress(ServiceError, json.JSONDecodeError):
            client = Client.of(data_dir)
            if client.ready()["ready"]:
                return client
            client.close()
        time.sleep(0.05)
    raise ServiceError(f"the service was not ready within {START_S:g} s; its logs are in {data_dir / 'logs'}")


def _stop(process: subprocess.Popen[str]) -> None:
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)
    try:
        process.wait(STOP_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    if process.stdout is not None:
        process.stdout.close()
