"""Life cycle of the whole service: crashes, stops and restarts, which leave no process behind."""

from __future__ import annotations

import contextlib
import itertools
import os
import pty
import select
import signal
import sqlite3
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from podium.api.client.client import Client
from podium.sweep.ray_cluster import ray_connection_settings
from podium.sweep.runtime.runtime_directory import RuntimeDirectory
from podium.sweep.values.errors import ServiceError
from tests.running_service import PODIUM, AuditedService, function_sweep, podium, wait_for

CODE = """
import os, time

def nap(trial):
    for step in range(3):
        time.sleep(0.2)
        trial.report(trial.params["x"], step)
    return trial.params["x"]

def daemonize(trial):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            path = os.path.join(os.path.dirname(__file__), f"pid-{trial.number}")
            with open(path + ".new", "w") as file:
                file.write(str(os.getpid()))
            os.replace(path + ".new", path)
            time.sleep(600)
        os._exit(0)
    os.wait()
    while not os.path.exists(os.path.join(os.path.dirname(__file__), f"pid-{trial.number}")):
        time.sleep(0.01)
    return 1.0
"""


@pytest.fixture
def code(tmp_path: Path) -> Path:
    folder = tmp_path / "code"
    folder.mkdir()
    (folder / "naps.py").write_text(CODE)
    return folder


class Restarted:
    """A service on pretended GPUs that several tests stop or kill, and start again on its data directory."""

    def __init__(self, data_dir: Path) -> None:
        self._data_dir = data_dir
        self.service = AuditedService(data_dir, "pretend-gpu:2")

    def start(self) -> AuditedService:
        """Start it again; the data directory is audited before."""
        self.close()
        self.service = AuditedService(self._data_dir, "pretend-gpu:2")
        return self.service

    def close(self) -> None:
        """Stop it unless it has ended, and audit its data directory."""
        self.service.__exit__(None, None, None)


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Restarted]:
    made = Restarted(tmp_path_factory.mktemp("restarted") / "data")
    yield made
    made.close()


@pytest.fixture
def restarted(kept: Restarted) -> Restarted:
    """The service that is started again, running also after a test that failed: a start takes seconds."""
    if kept.service.process.poll() is not None:
        kept.start()
    return kept


@pytest.fixture(scope="module")
def lasting(service: AuditedService) -> AuditedService:
    """The shared service, for tests that leave it up; the others start their own."""
    return service


def counted_once(client: Client, sweep_id: int, run_cap: int) -> None:
    """Assert that all trials up to the cap finished, each with one counting attempt."""
    trials = list(client.trials(sweep_id))
    assert [trial["state"] for trial in trials] == ["finished"] * run_cap
    for trial in trials:
        attempts = client.trial(trial["id"])["attempts"]
        assert [a["state"] for a in attempts if a["state"] == "finished"] == ["finished"]
        assert attempts[-1]["number"] == trial["attempt"]


def test_trials_survive_killed_scheduler_and_count_once(lasting: AuditedService, code: Path) -> None:
    sweep = lasting.client.submit(function_sweep(code, "naps:nap", run_cap=12))
    for _ in range(2):
        wait_for("trials run", lambda: lasting.client.sweep(sweep["id"])["counts"].get("running"))
        lasting.kill("scheduler")
    assert lasting.client.wait(sweep["id"], 60)["state"] == "finished"
    counted_once(lasting.client, sweep["id"], 12)
    attempts = [lasting.client.trial(trial["id"])["attempts"] for trial in lasting.client.trials(sweep["id"])]
    assert all(len(each) == 1 for each in attempts), [each for each in attempts if len(each) > 1]


@pytest.mark.slow
def test_hanging_scheduler_is_not_ready(lasting: AuditedService) -> None:
    scheduler, pid = lasting.component("scheduler"), lasting.pid("scheduler")
    os.kill(pid, signal.SIGSTOP)
    try:
        wait_for("it is shown as silent", lambda: lasting.component("scheduler")["state"] == "silent")
        assert not lasting.client.ready()["ready"]
        assert podium("status", "--data-dir", str(lasting.data.root)).returncode == 1
    finally:
        os.kill(pid, signal.SIGCONT)
    wait_for("it is ready again", lambda: lasting.client.ready()["ready"])
    assert lasting.component("scheduler") == scheduler


def test_killed_ray_repeats_only_trials_in_flight(lasting: AuditedService, code: Path) -> None:
    sweep = lasting.client.submit(function_sweep(code, "naps:nap", run_cap=10))
    wait_for("some have finished", lambda: lasting.client.sweep(sweep["id"])["counts"].get("finished", 0) >= 2)
    lasting.kill("ray")
    assert lasting.client.wait(sweep["id"], 90)["state"] == "finished"
    counted_once(lasting.client, sweep["id"], 10)
    trials = list(lasting.client.trials(sweep["id"]))
    assert sum(trial["attempt"] > 1 for trial in trials) <= 2


def test_sigterm_stops_everything_and_next_start_continues(restarted: Restarted, code: Path) -> None:
    document = function_sweep(code, "naps:nap", run_cap=30)  # more than finish while the service is stopping
    service = restarted.service
    sweep_id = service.client.submit(document)["id"]
    wait_for("trials run", lambda: service.client.sweep(sweep_id)["counts"].get("running"))
    assert service.stop() == 0
    wait_for("no process is left", lambda: not service.processes(), 10.0)
    with sqlite3.connect(service.data.database) as connection:
        assert connection.execute("select state from sweeps where id = ?", (sweep_id,)).fetchall() == [("queued",)]
        found = connection.execute("select state from trials where sweep_id = ?", (sweep_id,))
        states = {state for (state,) in found}
        assert states and "running" not in states
        assert not connection.execute("select * from attempts where ended_at is null").fetchall()
    service = restarted.start()
    assert service.client.wait(sweep_id, 60)["state"] == "finished"
    counted_once(service.client, sweep_id, 30)


def test_components_end_when_serve_is_killed(restarted: Restarted, code: Path) -> None:
    service = restarted.service
    sweep_id = service.client.submit(function_sweep(code, "naps:nap", run_cap=8))["id"]
    wait_for("trials run", lambda: service.client.sweep(sweep_id)["counts"].get("running"))
    service.process.kill()
    service.process.wait()
    wait_for("no process is left", lambda: not service.processes(), 10.0)
    service = restarted.start()
    assert service.client.wait(sweep_id, 60)["state"] == "finished"
    counted_once(service.client, sweep_id, 8)


@pytest.mark.slow
def test_components_end_when_serve_and_ray_guardian_are_killed(tmp_path: Path, code: Path) -> None:
    with AuditedService(tmp_path / "data") as service:
        sweep_id = service.client.submit(function_sweep(code, "naps:nap", run_cap=20))["id"]
        wait_for("trials run", lambda: service.client.sweep(sweep_id)["counts"].get("running"))
        for pid in (service.process.pid, service.pid("ray")):
            os.kill(pid, signal.SIGKILL)
        service.process.wait()
        wait_for("nothing of the service is left", lambda: not service.processes(), 15.0)


def test_daemonized_grandchild_ends_with_its_attempt(lasting: AuditedService, code: Path) -> None:
    sweep = lasting.client.submit(function_sweep(code, "naps:daemonize", run_cap=2))
    assert lasting.client.wait(sweep["id"], 60)["state"] == "finished"
    written = list((lasting.data.bundles).glob("*/pid-*"))
    assert len(written) == 2
    assert not any(psutil.pid_exists(int(file.read_text())) for file in written)


def test_fake_gpu_runs_one_trial_at_a_time_which_sees_only_it(restarted: Restarted, code: Path) -> None:
    service = restarted.service
    assert {device["visible"] for device in service.client.devices()} == {"0", "1"}
    sweep = service.client.submit(function_sweep(code, "naps:nap", run_cap=8))
    assert service.client.wait(sweep["id"], 60)["state"] == "finished"
    attempts = [
        attempt
        for trial in service.client.trials(sweep["id"])
        for attempt in service.client.trial(trial["id"])["attempts"]
    ]
    assert {attempt["device"] for attempt in attempts} == {"gpu-0", "gpu-1"}
    assert all(attempt["device"] == f"gpu-{attempt['visible_devices']}" for attempt in attempts)
    for device in ("gpu-0", "gpu-1"):
        spans = sorted((str(a["started_at"]), str(a["ended_at"])) for a in attempts if a["device"] == device)
        assert all(earlier[1] <= later[0] for earlier, later in itertools.pairwise(spans))


def test_ctrl_c_on_sweep_run_cancels_sweep_and_leaves_no_processes(tmp_path: Path, code: Path) -> None:
    file = tmp_path / "sweep.yaml"
    file.write_text(
        "name: naps\nmethod: random\nmetric: {name: score, goal: maximize}\nparameters: {x: {min: 0.0, max: 1.0}}\n"
        "run_cap: 1000\nprogram: {function: 'naps:nap', code: code}\n"
    )
    data_dir = tmp_path / "data"
    process = subprocess.Popen(
        [*PODIUM, "sweep", "run", str(file), "--data-dir", str(data_dir), "--devices", "cpu:2"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a background job of a shell ignores it
    )
    assert process.stdout is not None
    assert any("running" in line for line in process.stdout)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=30)
    assert process.returncode == 130
    marks = [p for p in psutil.process_iter() if str(data_dir) in " ".join(_command_line(p))]
    assert not marks
    with sqlite3.connect(data_dir / "podium.sqlite3") as connection:
        assert connection.execute("select state from sweeps").fetchall() == [("cancelled",)]
        assert not connection.execute("select * from trials where state in ('running', 'waiting')").fetchall()


def _command_line(process: psutil.Process) -> list[str]:
    try:
        return [] if process.status() == psutil.STATUS_ZOMBIE else process.cmdline()
    except psutil.Error:
        return []


def test_second_service_on_same_directory_is_refused(lasting: AuditedService, tmp_path: Path) -> None:
    second = podium("serve", "--data-dir", str(lasting.data.root), "--port", "0", "--gateway-port", "0")
    assert second.returncode == 3
    assert f"process {lasting.process.pid}" in second.stderr
    taken = lasting.client.url.rsplit(":", 1)[1]
    other = podium("serve", "--data-dir", str(tmp_path / "other"), "--port", taken, "--gateway-port", "0")
    assert other.returncode == 4
    assert f"127.0.0.1:{taken}" in other.stderr and "--port" in other.stderr
    assert not (tmp_path / "other" / "podium.sqlite3").exists()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("content", "says"),
    [
        pytest.param(b"this is no database at all, but somebody's notes", "is not a database", marks=pytest.mark.slow),
        (b"SQLite format 3\0" + b"\xff" * 5000, "is damaged"),
    ],
)
def test_foreign_database_file_is_left_unchanged(tmp_path: Path, content: bytes, says: str) -> None:
    database = tmp_path / "podium.sqlite3"
    database.write_bytes(content)
    result = podium("serve", "--data-dir", str(tmp_path), "--port", "0", "--gateway-port", "0")
    assert result.returncode == 3
    assert says in result.stderr and len(result.stderr.strip().splitlines()) == 1
    assert database.read_bytes() == content


def test_gpu_service_without_gpu_fails_with_reason_and_leaves_no_processes(tmp_path: Path) -> None:
    result = podium(
        "serve", "--data-dir", str(tmp_path / "d"), "--port", "0", "--gateway-port", "0", "--devices", "gpu"
    )
    if result.returncode == 0:
        pytest.skip("this machine has a GPU")
    assert result.returncode == 4
    assert "this machine has no GPU" in result.stderr


@pytest.mark.slow
def test_serve_continues_when_scheduler_dies_while_ray_ends(lasting: AuditedService, code: Path) -> None:
    sweep_id = lasting.client.submit(function_sweep(code, "naps:nap", run_cap=8))["id"]
    guardian, scheduler = lasting.pid("ray"), lasting.pid("scheduler")
    (raylet,) = [p for p in psutil.Process(guardian).children(recursive=True) if p.name() == "raylet"]
    raylet.kill()
    wait_for(
        "Ray's files are gone",
        lambda: not ray_connection_settings.address_file(RuntimeDirectory.of(lasting.data)).exists(),
    )
    with contextlib.suppress(ProcessLookupError):
        os.kill(scheduler, signal.SIGKILL)
    wait_for("Ray is another", lambda: lasting.component("ray")["pid"] not in (None, guardian))
    assert lasting.client.wait(sweep_id, 90)["state"] == "finished"
    counted_once(lasting.client, sweep_id, 8)


@pytest.mark.slow
def test_restarted_serve_waits_for_processes_of_predecessor(tmp_path: Path, code: Path) -> None:
    with AuditedService(tmp_path / "data") as first:
        sweep_id = first.client.submit(function_sweep(code, "naps:nap", run_cap=8))["id"]
        wait_for("trials run", lambda: first.client.sweep(sweep_id)["counts"].get("running"))
        guardian = psutil.Process(first.pid("ray"))
        guardian.suspend()  # it cannot end its descendants yet
        first.process.kill()
        first.process.wait()
        with subprocess.Popen(
            [*PODIUM, "serve", "--data-dir", str(first.data.root), "--port", "0", "--gateway-port", "0"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        ) as second:
            try:
                wait_for("the next guardian waits", lambda: _guardians(second.pid))
                guardian.resume()
                wait_for("all is up", lambda: _ready(first.data.root))
                with Client.of(first.data.root) as client:
                    assert client.wait(sweep_id, 60)["state"] == "finished"
                    counted_once(client, sweep_id, 8)
            finally:
                with contextlib.suppress(psutil.NoSuchProcess):
                    guardian.resume()
                second.terminate()
            assert second.wait(30) == 0


def _guardians(serve_pid: int) -> list[psutil.Process]:
    return [
        p
        for p in psutil.Process(serve_pid).children()
        if "podium.sweep.ray_cluster.ray_head_guardian" in _command_line(p)
    ]


def _ready(data_dir: Path) -> bool:
    try:
        with Client.of(data_dir) as client:
            return bool(client.ready()["ready"])
    except ServiceError:
        return False


def _drained(terminal: int, process: subprocess.Popen[bytes]) -> bytes:
    """Everything written to a terminal until its other end is closed; a process that does not end is killed.

    An unread terminal buffers a few kilobytes and then blocks its writer.
    """
    said = b""
    end_s = time.monotonic() + 60
    with contextlib.suppress(OSError):  # the other end is closed
        while True:
            readable, _, _ = select.select([terminal], [], [], 1)
            more = os.read(terminal, 4096) if readable else b""
            said += more
            if time.monotonic() > end_s:
                process.kill()
                pytest.fail(f"still running after 60 s; it said {said.decode()!r}")
    return said


def test_ctrl_c_during_start_ends_service_and_leaves_no_processes(tmp_path: Path) -> None:
    data, said = tmp_path / "data", b""
    ours, theirs = pty.openpty()
    # A shell without job control starts background jobs, and so these tests, with SIGINT ignored.
    command = ["env", "--default-signal=INT", *PODIUM, "serve", "--data-dir", str(data), "--devices", "cpu:1"]
    command += ["--port", "0", "--gateway-port", "0"]
    try:
        with subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True) as process:
            os.close(theirs)
            while b"\n" not in said:
                said += os.read(ours, 4096)
            process.send_signal(signal.SIGINT)
            said += _drained(ours, process)
            assert process.wait(timeout=5) in (0, 130), said.decode()
    finally:
        os.close(ours)
    assert said.startswith(f"Starting Podium (data in {data}, devices: cpu:1)".encode())
    assert b"Traceback" not in said
    assert not (data / "service.json").exists()
