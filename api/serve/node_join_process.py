"""`podium node join`: joins the cluster of a head, runs the node's guardian, and joins again when the head is back.

The guardian runs the raylet with its slots, the node agent and the process template.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx2

from podium.api.serve import temporary_file_cleanup
from podium.api.serve.service_lock import service_locked
from podium.db.schema import postgres_url_source
from podium.sweep.file_store.object_store_check import ObjectStoreCheck
from podium.sweep.ray_cluster import ray_connection_settings
from podium.sweep.runtime.atomic_files import write_atomic
from podium.sweep.runtime.certificate_pin import fetch_certificate, ssl_context
from podium.sweep.runtime.component_startup_and_heartbeats import PARENT_PID
from podium.sweep.runtime.filesystem_type import refuse_network
from podium.sweep.runtime.joined_node_settings import LEAVE, MEMBER_PORTS, REFUSED, NodeSettings
from podium.sweep.runtime.layout import DataDirectory
from podium.sweep.runtime.package_versions import versions
from podium.sweep.runtime.runtime_directory import RuntimeDirectory
from podium.sweep.runtime.secret_variable_removal import withdraw
from podium.sweep.runtime.service_settings import NODE_PORT
from podium.sweep.values.device import NODE_NAME
from podium.sweep.values.errors import ServiceError

TIMEOUT_S = 20.0
RETRY_S = 2.0
NOTICED_S = 3.0  # for the head to notice the end of the slots
STOP_S = 15.0
STARTS = 3  # that fail until the command ends: the network may be cut while a node starts
STABLE_S = 20.0  # uptime after which the end of a node is no failed start
_COMPONENT = "podium.sweep.ray_cluster.joined_node_guardian"
_TOKEN = re.compile(r"(?P<secret>podium_[A-Za-z0-9_-]{20,100})@(?P<fingerprint>[0-9a-f]{64})")


@dataclass(frozen=True, slots=True)
class NodeOptions:
    """What the user of `podium node join` wants."""

    head: str  # host, or host:port
    token_file: Path
    data_dir: Path
    name: str
    cpus: int
    gpus: int | None
    artifact_credentials: Path | None = None  # None: in the environment
    address: str = ""  # "": the one from which this machine reaches the head
    member_ports: tuple[int, int] = MEMBER_PORTS


@dataclass(frozen=True, slots=True)
class NodeToken:
    """The token of a node, from its file."""

    secret: str
    fingerprint: str  # of the head's certificate


def join(options: NodeOptions, log: Callable[[str], None]) -> None:
    """Run the node until SIGTERM, SIGINT, or until the head asks it to leave.

    Raises `ServiceError` if the head cannot be reached at first, or refuses this node; later it is tried again.
    """
    withdraw(postgres_url_source.VARIABLE)  # of a service whose variables this node has, too
    token = read_token(options.token_file)
    if NODE_NAME.fullmatch(options.name) is None:
        raise ServiceError(f"--name {options.name}: write letters, digits, '.', '_' and '-', at most 63")
    stopping = threading.Event()
    data = DataDirectory(options.data_dir)
    if not sys.flags.safe_path:
        del sys.path[0]
    os.umask(0o077)
    refuse_network(data.root)
    data.prepare()
    temporary_file_cleanup.remove(data)
    runtime = RuntimeDirectory.of(data)
    with service_locked(data, "stop it, or give another --data-dir"):
        try:
            runtime.prepare()
            for number in (signal.SIGTERM, signal.SIGINT):
                signal.signal(number, lambda *_: stopping.set())
            settings = _join(options, token, data, runtime)
            log(f"Node {settings.name} joins {options.head} from {settings.address} (data in {data.root})")
            has_run, failed_starts = False, 0
            while not stopping.is_set():
                started_s = time.monotonic()
                status = _run_guardian(settings, data, stopping)
                if status == REFUSED:
                    raise ServiceError(
                        f"the head no longer accepts the token of node {settings.name}: it was revoked or has "
                        "expired; create another one on the head with `podium token create NAME --role node`"
                    )
                if status == LEAVE or stopping.is_set():
                    log(f"Node {settings.name} leaves{': the head has asked for it' if status == LEAVE else ''}")
                    _leave(settings)
                    return
                has_run = has_run or time.monotonic() - started_s > STABLE_S
                failed_starts += not has_run
                if failed_starts >= STARTS:
                    raise ServiceError(f"node {settings.name} failed to start: {_last_line(data)}")
                log(f"Node {settings.name} is disconnected: {_last_line(data)}")
                settings = (
                    _join_again(options, token, data=data, runtime=runtime, stopping=stopping, log=log) or settings
                )
        finally:
            shutil.rmtree(runtime.root, ignore_errors=True)


def read_token(file: Path) -> NodeToken:
    """The token of a node. Raises `ServiceError`."""
    try:
        match = _TOKEN.fullmatch(file.read_text().strip())
    except (OSError, UnicodeDecodeError) as error:
        raise ServiceError(f"--token-file {file}: {getattr(error, 'strerror', None) or error}") from error
    if match is None:
        raise ServiceError(
            f"--token-file {file}: not the token of a node; create one on the head with "
            "`podium token create NAME --role node > FILE`"
        )
    return NodeToken(match["secret"], match["fingerprint"])


def _join(
    options: NodeOptions, token: NodeToken, data: DataDirectory, runtime: RuntimeDirectory, *, again: bool = False
) -> NodeSettings:
    """Ask the head for Ray's address and token, and write the settings of this node. Raises `ServiceError`."""
    host, port = _endpoint(options.head)
    pem = fetch_certificate(host, port, token.fingerprint)
    url = f"https://{f'[{host}]' if ':' in host else host}:{port}"
    address = options.address or _own_address(host, port)
    body = {"name": options.name, "address": address, "versions": versions(), "again": again}
    found = _post(f"{url}/internal/v1/join", body, token.secret, pem)
    artifact_url = str(found.get("artifact_url", ""))
    credentials = "" if options.artifact_credentials is None else str(options.artifact_credentials)
    if artifact_url:
        ObjectStoreCheck(artifact_url, credentials, str(found["store_id"]), is_head=False).run()
    write_atomic(data.ray_token, str(found["ray_token"]).encode(), mode=0o600)
    _write_ray_tls(data, found["ray_tls"])
    settings = NodeSettings(
        head=str(found["ray_address"]),
        address=address,
        name=options.name,
        data_dir=str(data.root),
        runtime_dir=str(runtime.root),
        cpus=options.cpus,
        gpus=options.gpus,
        url=url,
        token=token.secret,
        certificate=pem,
        artifact_url=artifact_url,
        artifact_credentials=credentials,
        member_ports=options.member_ports,
    )
    settings.save()
    return settings


def _write_ray_tls(data: DataDirectory, given: dict[str, str] | None) -> None:
    """Write the certificates for Ray; without any, Ray of the head does not encrypt."""
    tls = data.ray_tls
    if given is None:
        tls.certificate.unlink(missing_ok=True)
        return
    write_atomic(tls.key, given["key"].encode(), mode=0o600)
    write_atomic(tls.authority, given["authority"].encode())
    write_atomic(tls.certificate, given["certificate"].encode())


def _post(url: str, body: dict[str, Any], secret: str, pem: str) -> dict[str, Any]:
    """Send a request to the head; its answer. Raises `ServiceError` with the reason of a refusal."""
    head = urlsplit(url).netloc
    try:
        answer = httpx2.post(
            url, json=body, timeout=TIMEOUT_S, verify=ssl_context(pem), trust_env=False,
            headers={"authorization": f"Bearer {secret}"},
        )  # fmt: skip
        found: dict[str, Any] = answer.json()
    except (httpx2.HTTPError, ValueError) as error:
        raise ServiceError(f"the head at {head} does not answer: {error}") from error
    if answer.is_error:
        raise ServiceError(f"the head at {head} refused this node: {found.get('detail', answer.status_code)}")
    return found


def _leave(settings: NodeSettings) -> None:
    """Tell the head that this node has stopped, when it has noticed the end of the slots."""
    time.sleep(NOTICED_S)
    with contextlib.suppress(ServiceError):
        _post(f"{settings.url}/internal/v1/leave", {"name": settings.name}, settings.token, settings.certificate)


def _join_again(
    options: NodeOptions,
    token: NodeToken,
    data: DataDirectory,
    runtime: RuntimeDirectory,
    stopping: threading.Event,
    log: Callable[[str], None],
) -> NodeSettings | None:
    """Wait until the head accepts this node; None if it is stopped meanwhile."""
    said = ""
    while not stopping.wait(RETRY_S):
        try:
            settings = _join(options, token, data, runtime, again=True)
        except (ServiceError, OSError) as error:
            if str(error) != said:
                said = str(error)
                log(f"Disconnected from the head: {said}; trying again")
            continue
        log(f"Node {settings.name} joins {options.head} again")
        return settings
    return None


def _run_guardian(settings: NodeSettings, data: DataDirectory, stopping: threading.Event) -> int:
    """Run the guardian until it ends, or stop it; its exit status."""
    others = ray_connection_settings.OTHER_RAY_VARIABLES
    ours = {name: value for name, value in os.environ.items() if name not in others}
    tls = data.ray_tls if data.ray_tls.certificate.exists() else None
    with (data.logs / "node.log").open("ab") as output:
        guardian = subprocess.Popen(
            [sys.executable, "-P", "-m", _COMPONENT, str(settings.runtime.settings_file)],
            stdin=subprocess.PIPE, stdout=output, stderr=output, start_new_session=True,
            env={
                **ours,
                **ray_connection_settings.environment(
                    data.ray_token, cluster=True, tls=tls, wait_s=ray_connection_settings.KEEP_S
                ),
                PARENT_PID: str(os.getpid()),  # whose environment trials get
            },
        )  # fmt: skip
    while (status := guardian.poll()) is None and not stopping.wait(0.2):
        pass
    if status is None:
        guardian.terminate()
        try:
            status = guardian.wait(STOP_S)
        except subprocess.TimeoutExpired:
            guardian.kill()
            status = guardian.wait()
    return status


def _last_line(data: DataDirectory) -> str:
    lines = (data.logs / "node.log").read_text(errors="replace").strip().splitlines()
    return lines[-1] if lines else "no output"


def _endpoint(head: str) -> tuple[str, int]:
    """Host and port. Raises `ServiceError`."""
    host, separator, port = head.rpartition(":")
    if not separator or (":" in host and not host.startswith("[")):
        return head, NODE_PORT
    if not port.isdecimal():
        raise ServiceError(f"{head}: write the address of the head, like 10.0.0.5 or 10.0.0.5:{NODE_PORT}")
    return host.strip("[]"), int(port)


def _own_address(host: str, port: int) -> str:
    try:
        with socket.create_connection((host, port), timeout=TIMEOUT_S) as connection:
            return str(connection.getsockname()[0])
    except OSError as error:
        raise ServiceError(f"the head at {host}:{port} does not answer: {error}") from error
