"""Exposure of a running service to the network and to other users: ports of Ray, sockets and files."""

from __future__ import annotations

import ipaddress
import os
import stat
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from podium.sweep.ray_cluster.ray_head_process import AGENT_OPTIONS, IDLE_AGENT, with_idle_agents
from podium.sweep.runtime.runtime_directory import RuntimeDirectory
from tests.bare_grpc import UNAUTHENTICATED, UNIMPLEMENTED, status_without_token
from tests.running_service import RunningService
from tests.specs import builtin_document

# One method of each gRPC service of Ray; they can read and run everything.
METHODS = (
    "/ray.rpc.NodeInfoGcsService/GetAllNodeInfo",
    "/ray.rpc.InternalKVGcsService/InternalKVKeys",
    "/ray.rpc.NodeManagerService/GetNodeStats",
    "/ray.rpc.ObjectManagerService/Pull",
    "/ray.rpc.CoreWorkerService/PushTask",
)
PARTS = {"api", "gateway"}
# The user may have another Ray cluster.
OF_ANOTHER_RAY = {"RAY_AUTH_TOKEN": "0f" * 32, "RAY_ADDRESS": "127.0.0.1:1", "RAY_AUTH_MODE": "disabled"}

Listening = list[tuple[psutil.Process, str, int]]


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService]:
    """A service with a ready ensemble of two members, so that all kinds of processes run."""
    folder = tmp_path_factory.mktemp("service")
    with RunningService(folder / "data", environment=OF_ANOTHER_RAY) as running:
        sweep = running.client.submit(builtin_document(run_cap=2, parameters={"epochs": {"value": 1}}))
        assert running.client.wait(sweep["id"], 120)["state"] == "finished"
        built = running.client.build_ensemble(trial_ids=[1, 2], name="digits")
        running.client.wait_ensemble(built["id"], 120)
        yield running


@pytest.fixture(scope="module")
def processes(service: RunningService) -> list[psutil.Process]:
    """All processes of the service: `serve` and its descendants."""
    return [psutil.Process(service.process.pid), *psutil.Process(service.process.pid).children(recursive=True)]


@pytest.fixture(scope="module")
def listening(processes: list[psutil.Process]) -> Listening:
    """Each process that listens for TCP or receives UDP, with the address and port."""
    return [
        (process, connection.laddr.ip, connection.laddr.port)
        for process in processes
        for connection in process.net_connections("inet")
        if connection.status in (psutil.CONN_LISTEN, psutil.CONN_NONE)
    ]


@pytest.fixture(scope="module")
def of_ray(service: RunningService, listening: Listening) -> Listening:
    """The ports that belong to Ray."""
    ours = {service.pid(name) for name in PARTS}
    return [found for found in listening if found[0].pid not in ours]


def only(processes: list[psutil.Process], name: str) -> psutil.Process:
    """The one process of that name."""
    [found] = [process for process in processes if process.name() == name]
    return found


def test_service_listens_only_on_loopback(listening: Listening, of_ray: Listening) -> None:
    assert len(of_ray) >= 5, "the store, two of the node, scheduler, the slot relay"
    for process, address, port in listening:
        # A dual-stack socket shows IPv4 addresses as mapped.
        shown = ipaddress.ip_address(address.removeprefix("::ffff:"))
        assert shown.is_loopback, f"{process.name()} listens on {address}:{port}"


def test_ray_ports_require_token(of_ray: Listening) -> None:
    for process, _, port in of_ray:
        said = {method: status_without_token(("127.0.0.1", port), method) for method in METHODS}
        known = {method: status for method, status in said.items() if status != UNIMPLEMENTED}
        assert set(known.values()) == {UNAUTHENTICATED}, f"{process.name()} at {port}: {said}"


def test_ray_runs_no_dashboard_agents_or_client_server(processes: list[psutil.Process]) -> None:
    """Whichever extras of Ray are installed: the complete list of processes below `ray start`."""
    raylet = only(processes, "raylet")
    start = raylet.parent()
    assert start is not None and "podium.sweep.ray_cluster.ray_head_process" in start.cmdline()
    assert sorted(child.name() for child in start.children()) == ["gcs_server", "raylet"]
    assert [child.cmdline() for child in raylet.children()] == [["sleep", "infinity"]] * 2, "in place of its agents"
    programs = [" ".join(process.cmdline()[:4]) for process in processes]  # later arguments are commands for others
    assert [program for program in programs if "dashboard" in program or "ray.util.client" in program] == []


@pytest.mark.parametrize("missing", AGENT_OPTIONS)
def test_raylet_without_agent_option_is_refused(missing: str) -> None:
    given = ["raylet", "--head", *(f"{option}python agent.py --port=0" for option in AGENT_OPTIONS)]
    assert with_idle_agents(given) == ["raylet", "--head", *(f"{option}{IDLE_AGENT}" for option in AGENT_OPTIONS)]
    with pytest.raises(RuntimeError, match=rf"has no option {missing}.*constraints\.txt"):
        with_idle_agents([word for word in given if not word.startswith(missing)])


def test_socket_files_are_in_private_folders(service: RunningService, processes: list[psutil.Process]) -> None:
    """Including those of the members, which do not authenticate clients."""
    own = RuntimeDirectory.of(service.data).root
    status = own.lstat()
    assert (stat.S_IMODE(status.st_mode), status.st_uid) == (0o700, os.getuid())
    sockets = {
        str(connection.laddr)
        for process in processes
        for connection in process.net_connections("unix")
        if connection.laddr
    }
    assert [path for path in sockets if not Path(path).is_relative_to(own)] == []
    assert {path for path in sockets if Path(path).name.startswith("r")} >= {
        str(RuntimeDirectory(own).replica_socket(replica, 1)) for replica in (1, 2)
    }


def test_data_directory_is_private(service: RunningService) -> None:
    """Tokens, database, code, weights, logs."""
    root = service.data.root
    open_to_others = [path for path in (root, *root.iterdir()) if path.lstat().st_mode & 0o077]
    assert open_to_others == []


def test_no_process_has_token_in_environment(service: RunningService, processes: list[psutil.Process]) -> None:
    """Not even Ray's actors, which read the token file. `serve` itself has the environment of its user."""
    secrets = [path.read_text().strip() for path in (service.data.admin_token, service.data.ray_token)]
    secrets.append(OF_ANOTHER_RAY["RAY_AUTH_TOKEN"])
    for process in processes[1:]:
        shown = " ".join([*process.cmdline(), *process.environ().values()])
        assert not [secret for secret in secrets if secret in shown], f"{process.name()} {process.pid}"
    assert any(process.environ().get("RAY_AUTH_TOKEN_PATH") for process in processes)
