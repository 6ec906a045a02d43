"""The address of Ray, as the guardian reads it."""

from __future__ import annotations

from pathlib import Path

from podium.sweep.ray_cluster import ray_connection_settings
from podium.sweep.runtime.runtime_directory import RuntimeDirectory


def test_ray_is_ready_when_its_address_file_has_content(tmp_path: Path) -> None:
    runtime = RuntimeDirectory(tmp_path)
    assert ray_connection_settings.address_of(runtime) == ""
    runtime.ray.mkdir(parents=True)
    ray_connection_settings.address_file(runtime).touch()
    assert ray_connection_settings.address_of(runtime) == ""
    ray_connection_settings.address_file(runtime).write_text("127.0.0.1:6379\n")
    assert ray_connection_settings.address_of(runtime) == "127.0.0.1:6379"


def test_cluster_without_a_token_is_joined_without_one() -> None:
    found = ray_connection_settings.environment(None, cluster=True)
    assert found["RAY_AUTH_MODE"] == "disabled" and "RAY_AUTH_TOKEN_PATH" not in found
