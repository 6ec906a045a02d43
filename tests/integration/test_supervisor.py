"""The supervisor with components that only send heartbeats: one that hangs is shown, killed and restarted."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from podium.api.serve.supervisor import Supervisor
from podium.sweep.ray_cluster import ray_connection_settings
from podium.sweep.runtime import component_status_reader
from podium.sweep.runtime.layout import DataDirectory
from podium.sweep.runtime.runtime_directory import RuntimeDirectory
from podium.sweep.runtime.service_settings import ServiceSettings
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
    modules=dict.fromkeys(MODULES, "tests.heartbeat_component"),
    heartbeats=Heartbeats(silent_s=1.0, hung_s=3.0),
    tick_s=0.1,
).run()
"""
STOP_TWICE = """
import os, signal, sys
from pathlib import Path
from podium.api.serve.supervised_components import MODULES
from podium.api.serve.supervisor import Supervisor
from podium.sweep.runtime.service_settings import ServiceSettings

def stop(is_stopping):
    for name in sys.argv[2:]:
        os.kill(os.getpid(), signal.Signals[name])
    assert is_stopping()

supervisor = Supervisor(
    ServiceSettings.load(Path(sys.argv[1])), print, modules=dict.fromkeys(MODULES, "tests.heartbeat_component")
)
supervisor.run(stop)
print("restarting:", supervisor.restarting)
"""


@pytest.fixture
def data(tmp_path: Path) -> DataDirectory:
    made = DataDirectory(tmp_path / "data")
    made.prepare()
    ray_connection_settings.ensure_token(made)
    return made


@pytest.fixture
def supervisor(tmp_path: Path, data: DataDirectory, request: pytest.FixtureRequest) -> Iterator[subprocess.Popen[str]]:
    """A running `serve` with components that send heartbeats; the parameter is the number of gateways."""
    runtime = RuntimeDirectory(tmp_path / "run")
    runtime.prepare()
    address = ray_connection_settings.address_file(runtime)
    address.parent.mkdir(parents=True)
    address.write_text("127.0.0.1:1")
    settings = ServiceSettings(str(data.root), str(runtime.root), gateways=getattr(request, "param", 1))
    with subprocess.Popen(
        [sys.executable, "-c", SUPERVISE, str(settings.save())],
        cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)}, stdout=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        try:
            _said(process, "Podium is ready")
            yield process
        finally:
            process.send_signal(signal.SIGCONT)
            process.terminate()
            process.communicate(timeout=30)


def _said(process: subprocess.Popen[str], words: str) -> str:
    """The next log line with this message."""
    assert process.stdout is not None
    return next(line for line in process.stdout if words in line)


def _part(data: DataDirectory, name: str = "scheduler") -> dict[str, Any]:
    return next(part for part in component_status_reader.read_components(data) if part["name"] == name)


def test_hanging_component_is_unresponsive_then_killed_and_restarted(
    supervisor: subprocess.Popen[str], data: DataDirectory
) -> None:
    before = _part(data)
    os.kill(before["pid"], signal.SIGSTOP)
    _said(supervisor, "scheduler: missed heartbeat")  # on a busy machine, others may miss theirs too
    wait_for("it is shown so", lambda: _part(data)["state"] == "silent")
    assert _said(supervisor, "scheduler") == "scheduler unresponsive for 3 s; killing it\n"
    assert "scheduler exited with status -9; restarting it" in _said(supervisor, "scheduler")
    wait_for("another is ready", lambda: _part(data)["state"] == "ready" and _part(data)["pid"] != before["pid"])


def test_component_is_ready_when_heartbeat_resumes(supervisor: subprocess.Popen[str], data: DataDirectory) -> None:
    before = _part(data, "host")
    os.kill(before["pid"], signal.SIGSTOP)
    _said(supervisor, "host: missed heartbeat")
    os.kill(before["pid"], signal.SIGCONT)
    _said(supervisor, "host: heartbeat resumed")
    wait_for("it is ready", lambda: _part(data, "host") == before)


def test_component_that_dies_while_serve_is_suspended_is_not_ready(
    supervisor: subprocess.Popen[str], data: DataDirectory
) -> None:
    supervisor.send_signal(signal.SIGSTOP)
    os.kill(_part(data, "host")["pid"], signal.SIGKILL)
    wait_for("it is shown as dead", lambda: _part(data, "host")["state"] == "dead")
    assert json.loads(data.service_file.read_text())["parts"][0]["state"] == "ready"


@pytest.mark.parametrize("supervisor", [2], indirect=True)
def test_each_gateway_is_restarted_alone(supervisor: subprocess.Popen[str], data: DataDirectory) -> None:
    before = {part["name"]: part for part in component_status_reader.read_components(data)}
    assert {"gateway-1", "gateway-2"} <= before.keys() and "gateway" not in before
    os.kill(before["gateway-2"]["pid"], signal.SIGKILL)
    _said(supervisor, "gateway-2 exited with status -9; restarting it")
    wait_for("another is ready", lambda: _part(data, "gateway-2")["state"] == "ready")
    after = {part["name"]: part for part in component_status_reader.read_components(data)}
    assert after["gateway-2"]["restarts"] == 1
    assert {name for name in before if after[name] != before[name]} == {"gateway-2"}


def test_unwritable_file_is_reported_once(tmp_path: Path, data: DataDirectory) -> None:
    said: list[str] = []
    supervisor = Supervisor(ServiceSettings(str(data.root), str(tmp_path / "run")), said.append)
    data.service_file.mkdir()
    for _ in range(3):
        supervisor.publish()
    assert said == [f"cannot write {data.service_file}: Is a directory; retrying"]
    data.service_file.rmdir()
    supervisor.publish()
    assert _part(data)["state"] == "waiting"


@pytest.mark.parametrize(("signals", "restarting"), [(("SIGHUP", "SIGTERM"), True), (("SIGTERM", "SIGHUP"), False)])
def test_first_signal_decides_whether_trials_on_nodes_continue(
    tmp_path: Path, data: DataDirectory, signals: tuple[str, str], restarting: bool
) -> None:
    runtime = RuntimeDirectory(tmp_path / "run")
    runtime.prepare()
    settings = ServiceSettings(str(data.root), str(runtime.root), cluster="127.0.0.1")
    said = subprocess.run(
        [sys.executable, "-c", STOP_TWICE, str(settings.save()), *signals],
        cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)}, stdout=subprocess.PIPE, text=True, timeout=60,
        check=True,
    ).stdout  # fmt: skip
    assert f"restarting: {restarting}" in said
