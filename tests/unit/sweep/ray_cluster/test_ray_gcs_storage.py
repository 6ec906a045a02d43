"""When the store of Ray is kept for a restarted head."""

from __future__ import annotations

import os
import time
from dataclasses import replace
from pathlib import Path

import pytest

from podium.sweep.ray_cluster.ray_connection_settings import KEEP_S, ensure_token, environment
from podium.sweep.ray_cluster.ray_gcs_storage import RayStore
from podium.sweep.runtime.existing_cluster_mode import ExistingCluster
from podium.sweep.runtime.service_settings import ServiceSettings


@pytest.fixture
def settings(tmp_path: Path) -> ServiceSettings:
    made = ServiceSettings(str(tmp_path / "data"), str(tmp_path / "run"), cluster="10.0.0.5")
    made.data.prepare()
    ensure_token(made.data)
    return made


def _store(settings: ServiceSettings) -> RayStore:
    found = RayStore.of(settings)
    assert found is not None
    return found


@pytest.fixture
def used(settings: ServiceSettings) -> Path:
    """A store that Ray has used; a file of the GCS."""
    store = _store(settings)
    assert not store.prepare(time.time())
    assert store.gcs.stat().st_mode & 0o077 == 0
    file = store.gcs / "file"
    file.touch()
    return file


def test_only_the_head_of_its_own_cluster_has_a_store(settings: ServiceSettings) -> None:
    assert RayStore.of(replace(settings, cluster="")) is None
    assert RayStore.of(replace(settings, existing_cluster=ExistingCluster("10.0.0.9:6379"))) is None


def test_store_is_kept_for_the_same_head(settings: ServiceSettings, used: Path) -> None:
    assert _store(settings).prepare(time.time() + KEEP_S - 60.0)
    assert used.exists()


def test_store_is_removed_when_nodes_no_longer_wait(settings: ServiceSettings, used: Path) -> None:
    assert not _store(settings).prepare(time.time() + KEEP_S + 1.0)
    assert not used.exists()


def test_store_from_the_future_is_removed(settings: ServiceSettings, used: Path) -> None:
    assert not _store(settings).prepare(time.time() - 3600.0)
    assert not used.exists()


@pytest.mark.parametrize("changed", [{"cluster": "10.0.0.6"}, {"ray_tls": True}, {"artifact_url": "s3://b/f"}])
def test_store_of_a_head_that_nodes_do_not_know_is_removed(
    settings: ServiceSettings, used: Path, changed: dict[str, object]
) -> None:
    assert not _store(replace(settings, **changed)).prepare(time.time())  # type: ignore[arg-type]
    assert not used.exists()


def test_store_is_removed_when_the_token_was_replaced(settings: ServiceSettings, used: Path) -> None:
    os.utime(settings.data.ray_token, (1.0, 1.0))
    assert not _store(settings).prepare(time.time())
    assert not used.exists()


def test_store_of_another_version_is_removed(settings: ServiceSettings, used: Path) -> None:
    older = replace(_store(settings), head='{"ray": "2.0.0"}')
    assert not older.prepare(time.time())
    assert not used.exists()


def test_store_with_which_ray_did_not_run_for_long_is_removed(settings: ServiceSettings, used: Path) -> None:
    assert _store(settings).prepare(time.time())
    assert not _store(settings).prepare(time.time()), "Ray has ended at once"
    assert not used.exists()
    assert _store(settings).prepare(time.time())
    _store(settings).pass_probation()
    assert _store(settings).prepare(time.time())


def test_nodes_wait_as_long_as_the_store_is_kept() -> None:
    name = "RAY_gcs_rpc_server_reconnect_timeout_s"
    assert environment(None, cluster=True, wait_s=KEEP_S)[name] == f"{KEEP_S:.0f}"
    assert name not in environment(None, cluster=True)
