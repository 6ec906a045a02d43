"""`podium serve`: the service, until Ctrl-C or SIGTERM; cli."""

from __future__ import annotations

import os
import signal
import sys
from typing import Annotated

import typer

from api.commands.options import DEFAULT_DATA_DIR, DataDir, Devices

PARENT = "PODIUM_PARENT"


def serve(
    data_dir: DataDir = DEFAULT_DATA_DIR,
    host: Annotated[str, typer.Option(help="address to listen on; loopback only")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="port of the API; 0 takes a free one")] = 8300,
    gateway_port: Annotated[int, typer.Option(min=0, max=65535, help="port of the predictions; 0: a free one")] = 8301,
    devices: Devices = "auto",
    allowed_host: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="another name by which browsers and clients call the service; repeatable"),
    ] = None,
) -> None:
    """Run the service until Ctrl-C. It is Ray, the API, the scheduler, the ensemble host and the gateway."""
    # Imported now: `podium --help` needs none of it.
    from api import supervisor
    from api.host_names import is_host_name
    from sweep.errors import ServiceError
    from sweep.layout import DataDirectory, RuntimeDirectory
    from sweep.processes import die_with_parent
    from sweep.settings import DevicePlan, ServiceSettings

    if host not in ("127.0.0.1", "localhost", "::1"):
        raise typer.BadParameter(
            f"--host {host}: this version listens on loopback only; put a proxy with TLS before it"
        )
    for name in allowed_host or ():
        if not is_host_name(name):
            raise typer.BadParameter(f"--allowed-host {name}: write a name, as podium.example.org, or name:port")
    try:
        plan = DevicePlan.parse(devices)
    except ServiceError as error:
        raise typer.BadParameter(str(error)) from error
    parent = os.environ.pop(PARENT, None)
    if parent is not None:
        die_with_parent(int(parent), signal.SIGTERM)
    data = DataDirectory(data_dir.absolute())
    settings = ServiceSettings(
        data_dir=str(data.root),
        runtime_dir=str(RuntimeDirectory.of(data).root),
        host=host,
        port=port or supervisor.free_port(),
        gateway_port=gateway_port or supervisor.free_port(),
        devices=plan,
        allowed_hosts=tuple(allowed_host or ()),
    )
    supervisor.serve(settings, lambda line: print(line, file=sys.stderr, flush=True))
