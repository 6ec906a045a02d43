"""The settings of a service from the options of `podium serve`: what is completed, and what does not fit together."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Any

import pytest

from podium.api.serve.settings_from_options import settings_from
from podium.sweep.runtime.service_settings import DevicePlan, ServiceSettings
from podium.sweep.runtime.setting_cli_options import options_of
from podium.sweep.values.errors import ServiceError

DEFAULTS: dict[str, Any] = {
    **{each.name: each.default for each in options_of(ServiceSettings)}, "data_dir": Path("data"), "devices": "auto",
}  # fmt: skip


def test_without_options_settings_have_their_defaults() -> None:
    found = settings_from(DEFAULTS)
    assert found == ServiceSettings(str(Path("data").absolute()), found.runtime_dir)


def test_options_are_completed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    found = _settings(
        host="192.168.1.5", port=0, devices="cpu:3", cluster="10.0.0.5", artifact_url="s3://bucket/folder/",
        artifact_credentials=Path("credentials"), standby=True, allowed_host=["podium.example"],
        behind_proxy=["10.0.0.7"], database_url_file=Path("url"),
    )  # fmt: skip
    assert found.port > 0 and found.port != 8300
    assert (found.devices, found.service) == (DevicePlan("cpu", 3), socket.gethostname())
    assert (found.artifact_url, found.artifact_credentials) == ("s3://bucket/folder", str(tmp_path / "credentials"))
    assert (found.allowed_hosts, found.proxies) == (("podium.example", "192.168.1.5"), ("10.0.0.7",))
    assert (found.database_url_file, found.tls_cert, found.notify) == (str(tmp_path / "url"), "", "")


def test_existing_ray_cluster_is_part_of_the_settings() -> None:
    found = _settings(ray_address="ray:6379", cluster="10.0.0.5", max_slots=3, idle_release=5.0)
    cluster = found.existing_cluster
    assert cluster is not None
    assert (cluster.address, cluster.max_slots, cluster.idle_release_s) == ("ray:6379", 3, 5.0)


@pytest.mark.parametrize(("options", "message"), [
    ({"ray_tls": True}, "--ray-tls: give --cluster"),
    ({"ray_tls": True, "ray_address": "ray:6379", "cluster": "10.0.0.5"}, "--ray-tls: not with --ray-address"),
    ({"artifact_credentials": Path("file")}, "--artifact-credentials: give --artifact-url as well"),
    ({"artifact_url": "ftp://somewhere"}, "--artifact-url"),
    ({"cluster": "localhost"}, "write the IPv4 address"),
    ({"cluster": "0.0.0.0"}, "other machines cannot reach it"),
    ({"cluster": "127.0.0.1"}, "other machines cannot reach it"),
    ({"notify": Path("/nowhere/urls")}, "/nowhere/urls"),
    ({"max_slots": 3}, "--max-slots is for an existing Ray cluster"),
    ({"allowed_host": ["https://x"]}, "--allowed-host https://x"),
])  # fmt: skip
def test_options_that_do_not_fit_together_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ServiceError, match=message):
        _settings(**options)


def _settings(**options: Any) -> ServiceSettings:
    return settings_from({**DEFAULTS, **options})
