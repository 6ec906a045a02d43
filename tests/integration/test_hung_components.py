"""A component that hangs is killed and restarted: its event loop blocked, or its threads occupied.

Stopped components of a service: `test_gateways`, whose service has two of one kind.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from podium.api.serve import ports
from podium.sweep.ray_cluster import ray_connection_settings
from podium.sweep.runtime import component_status_reader
from podium.sweep.runtime.layout import DataDirectory
from podium.sweep.runtime.runtime_directory import RuntimeDirectory
from podium.sweep.runtime.service_settings import ServiceSettings
from tests.debugger import attached_debugger
from tests.repository import ROOT
from tests.running_service import wait_for

SUPERVISE = """
import sys
from pathlib import Path
from podium.api.serve.missed_component_heartbeats import Heartbeats
from podium.api.serve.supervised_components import MODULES
from podium.api.serve.supervisor import Supervisor
from podium.sweep.runtime.service_settings import ServiceSettings

Supervisor(
    ServiceSettings.load(Path(sys.argv[1])),
    lambda line: print(line, flush=True),
    modules={**dict.fromkeys(MODULES, "tests.heartbeat_component"), "api": "tests.blockable_component"},
    heartbeats=Heartbeats(silent_s=4.0, hung_s=8.0),
    tick_s=0.1,
).run()
"""


@pytest.fixture
def settings(tmp_path: Path) -> ServiceSettings:
    data, runtime = DataDirectory(tmp_path / "data"), RuntimeDirectory(tmp_path / "run")
    data.prepare()
    runtime.prepare()
    ray_connection_settings.ensure_token(data)
    address = ray_connection_settings.address_file(runtime)
    address.parent.mkdir(parents=True)
    address.write_text("127.0.0.1:1")
    return ServiceSettings(str(data.root), str(runtime.root), port=ports.free_port())


@pytest.fixture
def supervisor(settings: ServiceSettings) -> Iterator[subprocess.Popen[str]]:
    """A running `serve` whose api can be made to hang."""
    with subprocess.Popen(
        [sys.executable, "-c", SUPERVISE, str(settings.save())],
        cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)}, stdout=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        try:
            _said(process, "Podium is ready")
            yield process
        finally:
            process.terminate()
            process.communicate(timeout=30)


def _said(process: subprocess.Popen[str], words: str) -> str:
    """The next log line with these words."""
    assert process.stdout is not None
    return next(line for line in process.stdout if words in line)


def _pid(settings: ServiceSettings, name: str = "api") -> int:
    parts = component_status_reader.read_components(settings.data)
    return next(part["pid"] or 0 for part in parts if part["name"] == name)


@pytest.mark.parametrize(
    "path", ["/loop", *(pytest.param(path, marks=pytest.mark.slow) for path in ("/anyio", "/asyncio"))]
)
def test_api_with_a_blocked_event_loop_or_without_free_threads_is_replaced(
    settings: ServiceSettings, supervisor: subprocess.Popen[str], path: str
) -> None:
    before = _pid(settings)
    with contextlib.suppress(httpx2.HTTPError):
        httpx2.get(settings.url + path, timeout=1.0)
    assert _said(supervisor, "api: missed heartbeat")
    assert "api unresponsive for 8 s; killing it" in _said(supervisor, "api unresponsive")
    assert "api exited with status -9; restarting it" in _said(supervisor, "api exited")
    wait_for("another one answers", lambda: _pid(settings) != before and _answers(settings))


def test_component_in_a_debugger_is_not_killed(settings: ServiceSettings, supervisor: subprocess.Popen[str]) -> None:
    api, host = (_pid(settings, name) for name in ("api", "host"))
    with attached_debugger(api):
        for pid in (api, host):
            os.kill(pid, signal.SIGSTOP)
        _said(supervisor, "host unresponsive")
        wait_for("another host is ready", lambda: _pid(settings, "host") not in (0, host))
        assert _pid(settings, "api") == api
        os.kill(api, signal.SIGCONT)
        _said(supervisor, "api: heartbeat resumed")
    assert _pid(settings, "api") == api


def _answers(settings: ServiceSettings) -> bool:
    with contextlib.suppress(httpx2.HTTPError):
        return httpx2.get(settings.url, timeout=1.0).status_code == 200
    return False
