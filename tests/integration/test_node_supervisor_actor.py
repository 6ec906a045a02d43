"""A supervisor starts the guardian, the process template and the agent of a node; here without Ray."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from podium.sweep.ray_cluster.node_services_actor import (
    AGENT_NAME,
    ANY_PORTS,
    NodeSupervisor,
    NodeSupervisorSettings,
    data_folder,
)
from podium.sweep.runtime import cluster_certificates
from podium.sweep.runtime.joined_node_settings import NodeSettings
from podium.sweep.runtime.layout import DataDirectory
from podium.sweep.runtime.process_title import process_name
from podium.sweep.runtime.runtime_directory import RuntimeDirectory
from podium.sweep.values.errors import FencedError
from tests.running_service import wait_for

FOREVER_S = 1e9
NOWHERE = "https://127.0.0.1:1"


@pytest.fixture
def settings(tmp_path: Path) -> NodeSupervisorSettings:
    certificate = tmp_path / "certificate"
    cluster_certificates.ensure(certificate, tmp_path / "key", "127.0.0.1")
    return NodeSupervisorSettings(
        "podium-abc", "b", "127.0.0.1", 0, str(tmp_path / "node"), NOWHERE, "token", certificate.read_text(), FOREVER_S
    )


@pytest.fixture
def supervisor() -> Iterator[NodeSupervisor]:
    made = NodeSupervisor()
    yield made
    made.stop()


def test_supervisor_starts_what_slots_need_once(supervisor: NodeSupervisor, settings: NodeSupervisorSettings) -> None:
    kept = supervisor.start(settings)
    assert not isinstance(kept, str)
    assert Path(kept.template_socket).exists() and not kept.withhold_credentials
    runtime = RuntimeDirectory.of(DataDirectory(data_folder(settings)))
    assert NodeSettings.load(runtime.settings_file).member_ports == ANY_PORTS
    assert supervisor.start(settings) is kept


def test_supervisor_that_outlived_its_service_refuses_other_settings(
    supervisor: NodeSupervisor, settings: NodeSupervisorSettings
) -> None:
    kept = supervisor.start(settings)
    refused = supervisor.start(replace(settings, token="another"))
    assert isinstance(refused, str) and "other settings" in refused
    assert supervisor.start(settings) is kept


def test_agent_reports_to_the_service_that_has_taken_over(
    supervisor: NodeSupervisor, settings: NodeSupervisorSettings
) -> None:
    kept = supervisor.start(replace(settings, epoch=3))
    (before,) = wait_for("the agent runs", lambda: agents(settings))
    successor = replace(settings, url="https://127.0.0.1:2", epoch=5)
    assert supervisor.start(successor) is kept, "the slots keep their sockets"
    runtime = RuntimeDirectory.of(DataDirectory(data_folder(settings)))
    assert NodeSettings.load(runtime.settings_file).url == successor.url
    wait_for("the agent was started again", lambda: agents(settings) and agents(settings) != [before])
    with pytest.raises(FencedError, match="belongs to the scheduler with epoch 5"):
        supervisor.start(replace(settings, epoch=4))
    assert NodeSettings.load(runtime.settings_file).url == successor.url


def agents(settings: NodeSupervisorSettings) -> list[int]:
    """The processes of the agent of this node: their command names its settings."""
    file = str(RuntimeDirectory.of(DataDirectory(data_folder(settings))).settings_file)
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if process_name(int(path.name)) == AGENT_NAME and file in (path / "cmdline").read_text():
                found.append(int(path.name))
    return found
