"""A service for one command: the running one, or one started for the command; CLI."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from podium.api.client.client import Client
from podium.api.client.readiness_responses import Readiness
from podium.sweep.runtime import component_status_reader
from podium.sweep.values.errors import DataDirectoryError, ServiceError

START_S = 180.0  # the first start after an installation compiles what it imports
STOP_S = 15.0
BAD_DATA_DIRECTORY = 3  # exit code of `serve` for an unusable database or data directory


@contextlib.contextmanager
def service(
    data_dir: Path,
    devices: str = "auto",
    *,
    own: bool = False,
    options: Sequence[str] = (),
    within_s: float = START_S,
) -> Iterator[Client]:
    """A client of the service on `data_dir`; starts one until the end of the block if none runs, or always if `own`.

    `options`: further ones of `podium serve`. Raises `ServiceError` if it is not ready `within_s` seconds after its
    start.
    """
    if not own:
        with contextlib.suppress(ServiceError):
            client = Client.of(data_dir)
            client.ready()
            yield client
            client.close()
            return
    process = _start(data_dir, devices, options)
    try:
        with _wait(process, data_dir, within_s) as client:
            yield client
    finally:
        _stop(process)


@contextlib.contextmanager
def cancelled_on_interrupt(client: Client, sweep_id: int) -> Iterator[None]:
    """Cancel the sweep on Ctrl-C in the block."""
    try:
        yield
    except KeyboardInterrupt:
        print(f"sweep {sweep_id} is {client.cancel_sweep(sweep_id)['state']}", file=sys.stderr)
        raise


def _start(data_dir: Path, devices: str, options: Sequence[str]) -> subprocess.Popen[str]:
    """Start `podium serve` on free ports. It dies with this process; Ctrl-C does not reach it directly."""
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
        [*command, "--port", "0", "--gateway-port", "0", *options],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
        env={**os.environ, "PODIUM_PARENT": str(os.getpid())},
    )


def _wait(process: subprocess.Popen[str], data_dir: Path, within_s: float) -> Client:
    """Wait until all components are ready, and return a client.

    Raises `ServiceError`, or `DataDirectoryError`, with the last line that the service printed.
    """
    end = time.monotonic() + within_s
    waiting = ""
    while time.monotonic() < end:
        if process.poll() is not None:
            assert process.stdout is not None
            lines = process.stdout.read().strip().splitlines()
            error = DataDirectoryError if process.returncode == BAD_DATA_DIRECTORY else ServiceError
            raise error(lines[-1] if lines else f"the service exited with status {process.returncode}")
        with contextlib.suppress(ServiceError, json.JSONDecodeError):
            client = Client.of(data_dir)
            readiness = client.ready()
            if readiness["ready"]:
                return client
            client.close()
            waiting = ", ".join(_not_ready(readiness))
        time.sleep(0.05)
    problem = f" (waiting for {waiting})" if waiting else ""
    raise ServiceError(f"the service was not ready within {within_s:g} s{problem}; its logs are in {data_dir / 'logs'}")


def _not_ready(readiness: Readiness) -> list[str]:
    """What the service waits for; of a database that cannot be read, why."""
    done = ("ready", component_status_reader.STANDS_BY)
    waiting = [part["name"] for part in readiness["parts"] if part["state"] not in done]
    return waiting + ([] if readiness["database"]["available"] else [f"database: {readiness['database']['problem']}"])


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
