"""`podium serve`: starts the parts, restarts what dies and says so, stops all; holds nothing heavy.

The parts meet only in the database and on sockets, so each may die and come back alone; only Ray takes scheduler and
host with it. When this process dies, however, everything that it started dies too.
"""

from __future__ import annotations

import json
import os
import secrets
import selectors
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from podium.api.client import service_certificate, shell_commands
from podium.api.serve import database_process, login_link, unfinished_files
from podium.api.serve.heartbeats import Pulses
from podium.api.serve.service_lock import service_locked
from podium.sweep.runtime.atomic_files import write_whole
from podium.sweep.runtime.component import PARENT_PID, READY_FD
from podium.sweep.runtime.disk_space import check_room, room
from podium.sweep.runtime.fail_points import passing
from podium.sweep.runtime.filesystem_type import refuse_network
from podium.sweep.runtime.process_trees import become_subreaper, kill_orphans
from podium.sweep.runtime.settings import ServiceSettings
from podium.sweep.slots import ray_head
from podium.sweep.values.errors import DatabaseError, ServiceError

STOP_S = 7.0  # for the parts; Ray's guardian has its own, shorter, time
TURN_S = 1.0
NO_ROOM_BYTES = 1 << 20
FIRST_BACKOFF_S = 0.1
MAX_BACKOFF_S = 2.0  # a part that is killed again and again is back within 5 s all the same
STABLE_S = 30.0  # a part that held so long starts again with the first backoff
_MODULES = {
    "ray": "podium.sweep.slots.ray_head",
    "api": "podium.api.rest.main",
    "gateway": "podium.api.gateway.main",
    "scheduler": "podium.sweep.scheduling.main",
    "host": "podium.ensemble.host.main",
}
_ON_RAY = ("scheduler", "host")
_STOP_ORDER = ("gateway", "api", "host", "scheduler")


@dataclass(slots=True)
class _Part:
    """A process of the service."""

    name: str
    process: subprocess.Popen[bytes] | None = None
    ready_fd: int | None = None
    ready: bool = False
    silent: bool = False
    ever_ready: bool = False
    restarts: int = 0
    started_s: float = 0.0
    backoff_s: float = FIRST_BACKOFF_S
    due_s: float | None = field(default=0.0)  # when to start it; None while it runs or waits for Ray

    @property
    def state(self) -> str:
        if self.process is None:
            return "waiting"
        if self.ready and self.silent:
            return "silent"
        return "ready" if self.ready else "starting"


class Supervisor:
    """See the module."""

    def __init__(self, settings: ServiceSettings, say: Callable[[str], None]) -> None:
        self._settings = settings
        self._say = say
        self._parts = {name: _Part(name) for name in _MODULES}
        for name in _ON_RAY:
            self._parts[name].due_s = None
        self._selector = selectors.DefaultSelector()
        self._stopping = False
        self._announced = False
        self._pulses = Pulses()
        self._unwritten = ""  # why the service file is not up to date
        self._ray_address = ""
        self._certificate = service_certificate.certificate(Path(settings.tls_cert)) if settings.tls_cert else None
        self._database = _identity(settings.data.database)
        ours = {name: value for name, value in os.environ.items() if name not in ray_head.OF_ANOTHER_RAY}
        self._environment = {**ours, **ray_head.environment(settings.data), PARENT_PID: str(os.getpid())}

    def run(self) -> None:
        """Serve until SIGTERM or SIGINT. Raises `PodiumError`, with nothing left running, when it cannot start."""
        become_subreaper()
        wake_read, wake_write = os.pipe()
        os.set_blocking(wake_write, False)
        os.set_blocking(wake_read, False)
        signal.set_wakeup_fd(wake_write, warn_on_full_buffer=False)
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._on_stop)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        self._selector.register(wake_read, selectors.EVENT_READ)
        try:
            while not self._stopping:
                self._step(wake_read)
        finally:
            self._stop_all()

    def _on_stop(self, *_: object) -> None:
        self._stopping = True

    def _step(self, wake_read: int) -> None:
        self._start_due()
        for key, _ in self._selector.select(self._next_due()):
            if key.fd == wake_read:
                try:
                    os.read(wake_read, 4096)
                except BlockingIOError:
                    pass
            else:
                self._hear(self._parts[key.data])
        for part in self._parts.values():
            if part.process is not None and part.process.poll() is not None:
                self._hear_exit(part)
        self._judge(time.monotonic())
        if self._unwritten:
            self._publish()

    def _judge(self, now_s: float) -> None:
        """Show who is silent, and end who has been so for long: its exit is heard of as any other."""
        silent, hung = self._pulses.look(now_s)
        heard = [part for part in self._parts.values() if self._pulses.is_heard(part.name)]
        changed = [part for part in heard if part.silent != (part.name in silent)]
        for part in changed:
            part.silent = part.name in silent
            self._say(f"{part.name} {'has fallen silent' if part.silent else 'is heard of again'}")
        for name in hung:
            self._say(f"{name} does nothing any more; killing it")
            self._pulses.forget(name)
            process = self._parts[name].process
            if process is not None:
                process.kill()
        if changed:
            self._publish()

    def _next_due(self) -> float:
        due = [part.due_s for part in self._parts.values() if part.due_s is not None]
        return min(TURN_S, max(0.0, min(due) - time.monotonic())) if due else TURN_S

    def _start_due(self) -> None:
        for part in self._parts.values():
            if part.due_s is not None and time.monotonic() >= part.due_s:
                self._start(part)

    # One part.

    def _start(self, part: _Part) -> None:
        passing(f"serve.before-{part.name}")
        read_fd, write_fd = os.pipe()
        arguments = [self._settings.to_json()]
        if part.name in _ON_RAY:
            arguments.append(self._ray_address)
        environment = {**self._environment, READY_FD: str(write_fd)}
        if part.name != "ray":
            environment["CUDA_VISIBLE_DEVICES"] = ""  # no part computes: devices are for slots and members
        with (self._settings.data.logs / f"{part.name}.log").open("ab") as log:
            part.process = subprocess.Popen(
                [sys.executable, "-P", "-m", _MODULES[part.name], *arguments],
                stdin=subprocess.PIPE if part.name == "ray" else subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=environment,
                pass_fds=[write_fd],
                start_new_session=True,  # Ctrl-C is for us alone
            )
        os.close(write_fd)
        part.ready_fd, part.ready, part.due_s, part.started_s = read_fd, False, None, time.monotonic()
        self._selector.register(read_fd, selectors.EVENT_READ, part.name)
        self._publish()

    def _hear(self, part: _Part) -> None:
        assert part.ready_fd is not None
        said = os.read(part.ready_fd, 4096)
        if not said:
            self._close_pipe(part)
            return  # it ended; its exit is heard of too
        if b"." in said:
            self._pulses.beat(part.name, time.monotonic())
        if b"ready" in said and not part.ready:
            self._hear_ready(part)

    def _hear_ready(self, part: _Part) -> None:
        if part.name == "ray" and not self._find_ray():
            return  # it has removed its files already: its exit is heard of
        part.ready = part.ever_ready = True
        if part.name == "ray":
            for name in _ON_RAY:
                self._parts[name].due_s = time.monotonic()
        self._publish()
        if not self._announced and all(p.ready for p in self._parts.values()):
            self._announced = True
            self._say(f"Podium is ready at {self._settings.url} (data in {self._settings.data_dir})")
            link = login_link.ask(self._settings)
            if link is None:
                login = shell_commands.command(self._settings.data_dir, "login")
                self._say(f"`{login}` prints a link that opens it in a browser")
            else:
                self._say(f"Open it in a browser; the link works once, for 24 hours: {link}")

    def _find_ray(self) -> bool:
        """Read Ray's address while it is there: a Ray that ends takes the file along before we hear of its end."""
        try:
            self._ray_address = ray_head.address_of(self._settings.runtime)
        except FileNotFoundError:
            return False
        return True

    def _hear_exit(self, part: _Part) -> None:
        assert part.process is not None
        status = part.process.returncode
        if _identity(self._settings.data.database) != self._database:
            raise DatabaseError(
                f"{self._settings.data.database} was removed or replaced while the service ran; put it back, or "
                "restore a backup while no service runs, and start again"
            )
        given_up = (
            status >= 0 and not part.ever_ready and not self._announced
        )  # one that was killed may start next time
        if given_up and not self._is_disk_full():
            raise ServiceError(f"{part.name} did not start: {self._last_words(part.name)}")
        if time.monotonic() - part.started_s > STABLE_S:
            part.backoff_s = FIRST_BACKOFF_S
        self._say(f"{part.name} ended with status {status}; starting it again in {part.backoff_s:g} s")
        self._forget(part)
        self._kill_orphans()
        part.restarts += 1
        part.due_s = time.monotonic() + part.backoff_s
        part.backoff_s = min(part.backoff_s * 2, MAX_BACKOFF_S)
        if part.name == "ray":
            for name in _ON_RAY:
                self._kill(self._parts[name])
                self._parts[name].due_s = None
                self._parts[name].restarts += 1
        elif part.name in _ON_RAY and not self._parts["ray"].ready:
            part.due_s = None
        self._publish()

    def _is_disk_full(self) -> bool:
        """Whether no part could write anything: then it starts when there is room again."""
        return room(self._settings.data.root).free_bytes < NO_ROOM_BYTES

    def _kill(self, part: _Part) -> None:
        if part.process is not None:
            part.process.kill()
            part.process.wait()
            self._forget(part)

    def _kill_orphans(self) -> None:
        """Ray's guardian cleans up behind Ray; if it was killed itself, what it kept comes to this process."""
        kill_orphans({part.process.pid for part in self._parts.values() if part.process is not None})

    def _forget(self, part: _Part) -> None:
        if part.process is not None and part.process.stdin is not None:
            part.process.stdin.close()
        part.process = None
        part.ready = part.silent = False
        self._pulses.forget(part.name)
        self._close_pipe(part)

    def _close_pipe(self, part: _Part) -> None:
        if part.ready_fd is not None:
            self._selector.unregister(part.ready_fd)
            os.close(part.ready_fd)
            part.ready_fd = None

    def _last_words(self, name: str) -> str:
        lines = (self._settings.data.logs / f"{name}.log").read_text(errors="replace").strip().splitlines()
        return lines[-1] if lines else "it said nothing"

    # The service.

    def _stop_all(self) -> None:
        """Front to back, so that the scheduler can still kill its trials through Ray; then Ray, whole."""
        end = time.monotonic() + STOP_S
        for name in _STOP_ORDER:
            process = self._parts[name].process
            if process is not None and process.poll() is None:
                process.terminate()
        for name in _STOP_ORDER:
            self._wait(self._parts[name], end)
        ray = self._parts["ray"].process
        if ray is not None and ray.poll() is None:
            ray.terminate()
        self._wait(self._parts["ray"], time.monotonic() + 2 * ray_head.STOP_S)
        kill_orphans(set())
        self._settings.data.service_file.unlink(missing_ok=True)

    def _wait(self, part: _Part, end_s: float) -> None:
        if part.process is None:
            return
        try:
            part.process.wait(max(0.05, end_s - time.monotonic()))
        except subprocess.TimeoutExpired:
            self._say(f"{part.name} does not end; killing it")
            part.process.kill()
            part.process.wait()

    def _publish(self) -> None:
        settings = self._settings
        parts = [
            {
                "name": part.name,
                "pid": None if part.process is None else part.process.pid,
                "state": part.state,
                "restarts": part.restarts,
            }
            for part in self._parts.values()
        ]
        about = {
            "url": settings.url,
            "gateway_url": settings.gateway_url,
            "certificate": self._certificate,
            "pid": os.getpid(),
            "parts": [{"name": "serve", "pid": os.getpid(), "state": "ready", "restarts": 0}, *parts],
        }
        try:
            write_whole(settings.data.service_file, json.dumps(about).encode(), mode=0o600)
        except OSError as error:  # a full disk is no reason to end: what is up goes on, and reads are answered
            reason = error.strerror or str(error)
            if reason != self._unwritten:
                self._say(f"cannot write {settings.data.service_file}: {reason}; trying again")
            self._unwritten = reason
        else:
            self._unwritten = ""


def serve(settings: ServiceSettings, say: Callable[[str], None]) -> None:
    """Check everything that can be checked, then run the service.

    Raises `PodiumError` with one sentence, before anything is started or written, when the directory, the database
    or a port cannot be used.
    """
    data = settings.data
    os.umask(0o077)  # for every part: what lies in the data directory is for its user alone
    refuse_network(data.root)
    data.prepare()
    with service_locked(data, "use it, or another --data-dir"):
        try:
            settings.runtime.prepare()
            unfinished_files.remove(data)
            for option, port in (("--port", settings.port), ("--gateway-port", settings.gateway_port)):
                _check_port(settings.host, port, option)
            if not data.admin_token.exists():
                check_room(data.root)  # a first start writes; a later one may serve reads from a full disk
            database_process.run("migrate", data.database)
            ray_head.ensure_token(data)
            if not data.admin_token.exists():
                token = "podium_" + secrets.token_urlsafe(32)
                write_whole(data.admin_token, token.encode() + b"\n", mode=0o600)
                say(f"The admin token, shown this once: {token} (kept in {data.admin_token})")
            Supervisor(settings, say).run()
        finally:
            shutil.rmtree(settings.runtime.root, ignore_errors=True)


def free_port() -> int:
    """A port that nobody listens on now."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port: int = probe.getsockname()[1]
        return port


def _check_port(host: str, port: int, option: str) -> None:
    try:
        socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET).close()
    except OSError as error:
        raise ServiceError(f"cannot listen on {host}:{port}: {error.strerror}; choose another with {option}") from error


def _identity(file: Path) -> tuple[int, int] | None:
    try:
        found = file.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino
