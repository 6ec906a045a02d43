"""A real service whose processes are killed, and how long it takes to recover."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Self

import psutil

from podium.api.client.client import Client
from podium.api.serve.ports import free_port
from podium.sweep.runtime.layout import DataDirectory
from podium.sweep.values.errors import PodiumError
from tests.faults.victims import ON_RAY, ON_SLOT, PARTS, Census, ReportedComponent, reported_components
from tests.running_service import PODIUM, mentions, service_marks

POLL_S = 0.02
HEALTHY_S = 90.0  # at most, whatever was killed
STOP_S = 30.0


class NotHealthyError(Exception):
    """The service does not recover."""


class FaultedService:
    """`podium serve` on fixed ports, across restarts."""

    def __init__(self, data_dir: Path, slots: int, options: Sequence[str] = ()) -> None:
        """`options`: others of `podium serve`."""
        self.data = DataDirectory(data_dir)
        self.slots = slots
        self._options = options
        self._port, self._gateway_port = free_port(), free_port()
        self.url = f"http://127.0.0.1:{self._port}"
        self._ray_before: ReportedComponent | None = None
        self._log = data_dir.with_name(f"{data_dir.name}.log")
        self.process = self._start()

    def restart(self) -> None:
        """Start it after it was stopped, and wait until it is ready."""
        self.process = self._start()
        self.wait_ready()

    def wait_ready(self) -> None:
        """Wait until every component is ready."""
        self._until(self.all_ready, "the service")

    @property
    def token(self) -> str:
        return self.data.admin_token.read_text().strip()

    def census(self) -> Census:
        return Census(self.process.pid)

    def kill(self, kind: str, pid: int) -> None:
        """SIGKILL; `serve` is restarted immediately, as an operator's supervisor would."""
        if kind in ON_RAY:
            self._ray_before = reported_components(self.data).get("ray")
        os.kill(pid, signal.SIGKILL)
        if kind == "serve":
            self.process.wait()
            self.process = self._start()

    def wait_healthy(self, kind: str, pid: int) -> float:
        """Wait until what was killed works again; returns the time. Raises `NotHealthyError`."""
        conditions: dict[str, Callable[[], bool]] = {
            **dict.fromkeys(PARTS, lambda: self._is_back(kind, pid)),
            **dict.fromkeys(ON_RAY, self._ray_is_new),
            **dict.fromkeys((*ON_SLOT, "template"), lambda: self._slots_work(but=pid)),
            "serve": self.all_ready,
        }
        self._until(conditions[kind], kind)
        return time.time()

    def wait_all_ready(self) -> None:
        """Wait until every component is ready and trials run on every slot."""
        self._until(lambda: self.all_ready() and self._slots_work(but=0), "the whole service")

    def all_ready(self) -> bool:
        """Whether the service reports readiness over HTTP; requested only once its status file does."""
        shown = reported_components(self.data)
        if not shown or not all(part.ready for part in shown.values()):
            return False
        try:
            with Client(self.url, self.token, 2.0, retry_s=0) as client:
                parts = {part["name"]: part["pid"] for part in client.ready()["parts"]}
                return bool(client.ready()["ready"]) and parts["serve"] == self.process.pid
        except (PodiumError, OSError, KeyError):
            return False

    def stop(self) -> int:
        """SIGTERM and wait; its exit status."""
        self.process.terminate()
        try:
            return self.process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return self.process.wait()

    def processes(self) -> list[psutil.Process]:
        """Every live process of this service, including those that trials left behind."""
        marks = service_marks(self.data)
        return [process for process in psutil.process_iter() if mentions(process, marks)]

    def _start(self) -> subprocess.Popen[bytes]:
        options = ["--port", str(self._port), "--gateway-port", str(self._gateway_port), *self._options]
        with self._log.open("ab") as log:
            return subprocess.Popen(
                [*PODIUM, "serve", "--data-dir", str(self.data.root), "--devices", f"cpu:{self.slots}", *options],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,  # Ctrl-C must reach only the campaign
            )

    def _is_back(self, part: str, pid: int) -> bool:
        shown = reported_components(self.data).get(part)
        return shown is not None and shown.ready and shown.pid != pid

    def _ray_is_new(self) -> bool:
        """Whether Ray was restarted: it is, if raylet, control service or guardian die."""
        shown = reported_components(self.data).get("ray")
        before = self._ray_before
        return shown is not None and before is not None and shown.pid != before.pid and self.all_ready()

    def _slots_work(self, *, but: int) -> bool:
        """Whether every slot runs a trial, and the process `but` has been replaced."""
        census = self.census()
        working = {trial.parent for trial in census.trials()} - {but}
        slots = [slot for slot in census.slots() if slot.pid != but]
        templates = [pid for pid in census.of("template", self.data) if pid != but]
        return len(working) >= self.slots and len(slots) >= self.slots and bool(templates)

    def _until(self, condition: Callable[[], bool], what: str) -> None:
        end = time.monotonic() + HEALTHY_S
        while not condition():
            if self.process.poll() is not None:
                last = self._log.read_text(errors="replace").strip().splitlines()[-3:]
                raise NotHealthyError(f"serve ended with status {self.process.returncode}: {' | '.join(last)}")
            if time.monotonic() > end:
                raise NotHealthyError(f"{what} is not healthy within {HEALTHY_S:g} s: {reported_components(self.data)}")
            time.sleep(POLL_S)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.stop()
        for process in self.processes():
            process.kill()
