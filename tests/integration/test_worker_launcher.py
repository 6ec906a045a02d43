"""Worker processes are forked from a real template: they load, report, outlive their host, and are killed by name."""

from __future__ import annotations

import os
import signal
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest
import torch

from podium.ensemble.host.worker_launcher import TemplateWorkerLauncher
from podium.ensemble.host.worker_launcher_interface import WorkerConfig, WorkerHandle, WorkerStatus
from podium.ensemble.protocol.prediction_messages import Request, pack_requests, unpack_replies
from podium.ensemble.worker.control_messages import Phase, WorkerAssignment
from podium.sweep.process_template.template_launcher import TemplateProcess
from podium.sweep.runtime.runtime_directory import RuntimeDirectory
from podium.sweep.runtime.serve_environment_for_trials import user_environment
from podium.sweep.values.errors import EnsembleError
from tests.message_client import MessageClient
from tests.networks import ROWS, combination, network, saved
from tests.running_service import wait_for


class Rig:
    """A template and a launcher in a runtime folder, as in a service."""

    def __init__(self, models: Path) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="podium-")
        self._models = models
        self.runtime = RuntimeDirectory(Path(self._folder.name))
        self.log = models / "members.log"
        self.template = TemplateProcess(
            self.runtime.template_socket, self.runtime.ray_workers_socket, user_environment()
        )
        self.template.start_if_exited()
        self.launcher = self.host()
        self.changes = threading.Semaphore(0)
        self._launched: list[WorkerHandle] = []

    def host(self) -> TemplateWorkerLauncher:
        """A launcher as a restarted host has it."""
        return TemplateWorkerLauncher(self.runtime, self.log)

    def config(self, name: str, *, members: int = 1, threads: int = 1) -> WorkerConfig:
        """A member, or several in-graph."""
        assignment = WorkerAssignment(
            name=name, files=tuple(saved(self._models, seed) for seed in range(members)), in_graph=members > 1,
            endpoint=f"unix:{self.runtime.root / name}.requests", epoch=1, features=64,
            combination=combination([1.0] * members).to_json(), threads=threads,
        )  # fmt: skip
        return WorkerConfig(assignment, ("cpu-0",), "node", "")

    def launch(self, config: WorkerConfig) -> WorkerHandle:
        worker = self.launcher.launch(config, self.changes.release)
        self._launched.append(worker)
        return worker

    def kill_launched(self) -> None:
        """Close the connections of a test, also of one that failed."""
        for worker in self._launched:
            worker.kill()
        self._launched.clear()

    def close(self) -> None:
        self.template.close()
        self._folder.cleanup()


@pytest.fixture(scope="module")
def module_rig(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rig]:
    opened = Rig(tmp_path_factory.mktemp("models"))
    yield opened
    opened.close()


@pytest.fixture
def rig(module_rig: Rig) -> Iterator[Rig]:
    yield module_rig
    module_rig.kill_launched()


def until(worker: WorkerHandle, phase: Phase) -> WorkerStatus:
    return until_status(worker, lambda status: status.phase is phase)


def until_status(worker: WorkerHandle, condition: Callable[[WorkerStatus], bool]) -> WorkerStatus:
    end = time.monotonic() + 30
    while not condition(status := worker.poll()):
        assert time.monotonic() < end, status
        time.sleep(0.01)
    return status


def until_ended(pid: int | None) -> None:
    with suppress(psutil.NoSuchProcess):
        process = psutil.Process(pid)
        wait_for("the process has ended", lambda: process.status() == psutil.STATUS_ZOMBIE)


def test_worker_serves_and_its_exit_is_noticed(rig: Rig) -> None:
    worker = rig.launch(rig.config("worker-1-1-0-0-1"))
    status = until(worker, Phase.READY)
    assert status.pid is not None and Path(f"/proc/{status.pid}/comm").read_text() == "podium-member\n"
    client = MessageClient(worker.config.assignment.endpoint)
    client.send(pack_requests([Request(7, 1, 5000.0, ROWS)]))
    (reply,) = unpack_replies(client.receive()).replies()
    client.close()
    assert reply.status == "ok"
    while rig.changes.acquire(blocking=False):
        pass
    os.kill(status.pid, signal.SIGKILL)
    assert rig.changes.acquire(timeout=5), "the host is notified"
    ended = until(worker, Phase.EXITED)
    assert ended.reason == "its process exited or was killed"
    worker.kill()


def test_restarted_host_finds_the_worker_and_kills_others(rig: Rig) -> None:
    first, second = (rig.launch(rig.config(f"worker-2-1-{i}-0-1")) for i in range(2))
    kept, other = until(first, Phase.READY), until(second, Phase.READY)
    launcher = rig.host()
    found = launcher.find(first.config, lambda: None)
    assert found is not None
    assert until(found, Phase.READY).pid == kept.pid
    assert launcher.find(rig.config("worker-2-1-2-0-1"), lambda: None) is None
    launcher.kill_all_except({first.config.assignment.name})
    until(second, Phase.EXITED)  # its connection is closed before its process has ended
    until_ended(other.pid)
    assert found.poll().phase is Phase.READY
    found.kill()
    until(first, Phase.EXITED)
    assert launcher.find(first.config, lambda: None) is None
    first.kill()
    second.kill()


def test_stopped_worker_is_unresponsive(rig: Rig) -> None:
    worker = rig.launch(rig.config("worker-3-1-0-0-1"))
    pid = until(worker, Phase.READY).pid
    assert pid is not None
    os.kill(pid, signal.SIGSTOP)
    assert until_status(worker, lambda status: status.unresponsive_s > 0.5).phase is Phase.READY
    os.kill(pid, signal.SIGCONT)
    until_status(worker, lambda status: status.unresponsive_s == 0.0)
    worker.kill()


def test_worker_that_cannot_load_reports_the_file(rig: Rig) -> None:
    config = rig.config("worker-4-1-0-0-1")
    damaged = replace(config.assignment, files=(replace(config.assignment.files[0], sha256="0" * 64),))
    worker = rig.launch(replace(config, assignment=damaged))
    status = until(worker, Phase.LOAD_FAILED)
    assert "is damaged" in status.reason
    assert "worker-4-1-0-0-1" in rig.log.read_text()
    worker.kill()


def test_worker_killed_before_it_exists_ends(rig: Rig) -> None:
    os.kill(rig.template.pid, signal.SIGSTOP)
    worker = rig.launch(rig.config("worker-5-1-0-0-1"))
    assert worker.poll().phase is Phase.STARTING
    worker.kill()
    os.kill(rig.template.pid, signal.SIGCONT)
    following = rig.launch(rig.config("worker-5-1-0-0-2"))
    until(following, Phase.READY)
    following.kill()
    end = time.monotonic() + 10
    while (found := rig.host().find(worker.config, lambda: None)) is not None:
        found.close()
        assert time.monotonic() < end, "it has noticed that its host has left"
        time.sleep(0.05)


def test_worker_keeps_running_without_the_template(rig: Rig) -> None:
    worker = rig.launch(rig.config("worker-6-1-0-0-1"))
    pid = until(worker, Phase.READY).pid
    os.kill(rig.template.pid, signal.SIGKILL)
    while not rig.template.start_if_exited():
        time.sleep(0.01)
    following = rig.launch(rig.config("worker-6-1-1-0-1"))  # waits for the template
    assert until(following, Phase.READY).pid != pid
    assert worker.poll().phase is Phase.READY
    worker.kill()
    following.kill()


def test_stopped_worker_that_is_not_needed_exits_when_it_continues(rig: Rig) -> None:
    worker = rig.launch(rig.config("worker-8-1-0-0-1"))
    pid = until(worker, Phase.READY).pid
    assert pid is not None
    os.kill(pid, signal.SIGSTOP)
    rig.host().kill_all_except(set())
    assert worker.poll().phase is Phase.READY, "it has not answered in time"
    os.kill(pid, signal.SIGCONT)
    until(worker, Phase.EXITED)
    worker.kill()


def test_launch_without_a_template_is_refused(tmp_path: Path, rig: Rig) -> None:
    launcher = TemplateWorkerLauncher(RuntimeDirectory(tmp_path), rig.log)
    with pytest.raises(EnsembleError, match=r"cannot start worker-7-1-0-0-1: "):
        launcher.launch(rig.config("worker-7-1-0-0-1"), lambda: None)


# The plans of an in-graph worker.


class InGraphWorker:
    """A worker that is ready, with the process that prepares its plans, which is stopped."""

    def __init__(self, rig: Rig, name: str) -> None:
        self.handle = rig.launch(rig.config(name, members=3, threads=2))
        pid = until(self.handle, Phase.READY).pid
        self.process = psutil.Process(pid)
        (self.preparing,) = self.process.children()
        self.preparing.suspend()

    def predict(self) -> np.ndarray:
        client = MessageClient(self.handle.config.assignment.endpoint)
        client.send(pack_requests([Request(7, 1, 30_000.0, ROWS)]))
        (reply,) = unpack_replies(client.receive()).replies()
        client.close()
        assert reply.status == "ok" and reply.predictions is not None and reply.combined is not None
        return reply.predictions

    def until_plans_are(self, state: str) -> Mapping[str, Any]:
        return until_status(self.handle, lambda status: status.plan["state"] == state).plan


def looped() -> np.ndarray:
    with torch.inference_mode():
        return np.stack([torch.softmax(network(seed)(torch.from_numpy(ROWS)), dim=1).numpy() for seed in range(3)])


def test_in_graph_worker_is_ready_before_its_plans(rig: Rig) -> None:
    worker = InGraphWorker(rig, "worker-6-1-0-0-1")
    assert worker.preparing.name() == "podium-prepare"
    assert worker.handle.poll().plan["state"] == "preparing"
    np.testing.assert_array_equal(worker.predict(), looped(), err_msg="the loop computes them")
    worker.preparing.resume()
    plan = worker.until_plans_are("chosen")
    (group,) = plan["groups"]
    assert [size["rows"] for size in group["sizes"]] == [1, 64, 1024]
    for size in group["sizes"]:
        assert "loop" in size["took_us"] and size["plan"] in size["took_us"]
        refused = size["refused"].get("recorded_loop", "")  # other work may take the time of its first run
        assert "recorded_loop" in size["took_us"] or refused.startswith(("too slow", "no time")), refused
    assert (plan["reason"], group["fell_back"]) == ("", "")
    np.testing.assert_allclose(worker.predict(), looped(), atol=1e-6)
    assert not worker.process.children()
    worker.handle.kill()


def test_in_graph_worker_serves_with_the_loop_if_the_preparation_fails(rig: Rig) -> None:
    worker = InGraphWorker(rig, "worker-7-1-0-0-1")
    worker.preparing.kill()
    plan = worker.until_plans_are("failed")
    assert plan["reason"] == "its process ended with status -9"
    assert [group["sizes"] for group in plan["groups"]] == [[]]
    np.testing.assert_array_equal(worker.predict(), looped())
    assert worker.handle.poll().phase is Phase.READY
    assert f"prepared: {plan['reason']}" in rig.log.read_text()
    worker.handle.kill()


def test_preparation_ends_with_its_worker(rig: Rig) -> None:
    worker = InGraphWorker(rig, "worker-8-1-0-0-1")
    worker.handle.kill()
    until_ended(worker.process.pid)
    until_ended(worker.preparing.pid)
