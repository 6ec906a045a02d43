"""Wake-ups: each gateway process receives one, also if another one is not running."""

from __future__ import annotations

import threading
from pathlib import Path

from podium.sweep.runtime.component_startup_and_heartbeats import on_wake, wake_gateways
from podium.sweep.runtime.service_settings import ServiceSettings

TIMEOUT_S = 10.0


def test_every_gateway_that_runs_is_notified(tmp_path: Path) -> None:
    settings = ServiceSettings("data", str(tmp_path), gateways=3)
    first, _, third = settings.gateway_names
    woken = {name: threading.Event() for name in (first, third)}
    for name, event in woken.items():
        on_wake(settings.runtime.wake_socket(name), event.set)
    wake_gateways(settings)
    assert all(event.wait(TIMEOUT_S) for event in woken.values())
