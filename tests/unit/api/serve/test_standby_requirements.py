"""What a standby needs is checked at its start, and each start has a name of its own."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from podium.api.serve import standby_requirements
from podium.sweep.runtime.existing_cluster_mode import ExistingCluster
from podium.sweep.runtime.layout import DataDirectory
from podium.sweep.runtime.service_settings import ServiceSettings
from podium.sweep.values.errors import ServiceError

RAY = ExistingCluster("10.0.0.9:6379")


def test_standby_needs_postgres_and_a_ray_cluster_of_both() -> None:
    with pytest.raises(ServiceError, match="--standby: needs a PostgreSQL database"):
        standby_requirements.check(ServiceSettings("/data", "/run", standby=True, existing_cluster=RAY))
    with pytest.raises(ServiceError, match="--standby: give --ray-address and --cluster as well"):
        standby_requirements.check(ServiceSettings("/data", "/run", standby=True, database_url_file="/url"))
    standby_requirements.check(
        ServiceSettings("/data", "/run", standby=True, database_url_file="/url", existing_cluster=RAY)
    )
    standby_requirements.check(ServiceSettings("/data", "/run"))


def test_starts_of_a_service_share_the_first_part_of_their_names(tmp_path: Path) -> None:
    data = DataDirectory(tmp_path / "data", "alpha")
    data.prepare()
    first, second = standby_requirements.holder(data), standby_requirements.holder(data)
    assert first != second and first.partition("-")[0] == second.partition("-")[0]
    other = DataDirectory(tmp_path / "data", "beta")
    other.prepare()
    assert standby_requirements.holder(other).partition("-")[0] != first.partition("-")[0]
    shutil.copytree(tmp_path / "data", tmp_path / "copy")
    copied = standby_requirements.holder(DataDirectory(tmp_path / "copy", "alpha"))
    assert copied.partition("-")[0] != first.partition("-")[0], "a copy is another service"


def test_services_that_share_a_data_directory_have_folders_of_their_own(tmp_path: Path) -> None:
    root = DataDirectory(tmp_path / "data")
    alpha, beta = DataDirectory(root.root, "alpha"), DataDirectory(root.root, "beta")
    for each in (root, alpha, beta):
        each.prepare()
    own = ("service_lock", "scheduler_lock", "ray_lock", "service_file", "logs", "traffic_history", "start_name")
    for name in own:
        assert len({getattr(each, name) for each in (root, alpha, beta)}) == 3, name
    for name in ("trials", "bundles", "data_cache", "evaluations", "admin_token", "cluster_certificate", "uploads"):
        assert len({getattr(each, name) for each in (root, alpha, beta)}) == 1, name
    assert root.services() == [alpha, beta]
