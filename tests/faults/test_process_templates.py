"""A killed slot, fork server, member or template takes nobody along, and is replaced."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest

from podium.sweep.runtime.process_title import process_name
from tests.faults.victims import Census
from tests.running_service import AuditedService, RunningService, function_sweep, wait_for
from tests.specs import builtin_document

SLEEPS = "import time\n\n\ndef objective(trial):\n    time.sleep(600)\n    return 1.0\n"


class Scene:
    """A service with a trial on each of two slots, and an ensemble of two members."""

    def __init__(self, service: RunningService) -> None:
        self.service = service

    def census(self) -> Census:
        return Census(self.service.process.pid)

    def by_kind(self) -> dict[str, set[int]]:
        """The processes that must not be affected by others."""
        census = self.census()
        return {
            "slot": {process.pid for process in census.slots()},
            "fork server": {process.pid for process in census.fork_servers()},
            "trial": {process.pid for process in census.trials()},
            "member": {process.pid for process in census.members()},
            "template": set(census.of("template", self.service.data)),
        }

    def is_complete(self) -> bool:
        counts = {kind: len(pids) for kind, pids in self.by_kind().items()}
        return counts == {"slot": 2, "fork server": 2, "trial": 2, "member": 2, "template": 1}

    def is_settled(self) -> bool:
        """Complete, and the same processes a second later: the fork server of a killed slot ends after the slot."""
        before = self.by_kind()
        time.sleep(1)
        return self.is_complete() and self.by_kind() == before

    def forget_failures(self) -> None:
        """Return the devices: one that has lost three trials in a row would be drained."""
        names = [device["id"] for device in self.service.client.devices()]
        for change in (self.service.client.drain_device, self.service.client.return_device):
            for name in names:
                change(name)
            time.sleep(1)  # the scheduler reads it

    def kill(self, pid: int) -> dict[str, set[int]]:
        """Kill a process, wait until everything is there again, and return which processes were replaced."""
        before = self.by_kind()
        os.kill(pid, signal.SIGKILL)
        wait_for("the process has ended", lambda: pid not in set().union(*self.by_kind().values()))
        wait_for("everything is there again", self.is_settled, 60)
        after = self.by_kind()
        return {kind: before[kind] - after[kind] for kind in before if before[kind] - after[kind]}


@pytest.fixture(scope="module")
def scene(shared_service: AuditedService, tmp_path_factory: pytest.TempPathFactory) -> Scene:
    folder: Path = tmp_path_factory.mktemp("code")
    (folder / "train.py").write_text(SLEEPS)
    client = shared_service.client
    for slot in Census(shared_service.process.pid).slots():  # its fork servers with preloaded packages end with it
        os.kill(slot.pid, signal.SIGKILL)
    sweep = client.submit(builtin_document(run_cap=2, parameters={"epochs": {"value": 1}}))
    assert client.wait(sweep["id"], 120)["state"] == "finished"
    trial_ids = [trial["id"] for trial in client.trials(sweep["id"])]
    built = client.build_ensemble(trial_ids=trial_ids, name="killed-one-by-one")
    client.wait_ensemble(built["id"], 120)
    client.submit(function_sweep(folder, "train:objective", run_cap=1000))
    scene = Scene(shared_service)
    wait_for("everything runs", scene.is_settled, 60)
    return scene


def test_killed_slot_takes_only_its_own_attempt_along(scene: Scene) -> None:
    slot = min(scene.by_kind()["slot"])
    ended = scene.kill(slot)
    assert ended.pop("slot") == {slot}
    assert {kind: len(pids) for kind, pids in ended.items()} == {"fork server": 1, "trial": 1}


def test_killed_slot_relay_takes_the_slots_of_its_node_along(scene: Scene) -> None:
    (relay,) = scene.census().slot_relays()
    before = scene.by_kind()
    os.kill(relay.pid, signal.SIGKILL)
    wait_for("it has ended", lambda: process_name(relay.pid) == "")
    wait_for("everything is there again", scene.is_settled, 60)
    after = scene.by_kind()
    assert [kind for kind in before if before[kind] != after[kind]] == ["slot", "fork server", "trial"]
    assert not before["slot"] & after["slot"]


def test_killed_fork_server_takes_only_its_own_attempt_along(scene: Scene) -> None:
    fork_server = min(scene.by_kind()["fork server"])
    ended = scene.kill(fork_server)
    assert ended.pop("fork server") == {fork_server}
    assert {kind: len(pids) for kind, pids in ended.items()} == {"trial": 1}


def test_killed_member_takes_nobody_along(scene: Scene) -> None:
    member = min(scene.by_kind()["member"])
    assert scene.kill(member) == {"member": {member}}


def test_killed_worker_template_takes_nobody_along(scene: Scene) -> None:
    scene.forget_failures()
    before = scene.by_kind()
    (worker_template,) = scene.census().of("worker template", scene.service.data)
    os.kill(worker_template, signal.SIGKILL)
    wait_for("it has ended", lambda: process_name(worker_template) == "")
    assert scene.by_kind() == before
    (relay,) = scene.census().slot_relays()
    os.kill(relay.pid, signal.SIGKILL)
    wait_for(
        "a new worker template forks the next relay", lambda: scene.census().slot_relays() not in ([], [relay]), 60
    )
    wait_for("everything is there again", scene.is_settled, 60)


def test_killed_template_takes_nobody_along(scene: Scene) -> None:
    scene.forget_failures()
    (template,) = scene.by_kind()["template"]
    assert scene.kill(template) == {"template": {template}}
    fork_server = min(scene.by_kind()["fork server"])
    assert set(scene.kill(fork_server)) == {"fork server", "trial"}, "the guardian's adopted fork server is replaced"
