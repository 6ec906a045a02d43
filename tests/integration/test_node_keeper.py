"""A keeper starts the guardian, the process template and the agent of a node; here without Ray."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from podium.sweep.runtime import cluster_certificates
from podium.sweep.runtime.layout import DataDirectory, RuntimeDirectory
from podium.sweep.runtime.node_settings import NodeSettings
from podium.sweep.slots.node_keeper import NodeKeeper, NodeOrder, data_folder

FOREVER_S = 1e9
NOWHERE = "https://127.0.0.1:1"


@pytest.fixture
def order(tmp_path: Path) -> NodeOrder:
    certificate = tmp_path / "certificate"
    cluster_certificates.ensure(certificate, tmp_path / "key", "127.0.0.1")
    return NodeOrder(
        "podium-abc", "b", "127.0.0.1", 0, str(tmp_path / "node"), NOWHERE, "token", certificate.read_text(), FOREVER_S
    )


@pytest.fixture
def keeper() -> Iterator[NodeKeeper]:
    made = NodeKeeper()
    yield made
    made.stop()


def test_keeper_starts_what_slots_need_once_and_no_members(keeper: NodeKeeper, order: NodeOrder) -> None:
    kept = keeper.start(order)
    assert not isinstance(kept, str)
    assert Path(kept.template_socket).exists() and not kept.withhold_credentials
    runtime = RuntimeDirectory.of(DataDirectory(data_folder(order)))
    assert NodeSettings.load(runtime.settings_file).member_ports is None
    assert keeper.start(order) is kept


def test_keeper_that_outlived_its_service_refuses_other_settings(keeper: NodeKeeper, order: NodeOrder) -> None:
    kept = keeper.start(order)
    refused = keeper.start(replace(order, url="https://127.0.0.1:2"))
    assert isinstance(refused, str) and "other settings" in refused
    assert keeper.start(order) is kept
