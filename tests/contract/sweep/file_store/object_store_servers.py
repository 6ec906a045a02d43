"""Folders in object stores, for tests: of moto's S3 server, of gcp-storage-emulator, and of Azurite.

A server listens on a port of 127.0.0.1 that is free, and ends with the test process.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import importlib.util
import logging
import os
import secrets
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from tests.repository import ROOT

AZURITE = ROOT / ".venv-bench" / "azurite" / "node_modules" / ".bin" / "azurite-blob"
START_S = 60.0
# Of Azurite's only account; its documentation has them.
ACCOUNT = "devstoreaccount1"
ACCOUNT_KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="


@dataclass(frozen=True)
class Emulator:
    """A server that behaves like an object store; `start` returns the environment variables of its clients."""

    packages: Sequence[str]
    start: Callable[[], dict[str, str]]


@contextlib.contextmanager
def new_folder(protocol: str) -> Iterator[str]:
    """The URL of a folder in a new bucket or container, with the variables of its server in the environment.

    Skips the test where a package or the server is not installed: they need other versions than `constraints.txt` has.
    """
    emulator = EMULATORS[protocol]
    for package in emulator.packages:
        if importlib.util.find_spec(package) is None:
            pytest.skip(f"{package} is not installed; `make test-extras` has an environment with it")
    variables = emulator.start()
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        bucket = f"podium-{secrets.token_hex(6)}"
        _filesystem(protocol).mkdir(bucket)
        yield f"{protocol}://{bucket}/folder"
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


@functools.cache
def _start_moto() -> dict[str, str]:
    from moto.server import ThreadedMotoServer

    logging.getLogger("werkzeug").setLevel(logging.WARNING)
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    return {
        "AWS_ACCESS_KEY_ID": "podium-test-key",
        "AWS_SECRET_ACCESS_KEY": "podium-test-secret",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_CONFIG_FILE": os.devnull,
        "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
        "AWS_ENDPOINT_URL": f"http://{host}:{port}",
    }


@functools.cache
def _start_gcs() -> dict[str, str]:
    port = _serve([sys.executable, "-m", "gcp_storage_emulator", "start", "--in-memory"], "--host", "--port")
    # The emulator lacks the API by which gcsfs asks for the kind of a bucket; it would look for credentials for that.
    return {"STORAGE_EMULATOR_HOST": f"http://127.0.0.1:{port}", "GCSFS_EXPERIMENTAL_ZB_HNS_SUPPORT": "false"}


@functools.cache
def _start_azurite() -> dict[str, str]:
    if not AZURITE.exists():
        pytest.skip("Azurite is not installed; `make test-extras` installs it where npm is")
    options = ["--inMemoryPersistence", "--disableTelemetry", "--skipApiVersionCheck", "--silent"]
    port = _serve([str(AZURITE), *options], "--blobHost", "--blobPort")
    endpoint = f"http://127.0.0.1:{port}/{ACCOUNT}"
    parts = {"DefaultEndpointsProtocol": "http", "AccountName": ACCOUNT, "AccountKey": ACCOUNT_KEY}
    connection = ";".join(f"{name}={value}" for name, value in {**parts, "BlobEndpoint": endpoint}.items())
    return {"AZURE_STORAGE_CONNECTION_STRING": connection}


EMULATORS = {
    "s3": Emulator(("s3fs", "moto", "flask"), _start_moto),
    "gs": Emulator(("gcsfs", "gcp_storage_emulator"), _start_gcs),
    "az": Emulator(("adlfs",), _start_azurite),
}


def _filesystem(protocol: str) -> Any:
    import fsspec

    return fsspec.filesystem(protocol, skip_instance_cache=True)


def _serve(command: Sequence[str], host_option: str, port_option: str) -> int:
    """Start a server that ends with this process; returns its port when it listens."""
    port = _free_port()
    process = subprocess.Popen(
        [*command, host_option, "127.0.0.1", port_option, str(port)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    atexit.register(process.terminate)
    _wait_for(port)
    return port


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


def _wait_for(port: int) -> None:
    end_s = time.monotonic() + START_S
    while time.monotonic() < end_s:
        with contextlib.suppress(ConnectionRefusedError), socket.create_connection(("127.0.0.1", port)):
            return
        time.sleep(0.1)
    raise AssertionError(f"nothing listens on port {port} after {START_S:g} s")
