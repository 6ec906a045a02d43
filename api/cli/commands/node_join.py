"""`podium node join`: gives the devices of this machine to a service on another one, until Ctrl-C; CLI."""

from __future__ import annotations

import socket
import sys
from pathlib import Path
from typing import Annotated

import typer

from podium.api.cli.terminal import lazy_imports


def join(
    head: Annotated[str, typer.Argument(metavar="ADDRESS", help="of `podium serve --cluster ADDRESS`; ADDRESS:PORT")],
    token_file: Annotated[
        Path, typer.Option(metavar="FILE", help="made on the head by `podium token create NAME --role node`")
    ],
    name: Annotated[str, typer.Option(help="name of this node, in the names of its devices; default: host name")] = "",
    devices: Annotated[
        str, typer.Option("--devices", help="auto, gpu, cpu or cpu:N; auto: GPUs, or CPU slots without any")
    ] = "auto",
    address: Annotated[
        str, typer.Option(help="of this machine, for the head; default: the one from which it reaches the head")
    ] = "",
    artifact_credentials: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="of the service's object store, NAME=VALUE; default: the environment"),
    ] = None,
    member_ports: Annotated[
        str, typer.Option(metavar="FIRST-LAST", help="ports of this machine for members of ensembles; open to the head")
    ] = "8400-8499",
    data_dir: Annotated[
        Path, typer.Option("--data-dir", envvar="PODIUM_NODE_DATA_DIR", help="for code, data and running trials")
    ] = Path("podium-node-data"),
) -> None:
    """Run trials of another machine's service on the devices of this one, until Ctrl-C."""
    plan = lazy_imports.service_settings.DevicePlan.parse(devices)
    if plan.kind == "pretend-gpu":
        raise typer.BadParameter("--devices pretend-gpu: only `podium serve` has it, for tests")
    found = lazy_imports.local_devices(plan)
    if not found.count:
        raise typer.BadParameter("--devices gpu: this machine has no GPU; write auto, cpu or cpu:N")
    lazy_imports.node_join_process.join(
        lazy_imports.node_join_process.NodeOptions(
            head=head,
            token_file=token_file,
            data_dir=data_dir.absolute(),
            name=name or socket.gethostname().split(".")[0],
            cpus=plan.cpu_slots,
            gpus=found.count if found.kind == "gpu" else 0,
            address=address,
            artifact_credentials=None if artifact_credentials is None else artifact_credentials.absolute(),
            member_ports=_range(member_ports),
        ),
        lambda line: print(line, file=sys.stderr, flush=True),
    )


def _range(text: str) -> tuple[int, int]:
    first, _, last = text.partition("-")
    if not (first.isdecimal() and last.isdecimal() and 0 < int(first) < int(last) < 1 << 16):
        raise typer.BadParameter(f"--member-ports {text}: write a range of at least two ports, like 8400-8499")
    return int(first), int(last)
