"""A keeper starts the guardian, the process template and the agent of a node; here without Ray."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from podium.sweep.runtime import cluster_certificates
from podium.sweep.runtime.layout import DataDirectory, RuntimeDirectory
from podium.sweep.runtime.node_settings import NodeSettings
from podium.sweep.slots.node_keeper import NodeKeeper, NodeKeeperSettings, data_folder

FOREVER_S = 1e9
NOWHERE = "https://127.0.0.1:1"


@pytest.fixture
def settings(tmp_path: Path) -> NodeKeeperSettings:
    certificate = tmp_path / "certificate"
    cluster_certificates.ensure(certificate, tmp_path / "key", "127.0.0.1")
    return NodeKeeperSettings(
        "podium-abc", "b", "127.0.0.1", 0, str(tmp_path / "node"), NOWHERE, "token", certificate.read_text(), FOREVER_S
    )


@pytest.fixture
def keeper() -> Iterator[NodeKeeper]:
    made = NodeKeeper()
    yield made
    made.stop()


def test_keeper_starts_what_slots_need_once_and_no_members(keeper: NodeKeeper, settings: NodeKeeperSettings) -> None:
    kept = keeper.start(settings)
    assert not isinstance(kept, str)
    assert Path(kept.template_socket).exists() and not kept.withhold_credentials
    runtime = RuntimeDirectory.of(DataDirectory(data_folder(settings)))
    assert NodeSettings.load(runtime.settings_file).member_ports is None
    assert keeper.start(settings) is kept


def test_keeper_that_outlived_its_service_refuses_other_settings(
    keeper: NodeKeeper, settings: NodeKeeperSettings
) -> None:
    kept = keeper.start(settings)
    refused = keeper.start(replace(settings, url="https://127.0.0.1:2"))
    assert isinstance(refused, str) and "other settings" in refused
    assert keeper.start(settings) is kept
