"""Scheduler and host whose loop hangs are killed and restarted; a slow disk or database is no hang.

Their turns have several waits, each of which is shorter than the time without a heartbeat after which a component is
hung, and which together are longer.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from podium.api.serve import ports
from podium.sweep.ray_cluster import ray_connection_settings
from podium.sweep.runtime import component_status_reader
from podium.sweep.runtime.service_settings import ServiceSettings
from tests.hindered_component import HANG, SLOW
from tests.repository import ROOT
from tests.running_service import wait_for
from tests.service_rig import ServiceRig

pytestmark = pytest.mark.sqlite

HUNG_S = 8.0
WAIT_S = 3.0
LOOPS = ("scheduler", "host")
SUPERVISE = f"""
import sys
from pathlib import Path
from podium.api.serve.missed_component_heartbeats import Heartbeats
from podium.api.serve.supervised_components import MODULES
from podium.api.serve.supervisor import Supervisor
from podium.sweep.runtime.service_settings import ServiceSettings

Supervisor(
    ServiceSettings.load(Path(sys.argv[1])),
    lambda line: print(line, flush=True),
    modules={{
        **dict.fromkeys(MODULES, "tests.heartbeat_component"),
        **dict.fromkeys({LOOPS}, "tests.hindered_component"),
    }},
    heartbeats=Heartbeats(silent_s={HUNG_S - 1}, hung_s={HUNG_S}),
    tick_s=0.1,
).run()
"""


@pytest.fixture
def settings(tmp_path: Path) -> ServiceSettings:
    """Of a service with an ensemble of three members, for each of which the host looks for a device in each turn."""
    rig = ServiceRig(tmp_path)
    sweep_id = rig.sweep()
    rig.ensemble(sweep_id, [rig.trial(sweep_id, number, 0.5) for number in range(3)])
    rig.close()
    ray_connection_settings.ensure_token(rig.data)
    address = ray_connection_settings.address_file(rig.settings.runtime)
    address.parent.mkdir(parents=True)
    address.write_text("127.0.0.1:1")
    return replace(rig.settings, port=ports.free_port())


@pytest.fixture
def supervisor(settings: ServiceSettings) -> Iterator[subprocess.Popen[str]]:
    """A running `serve` whose scheduler and host can be hindered."""
    with subprocess.Popen(
        [sys.executable, "-c", SUPERVISE, str(settings.save())],
        cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)}, stdout=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        try:
            wait_for("scheduler and host are ready", lambda: {"ready"} == {_part(settings, name)[0] for name in LOOPS})
            yield process
        finally:
            for name in (SLOW, HANG):
                (settings.runtime.root / name).unlink(missing_ok=True)
            process.terminate()
            process.communicate(timeout=30)


def _part(settings: ServiceSettings, name: str) -> tuple[str, int, int]:
    """State, process and restarts of a component."""
    for part in component_status_reader.read_components(settings.data):
        if part["name"] == name:
            return part["state"], part["pid"] or 0, part["restarts"]
    return "", 0, 0


def test_loops_that_hang_are_killed_and_restarted(settings: ServiceSettings, supervisor: subprocess.Popen[str]) -> None:
    before = {name: _part(settings, name)[1] for name in LOOPS}
    (settings.runtime.root / HANG).touch()
    assert supervisor.stdout is not None
    killed = {f"{name} unresponsive for {HUNG_S:.0f} s; killing it" for name in LOOPS}
    for line in supervisor.stdout:
        killed.discard(line.strip())
        if not killed:
            break
    (settings.runtime.root / HANG).unlink()
    for name in LOOPS:
        wait_for(f"another {name} is ready", lambda name=name: _part(settings, name)[0] == "ready")  # type: ignore[misc]
        assert _part(settings, name)[1] not in (0, before[name])
        assert _part(settings, name)[2] == 1


@pytest.mark.slow
def test_slow_disk_does_not_kill_the_loops_that_wait_for_it(
    settings: ServiceSettings, supervisor: subprocess.Popen[str]
) -> None:
    before = {name: _part(settings, name) for name in LOOPS}
    (settings.runtime.root / SLOW).write_text(str(WAIT_S))
    waits = {name: settings.runtime.root / f"{name}.waits" for name in LOOPS}
    enough = 2 * HUNG_S / WAIT_S
    for name, file in waits.items():
        wait_for(f"{name} has waited", lambda file=file: file.exists() and len(file.read_text().split()) > enough)  # type: ignore[misc]
    assert {name: _part(settings, name) for name in LOOPS} == before
