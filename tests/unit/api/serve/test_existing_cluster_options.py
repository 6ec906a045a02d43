"""The options of `podium serve` for an existing Ray cluster: what fits together."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from podium.api.serve.existing_cluster_options import existing_cluster
from podium.sweep.runtime.existing_cluster_mode import IDLE_RELEASE_S, MAX_SLOTS, ExistingCluster
from podium.sweep.runtime.service_settings import DevicePlan, ServiceSettings
from podium.sweep.values.errors import ServiceError

NONE: dict[str, Any] = {
    "ray_address": "ray:6379", "cluster": "10.0.0.5", "ray_token": None, "max_slots": None, "cpus_per_slot": None,
    "idle_release": None, "node_data_dir": None, "trials_per_device": 1,
}  # fmt: skip


def test_defaults() -> None:
    expected = ExistingCluster("10.0.0.9:6379", "", MAX_SLOTS, 1, IDLE_RELEASE_S, "")
    assert _parsed(ray_address="10.0.0.9:6379") == expected
    assert _parsed(ray_address="") is None


@pytest.mark.parametrize(("address", "changes", "message"), [
    ("ray:6379", {"cluster": ""}, "give --cluster as well"),
    ("", {"max_slots": 3}, "--max-slots is for an existing Ray cluster"),
    ("", {"ray_token": Path("token")}, "--ray-token is for"),
    ("ray:6379", {"plan": DevicePlan("cpu", 3)}, "must be auto, gpu or cpu"),
    ("ray:6379", {"plan": DevicePlan("pretend-gpu")}, "must be auto, gpu or cpu"),
    ("ray:6379", {"node_data_dir": Path("data")}, "write an absolute path"),
    ("ray:6379", {"ray_token": Path("/nowhere/token")}, "No such file"),
    ("ray:6379", {"trials_per_device": 2}, "--trials-per-device: not with --ray-address"),
    ("ray://ray:10001", {}, "write HOST:PORT"),
    ("ray", {}, "write HOST:PORT"),
    ("auto", {}, "write HOST:PORT"),
    ("ray:65536", {}, "write HOST:PORT"),
])  # fmt: skip
def test_refused(address: str, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ServiceError, match=message):
        _parsed(**{"ray_address": address, **changes})


def test_empty_token_is_refused_and_another_one_is_named_by_its_absolute_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    token = Path("ray.token")
    token.write_text(" \n")
    with pytest.raises(ServiceError, match="the file is empty"):
        _parsed(ray_token=token)
    token.write_text("secret\n")
    parsed = _parsed(ray_token=token)
    assert parsed is not None and parsed.token_file == str(tmp_path / "ray.token")


def test_settings_survive_their_file(tmp_path: Path) -> None:
    settings = ServiceSettings(
        str(tmp_path / "data"),
        str(tmp_path),
        cluster="10.0.0.5",
        existing_cluster=ExistingCluster("ray:6379", "/token", 3),
    )
    assert ServiceSettings.load(settings.save()) == settings
    assert settings.ray_address == "ray:6379" and settings.ray_token == Path("/token")


def _parsed(plan: DevicePlan | None = None, **changes: Any) -> ExistingCluster | None:
    return existing_cluster({**NONE, **changes}, plan or DevicePlan())
