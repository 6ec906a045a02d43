"""A real service under test: starts `podium serve`, finds its processes, and checks that none remain."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import psutil

from podium.api.client.client import Client
from podium.api.client.readiness_responses import ComponentInfo
from podium.ensemble.values.ensemble_states import EnsembleState
from podium.sweep.runtime.attempt_directory import AttemptDirectory
from podium.sweep.runtime.layout import DataDirectory
from podium.sweep.runtime.runtime_directory import RuntimeDirectory
from podium.sweep.values.errors import ServiceError
from podium.sweep.values.states import TERMINAL_SWEEP_STATES, SweepState
from tests.doctor import assert_no_breaches
from tests.subreaper import not_subreaper
from tests.token_leaks import assert_no_token_left

PODIUM = [sys.executable, "-P", "-m", "podium.api.cli.app"]
START_S = 90.0


def wait_for(what: str, condition: Callable[[], Any], timeout_s: float = 60.0) -> Any:
    """The first true value of `condition`; fails with `what` after `timeout_s`."""
    end = time.monotonic() + timeout_s
    while time.monotonic() < end:
        if value := condition():
            return value
        time.sleep(0.05)
    raise AssertionError(f"not within {timeout_s:g} s: {what}")


def podium(*arguments: str, timeout_s: float = 120.0) -> subprocess.CompletedProcess[str]:
    """Run one command and wait for it."""
    return subprocess.run([*PODIUM, *arguments], capture_output=True, text=True, timeout=timeout_s, check=False)


# Prints the process id of a command whose output goes to a file: LOG COMMAND...
_LAUNCH = """
import subprocess, sys
with open(sys.argv[1], "ab") as log:
    started = subprocess.Popen(sys.argv[2:], stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)
print(started.pid)
"""


class DetachedProcess(psutil.Process):
    """A process that is no child of this one: slots and supervisors under test kill unknown children."""

    def poll(self) -> int | None:
        """None while it runs, 0 afterwards; its status is not known."""
        return None if self.is_running() and self.status() != psutil.STATUS_ZOMBIE else 0


def _start_detached(command: list[str], log: Path, environment: Mapping[str, str]) -> DetachedProcess:
    """Start a process as a child of init, also if an earlier test made this process a subreaper."""
    with not_subreaper():
        launched = subprocess.run(
            [sys.executable, "-c", _LAUNCH, str(log), *command],
            env=dict(environment), stdout=subprocess.PIPE, text=True, check=True,
        )  # fmt: skip
    return DetachedProcess(int(launched.stdout))


class RunningService:
    """`podium serve` on free ports and its own data directory."""

    def __init__(
        self,
        data_dir: Path,
        devices: str = "cpu:2",
        *,
        environment: Mapping[str, str] | None = None,
        ports: tuple[int, int] = (0, 0),
        options: Sequence[str] = (),
        detached: bool = False,
    ) -> None:
        """`ports`: of the API and the gateway; 0: any free port. `options`: others of `serve`.

        `detached`: see `DetachedProcess`.
        """
        self.data = DataDirectory(data_dir)
        self._log = data_dir.with_name(f"{data_dir.name}.log").open("ab")
        command = [
            *PODIUM, "serve", "--data-dir", str(data_dir), "--devices", devices,
            "--port", str(ports[0]), "--gateway-port", str(ports[1]), *options,
        ]  # fmt: skip
        variables = {**os.environ, **(environment or {})}
        self.process: subprocess.Popen[bytes] | DetachedProcess
        if detached:
            self.process = _start_detached(command, Path(self._log.name), variables)
        else:
            self.process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=self._log, stderr=self._log, env=variables
            )
        try:
            self.client: Client = wait_for("the service is ready", self._ready, START_S)
        except BaseException:
            self.stop()
            self._log.close()
            raise

    def _ready(self) -> Client | None:
        assert self.process.poll() is None, Path(self._log.name).read_text()
        with contextlib.suppress(ServiceError):
            client = Client.of(self.data.root)
            with contextlib.suppress(ServiceError):
                if client.ready()["ready"]:
                    return client
            client.close()
        return None

    def component(self, name: str) -> ComponentInfo:
        """A component as /readyz shows it."""
        return next(each for each in self.client.ready()["parts"] if each["name"] == name)

    def pid(self, name: str) -> int:
        """The process of a component that runs."""
        pid = self.component(name)["pid"]
        assert pid is not None, f"{name} is not running"
        return pid

    def attempt(self, sweep_id: int, number: int) -> AttemptDirectory:
        """The folder of the only attempt of a trial."""
        (folder,) = (self.data.trials / str(sweep_id) / str(number)).iterdir()
        return AttemptDirectory(folder)

    def kill(self, name: str) -> None:
        """SIGKILL a component, and wait until another process is ready in its place."""
        before = self.pid(name)
        os.kill(before, signal.SIGKILL)
        wait_for(
            f"{name} is back",
            lambda: self.component(name)["pid"] not in (None, before) and self.client.ready()["ready"],
        )

    def stop(self, number: int = signal.SIGTERM) -> int:
        """Signal `serve` and wait for its end; its exit status."""
        self.process.send_signal(number)
        return self.process.wait(timeout=30) or 0

    def reset(self) -> None:
        """End all that tests have left running, so that the next ones find every device free."""
        client = self.client
        for sweep in client.sweeps():
            if SweepState(sweep["state"]) not in TERMINAL_SWEEP_STATES:
                client.cancel_sweep(sweep["id"])
        for ensemble in client.ensembles():
            if ensemble["state"] != EnsembleState.RETIRED:
                client.retire_ensemble(ensemble["id"])
        for device in client.devices():
            if device["state"] == "drained":
                client.return_device(device["id"])
        wait_for("all devices are free", self._is_idle)

    def _is_idle(self) -> bool:
        busy = any(SweepState(sweep["state"]) not in TERMINAL_SWEEP_STATES for sweep in self.client.sweeps())
        return (
            not busy
            and self.client.ready()["ready"]
            and all(
                device["state"] == "ready" and device["trial_id"] is None and not device["member_ids"]
                for device in self.client.devices()
            )
        )

    def processes(self) -> list[psutil.Process]:
        """Every live process of this service, found by the directories that only it uses."""
        marks = service_marks(self.data)
        return [process for process in psutil.process_iter() if mentions(process, marks)]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.client.close()
        self._log.close()
        if self.process.poll() is None:
            self.stop()
        wait_for("no process of the service is left", lambda: not self.processes(), 15.0)
        if error[0] is None:
            assert_no_token_left(self.data)


class AuditedService(RunningService):
    """A service whose data directory is audited at the end."""

    def __enter__(self) -> AuditedService:
        return self

    def __exit__(self, *error: object) -> None:
        super().__exit__(*error)
        if error[0] is None:
            assert_no_breaches(self.data)


def service_marks(data: DataDirectory) -> tuple[str, ...]:
    """The directories that only processes of the service on `data` use."""
    return (str(data.root), str(RuntimeDirectory.of(data).root))


def mentions(process: psutil.Process, marks: tuple[str, ...]) -> bool:
    """Whether a live process has one of `marks` in its command, working directory or environment."""
    try:
        if process.pid == os.getpid() or process.status() == psutil.STATUS_ZOMBIE:
            return False
        known = " ".join([*process.cmdline(), process.cwd(), *process.environ().values()])
    except psutil.Error:
        return False
    return any(mark in known for mark in marks)


def function_sweep(code: Path, function: str, **changes: Any) -> dict[str, Any]:
    """A sweep over a function in a folder: one parameter, random search."""
    return {
        "name": "test",
        "method": "random",
        "metric": {"name": "score", "goal": "maximize"},
        "parameters": {"x": {"min": 0.0, "max": 1.0}},
        "run_cap": 6,
        "program": {"function": function, "code": str(code)},
        **changes,
    }
