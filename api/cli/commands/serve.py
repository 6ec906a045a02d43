"""`podium serve`: runs the service until Ctrl-C or SIGTERM; the CLI's process becomes the supervisor."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from podium.api.cli.terminal import lazy
from podium.api.cli.terminal.options import DEFAULT_DATA_DIR, DatabaseUrlFile, DataDir, Devices
from podium.sweep.runtime.layout import DataDirectory, RuntimeDirectory
from podium.sweep.runtime.service_settings import MAX_GATEWAYS, MAX_TRIALS_PER_DEVICE
from podium.sweep.values.errors import ServiceError

PARENT = "PODIUM_PARENT"


def serve(
    data_dir: DataDir = DEFAULT_DATA_DIR,
    host: Annotated[
        str, typer.Option(help="address to listen on; other than loopback requires TLS, own or a proxy's")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="port of the API; 0: any free port")] = 8300,
    gateway_port: Annotated[int, typer.Option(min=0, max=65535, help="port of the gateway; 0: any free port")] = 8301,
    gateways: Annotated[
        int, typer.Option(min=1, max=MAX_GATEWAYS, help="gateway processes on that port, at most one for each core")
    ] = 1,
    devices: Devices = "auto",
    trials_per_device: Annotated[
        int,
        typer.Option(min=1, max=MAX_TRIALS_PER_DEVICE, help="most trials that share a device, also on nodes"),
    ] = 1,
    cluster: Annotated[
        str,
        typer.Option(metavar="ADDRESS", help="this machine's address for nodes on other machines: `podium node join`"),
    ] = "",
    ray_tls: Annotated[
        bool, typer.Option("--ray-tls", help="with --cluster: encrypt Ray's connections between the machines")
    ] = False,
    artifact_url: Annotated[
        str,
        typer.Option(metavar="URL", help="object store for the files of nodes: s3://, gs://, az:// or file://"),
    ] = "",
    artifact_credentials: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="with its credentials as NAME=VALUE; default: the environment"),
    ] = None,
    ray_address: Annotated[
        str,
        typer.Option(metavar="HOST:PORT", help="run trials on the nodes of this Ray cluster, which exists already"),
    ] = "",
    ray_token: Annotated[
        Path | None, typer.Option(metavar="FILE", help="the token of that cluster, if it has token authentication")
    ] = None,
    max_slots: Annotated[
        int | None, typer.Option(min=1, max=10_000, help="most slots at a time on that cluster [default: 8]")
    ] = None,
    cpus_per_slot: Annotated[
        int | None, typer.Option(min=1, max=10_000, help="CPUs of a slot without a GPU on that cluster [default: 1]")
    ] = None,
    idle_release: Annotated[
        float | None,
        typer.Option(metavar="SECONDS", min=1, help="release a slot after this time without a trial [default: 300]"),
    ] = None,
    node_data_dir: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="on its nodes, for code, data and running trials [default: TMPDIR]"),
    ] = None,
    standby: Annotated[
        bool,
        typer.Option(
            "--standby", help="wait while another service of the PostgreSQL database leads, and take over when it fails"
        ),
    ] = False,
    notify: Annotated[
        Path | None,
        typer.Option(metavar="URL-FILE", help="notify these Apprise URLs (mail, chat, webhooks); extra: notify"),
    ] = None,
    database_url_file: DatabaseUrlFile = None,
    allowed_host: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="another host name under which clients reach the service; repeatable"),
    ] = None,
    tls_cert: Annotated[Path | None, typer.Option(metavar="FILE", help="certificate (PEM, with its chain)")] = None,
    tls_key: Annotated[Path | None, typer.Option(metavar="FILE", help="its private key (PEM)")] = None,
    behind_proxy: Annotated[
        list[str] | None,
        typer.Option(metavar="ADDRESS", help="a trusted TLS proxy that sends X-Forwarded-For; repeatable"),
    ] = None,
) -> None:
    """Run the service until Ctrl-C. Its components: Ray, the API, the scheduler, the ensemble host and the gateways."""
    names, proxies = tuple(allowed_host or ()), tuple(behind_proxy or ())
    try:
        lazy.listen_policy.check(host, tls_cert, tls_key, proxies=proxies, names=names)
        plan = lazy.service_settings.DevicePlan.parse(devices)
        if cluster:
            lazy.listen_policy.check_cluster(cluster)
        if ray_tls and ray_address:
            raise ServiceError("--ray-tls: not with --ray-address; that cluster has settings of its own, RAY_USE_TLS")
        if ray_tls and not cluster:
            raise ServiceError("--ray-tls: give --cluster ADDRESS as well; on one machine Ray listens on loopback only")
        if artifact_credentials and not artifact_url:
            raise ServiceError(
                "--artifact-credentials: give --artifact-url as well, the object store that they are for"
            )
        if notify is not None:
            lazy.notification_check.check(notify)
        if artifact_url:
            artifact_url = lazy.object_store_url.normalized(artifact_url)
        joined = lazy.joined_cluster_options.joined_cluster(
            ray_address,
            cluster=cluster,
            plan=plan,
            token=ray_token,
            max_slots=max_slots,
            cpus_per_slot=cpus_per_slot,
            idle_release_s=idle_release,
            node_data_dir=node_data_dir,
            trials_per_device=trials_per_device,
        )
    except ServiceError as error:
        raise typer.BadParameter(str(error)) from error
    data = DataDirectory(data_dir.absolute(), socket.gethostname() if standby else "")
    with _interrupts_held():
        if sys.stderr.isatty():
            _print(f"Starting Podium (data in {data.root}, devices: {devices}); prints a login link when it is ready")
        if remark := lazy.sharing_remark(plan, trials_per_device):
            _print(remark)
        startup = lazy.startup
        parent = os.environ.pop(PARENT, None)
        if parent is not None:
            lazy.die_with_parent(int(parent), signal.SIGTERM)
        settings = lazy.service_settings.ServiceSettings(
            data_dir=str(data.root),
            runtime_dir=str(RuntimeDirectory.of(data).root),
            service=data.service,
            standby=standby,
            host=host,
            port=port or lazy.ports.free_port(),
            gateway_port=gateway_port or lazy.ports.free_port(),
            gateways=gateways,
            devices=plan,
            trials_per_device=trials_per_device,
            cluster=cluster,
            ray_tls=ray_tls,
            artifact_url=artifact_url,
            artifact_credentials=_absolute(artifact_credentials),
            notify=_absolute(notify),
            database_url_file=_absolute(database_url_file),
            joined=joined,
            allowed_hosts=lazy.listen_policy.names_of(host, names),
            tls_cert=_absolute(tls_cert),
            tls_key=_absolute(tls_key),
            proxies=proxies,
        )
    startup.serve(settings, _print)


def _absolute(file: Path | None) -> str:
    return "" if file is None else str(file.absolute())


@contextlib.contextmanager
def _interrupts_held() -> Iterator[None]:
    """Defer SIGINT and SIGTERM while modules are imported.

    Python ignores an interrupt that arrives in a callback of its import locks. One that arrives in `exec` of a text, as
    when a dataclass is made, ends the process by the signal, even if it is caught.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _print(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
