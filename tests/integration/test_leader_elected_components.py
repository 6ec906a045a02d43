"""The supervisor starts scheduler and host when its service leads, and ends them when another one does."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

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
from podium.api.serve.supervised_components import LEADER_ELECTED, MODULES
from podium.api.serve.supervisor import Supervisor
from podium.sweep.runtime.service_settings import ServiceSettings

Supervisor(
    ServiceSettings.load(Path(sys.argv[1])),
    lambda line: print(line, flush=True),
    modules={
        **dict.fromkeys(MODULES, "tests.heartbeat_component"),
        **dict.fromkeys(LEADER_ELECTED, "tests.leader_elected_component"),
        "leadership": "tests.leadership_component",
    },
    tick_s=0.1,
).run()
"""
ADDRESS = "127.0.0.1:1"


class Service:
    """A `serve` whose leadership the test decides."""

    def __init__(self, folder: Path, *, epoch: int = 0, failing: str = "", standby: bool = False) -> None:
        """`epoch`: with which it leads from the start. `failing`: components that exit when they have an epoch."""
        self.data = DataDirectory(folder / "data")
        self.data.prepare()
        ray_connection_settings.ensure_token(self.data)
        self.runtime = RuntimeDirectory(folder / "run")
        self.runtime.prepare()
        address = ray_connection_settings.address_file(self.runtime)
        address.parent.mkdir(parents=True)
        address.write_text(ADDRESS)
        self.fail(failing)
        self.lead(epoch)
        settings = ServiceSettings(
            str(self.data.root),
            str(self.runtime.root),
            database_url_file="/nowhere",
            notify="/nowhere",
            standby=standby,
        )
        self.process = subprocess.Popen(
            [sys.executable, "-c", SUPERVISE, str(settings.save())],
            cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)}, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip

    def lead(self, epoch: int) -> None:
        """The service leads with this epoch, or not at all (0)."""
        (self.runtime.root / "epoch.new").write_text(str(epoch))
        (self.runtime.root / "epoch.new").rename(self.runtime.root / "epoch")

    def fail(self, names: str) -> None:
        """These components exit when they have an epoch."""
        (self.runtime.root / "failing").write_text(names)

    def parts(self) -> dict[str, dict[str, Any]]:
        return {part["name"]: part for part in component_status_reader.read_components(self.data)}

    def states(self) -> dict[str, str]:
        """The states of the components that only a leader has."""
        parts = self.parts()
        return {name: parts[name]["state"] for name in ("scheduler", "host", "notifier") if name in parts}

    def started(self) -> list[str]:
        """What each component has read from its standard input."""
        file = self.runtime.root / "started"
        return sorted(file.read_text().splitlines()) if file.exists() else []

    def close(self) -> str:
        self.process.terminate()
        said, _ = self.process.communicate(timeout=30)
        return said


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    made = Service(tmp_path)
    yield made
    if made.process.poll() is None:
        made.close()


def test_components_of_a_leader_wait_until_the_service_leads(service: Service) -> None:
    waiting = dict.fromkeys(("scheduler", "host", "notifier"), "standby")
    wait_for("they stand by", lambda: service.states() == waiting and service.parts()["api"]["state"] == "ready")
    wait_for("the service is ready", lambda: component_status_reader.all_ready([*service.parts().values()]))
    before = service.parts()
    assert before["scheduler"]["pid"] and before["host"]["pid"] and not before["notifier"]["pid"]

    service.lead(3)
    working = dict.fromkeys(waiting, "ready")
    wait_for("they work", lambda: service.states() == working)
    assert service.started() == ["host 3", f"scheduler {ADDRESS} 3"]
    assert service.parts()["scheduler"]["pid"] == before["scheduler"]["pid"], "it has waited with everything imported"

    leading = service.parts()
    os.kill(leading["leadership"]["pid"], signal.SIGKILL)
    wait_for("it is started again", lambda: service.parts()["leadership"]["restarts"] == 1)
    wait_for("it is ready", lambda: service.parts()["leadership"]["state"] == "ready")
    assert [service.parts()[name]["pid"] for name in waiting] == [leading[name]["pid"] for name in waiting]

    service.lead(0)
    wait_for("they stand by again", lambda: service.states() == waiting)
    after = service.parts()
    assert after["scheduler"]["pid"] != before["scheduler"]["pid"] and not after["notifier"]["pid"]
    assert after["api"] == before["api"], "api and gateways continue"

    service.lead(5)
    wait_for("they work again", lambda: service.states() == working)
    assert service.started() == ["host 3", "host 5", f"scheduler {ADDRESS} 3", f"scheduler {ADDRESS} 5"]
    for epoch in range(6, 12):  # a heartbeat of one that is killed may be unread
        service.lead(0)
        wait_for("they stand by", lambda: service.states() == waiting)
        service.lead(epoch)
        wait_for("they work", lambda: service.states() == working)
    said = service.close()
    assert "another service leads; this one stands by" in said and "this service leads, with epoch 3" in said
    assert "another service leads now: scheduler and host of this one are stopped, and it stands by" in said


def test_leader_that_loses_the_lease_during_its_start_stands_by(tmp_path: Path) -> None:
    service = Service(tmp_path, epoch=3, failing="scheduler", standby=True)
    try:
        wait_for("the scheduler has exited", lambda: service.parts().get("scheduler", {}).get("restarts"))
        service.lead(0)
        wait_for("it stands by", lambda: service.states().get("scheduler") == "standby")
        service.fail("")
        service.lead(5)
        wait_for("it works", lambda: service.states()["scheduler"] == "ready")
        assert service.process.poll() is None
    finally:
        said = service.close()
    assert "scheduler exited with status 1; restarting it" in said


@pytest.mark.parametrize(("standby", "starts"), [(False, 1), (True, 3)], ids=["alone", "with a standby"])
def test_service_whose_scheduler_cannot_start_ends(tmp_path: Path, standby: bool, starts: int) -> None:
    service = Service(tmp_path, epoch=3, failing="scheduler", standby=standby)
    said, _ = service.process.communicate(timeout=60)
    assert service.process.returncode == 1
    assert service.started().count(f"scheduler {ADDRESS} 3") == starts
    assert said.count("scheduler exited with status 1; restarting it") == starts - 1
