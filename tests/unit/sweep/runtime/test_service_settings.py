"""Settings of a service: the device plan is parsed or rejected, and settings survive the JSON round trip."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from podium.sweep.runtime.service_settings import MAX_DEFAULT_CPU_SLOTS, DevicePlan, ServiceSettings, available_cores
from podium.sweep.values.errors import ServiceError


@pytest.mark.parametrize(
    ("text", "plan"),
    [
        ("auto", DevicePlan("auto")),
        ("gpu", DevicePlan("gpu")),
        ("cpu", DevicePlan("cpu")),
        ("cpu:3", DevicePlan("cpu", 3)),
        ("pretend-gpu:2", DevicePlan("pretend-gpu", 2)),
    ],
)
def test_device_plan_is_parsed(text: str, plan: DevicePlan) -> None:
    assert DevicePlan.parse(text) == plan


@pytest.mark.parametrize("text", ["", "tpu", "cpu:0", "cpu:-1", "cpu:x", "cpu:", "gpu:2", "auto:1", "CPU", "cpu:99999"])
def test_invalid_device_plan_is_rejected_with_valid_forms(text: str) -> None:
    with pytest.raises(ServiceError, match="must be auto, gpu, cpu, cpu:N or pretend-gpu:N"):
        DevicePlan.parse(text)


def test_cpu_slots_default_to_number_of_cores() -> None:
    assert DevicePlan("cpu", 20).cpu_slots == 20
    assert DevicePlan("cpu").cpu_slots == min(available_cores(), MAX_DEFAULT_CPU_SLOTS)


def test_saved_settings_are_loaded_and_readable_by_their_owner_only(tmp_path: Path) -> None:
    settings = ServiceSettings(
        "data",
        str(tmp_path),
        host="0.0.0.0",
        port=1,
        gateway_port=2,
        devices=DevicePlan("cpu", 2),
        allowed_hosts=("podium.example",),
    )
    path = settings.save()
    assert ServiceSettings.load(path) == settings
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert (settings.url, settings.gateway_url) == ("http://127.0.0.1:1", "http://127.0.0.1:2")
    assert settings.data.database.parent == settings.data.root


def test_several_gateways_are_numbered_and_have_a_socket_each() -> None:
    one, two = ServiceSettings("data", "run"), ServiceSettings("data", "run", gateways=2)
    assert (one.gateway_names, [path.name for path in one.gateway_sockets]) == (("gateway",), ["gateway.sock"])
    assert two.gateway_names == ("gateway-1", "gateway-2")
    assert [path.name for path in two.gateway_sockets] == ["gateway-1.sock", "gateway-2.sock"]


def test_ipv6_address_is_bracketed_and_cookie_contains_port() -> None:
    settings = ServiceSettings("data", "run", host="::1", port=9)
    assert (settings.url, settings.session_cookie) == ("http://[::1]:9", "podium_session_9")
