"""A bucket of moto's S3 server, for tests of object stores."""

from __future__ import annotations

import contextlib
import functools
import importlib.util
import logging
import os
import secrets
from collections.abc import Iterator
from typing import Any

import pytest

VARIABLES = {
    "AWS_ACCESS_KEY_ID": "podium-test-key",
    "AWS_SECRET_ACCESS_KEY": "podium-test-secret",
    "AWS_DEFAULT_REGION": "us-east-1",
    "AWS_CONFIG_FILE": os.devnull,
    "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
}


@contextlib.contextmanager
def s3_bucket() -> Iterator[str]:
    """The URL of a folder in a new bucket, with the variables of its server in the environment.

    Skips the test where s3fs or moto is not installed: they need other versions than `constraints.txt` has, and
    `make test-extras` has an environment with them.
    """
    for package in ("s3fs", "moto", "flask"):
        if importlib.util.find_spec(package) is None:
            pytest.skip(f"{package} is not installed; `make test-extras` has an environment with it")
    variables = {**VARIABLES, "AWS_ENDPOINT_URL": _endpoint()}
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        bucket = f"podium-{secrets.token_hex(6)}"
        _filesystem().mkdir(bucket)
        yield f"s3://{bucket}/folder"
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


@functools.cache
def _endpoint() -> str:
    """The address of the server, which ends with this process."""
    from moto.server import ThreadedMotoServer

    logging.getLogger("werkzeug").setLevel(logging.WARNING)
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    return f"http://{host}:{port}"


def _filesystem() -> Any:
    import fsspec

    return fsspec.filesystem("s3", skip_instance_cache=True)
