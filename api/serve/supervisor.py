"""The supervisor: starts the components, restarts those that die, and stops all; the `podium serve` process.

Components communicate only through the database and sockets, so each can be restarted alone; only Ray takes the
scheduler with it. When this process dies, all processes that it started die too.
"""

from __future__ import annotations

import contextlib
import os
import re
import selectors
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from podium.api.client import shell_quoted_commands
from podium.api.serve import login_link_request
from podium.api.serve.child_process import start_process
from podium.api.serve.component_shutdown import stop_components
from podium.api.serve.component_status_writer import StatusWriter
from podium.api.serve.missed_component_heartbeats import Heartbeats
from podium.api.serve.running_database_watch import DatabaseWatch
from podium.api.serve.supervised_components import (
    AFTER_RAY,
    FIRST_BACKOFF_S,
    LEADER_ELECTED,
    LEADER_ONLY,
    MODULES,
    ON_RAY,
    Component,
    components_of,
    of_kinds,
)
from podium.sweep.ray_cluster import ray_connection_settings
from podium.sweep.runtime import process_liveness
from podium.sweep.runtime.component_startup_and_heartbeats import PARENT_PID, READY_FD
from podium.sweep.runtime.disk_space_check import disk_space
from podium.sweep.runtime.fail_points import fail_point
from podium.sweep.runtime.fork_without_hooks import count_threads
from podium.sweep.runtime.process_trees import become_subreaper, kill_orphans
from podium.sweep.runtime.serve_environment_for_trials import WITHHOLD_CREDENTIALS
from podium.sweep.runtime.service_settings import ServiceSettings
from podium.sweep.values.errors import PodiumError, ServiceError

TICK_S = 1.0
DISK_FULL_BYTES = 1 << 20
MAX_BACKOFF_S = 2.0  # a component that is killed repeatedly is back within 5 s
LEADER_STARTS = 3  # failed ones of a component of a leader, after which a service with a standby ends
STABLE_S = 30.0  # uptime after which the backoff is reset
_EPOCH = re.compile(rb"epoch=([0-9]+)\n")


class Supervisor:
    """Runs the components."""

    def __init__(
        self,
        settings: ServiceSettings,
        log: Callable[[str], None],
        *,
        modules: Mapping[str, str] = MODULES,
        heartbeats: Heartbeats | None = None,
        tick_s: float = TICK_S,
    ) -> None:
        """A supervisor that has started nothing.

        Args:
            settings: Of the service.
            log: Writes a line for the user.
            modules: The module of each kind of component.
            heartbeats: Finds the components that miss theirs.
            tick_s: Seconds between two checks of the components when nothing happens.
        """
        self._settings = settings
        self._log = log
        self._modules = modules
        self._tick_s = tick_s
        self._components = {component.name: component for component in components_of(settings)}
        # Leadership reads the id of the Ray cluster.
        after = (*AFTER_RAY, "leadership") if settings.existing_cluster else AFTER_RAY
        for component in of_kinds(self._components, after):
            component.due_s = None
        self._epoch = None if settings.database_url_file else 0  # of the lease while this service leads; 0: needs none
        if self._epoch is None:
            self._hold_back(LEADER_ONLY)
        self._selector = selectors.DefaultSelector()
        self._stopping = False
        self.restarting = False  # whether trials on nodes continue for the next start
        self._announced = False
        self._heartbeats = heartbeats or Heartbeats()
        self._status = StatusWriter(settings, log)
        self._ray_address = ""
        self._has_saved_settings = False
        self._database_watch: DatabaseWatch | None = None
        others = ray_connection_settings.OTHER_RAY_VARIABLES
        of_ray = ray_connection_settings.environment(
            settings.ray_token,
            cluster=bool(settings.cluster),
            tls=settings.data.ray_tls if settings.ray_tls else None,
        )
        ours = {name: value for name, value in os.environ.items() if name not in others}
        withheld = {WITHHOLD_CREDENTIALS: "1"} if settings.artifact_url else {}
        self._environment = {**ours, **of_ray, **withheld, PARENT_PID: str(os.getpid())}

    def run(self, prepare: Callable[[Callable[[], bool]], None] = lambda _: None) -> None:
        """Serve until SIGTERM or SIGINT, or until SIGHUP, which leaves the trials on nodes running for the next start.

        Raises `PodiumError` if it cannot start; then no process is left running.

        Args:
            prepare: Prepares the database, the tokens and this process while Ray starts, which does not use them. It is
                called with a function that returns whether the service is stopping.
        """
        become_subreaper()
        wake_read, wake_write = os.pipe()
        os.set_blocking(wake_write, False)
        os.set_blocking(wake_read, False)
        signal.set_wakeup_fd(wake_write, warn_on_full_buffer=False)
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._on_stop)
        if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:  # as `nohup` sets it
            signal.signal(signal.SIGHUP, self._on_stop)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        self._selector.register(wake_read, selectors.EVENT_READ)
        try:
            self._start(self._components["ray"])
            self._prepare(prepare)
            self._database_watch = DatabaseWatch(self._settings)
            while not self._stopping:
                self._step(wake_read)
        finally:
            self._stop_all()

    def _prepare(self, prepare: Callable[[Callable[[], bool]], None]) -> None:
        try:
            prepare(lambda: self._stopping)
        except PodiumError:
            if not self._stopping:  # otherwise it was interrupted
                raise
        if (threads := count_threads()) > 1:
            self._log(f"podium serve has {threads} threads, so each component starts in a new interpreter")

    def _on_stop(self, number: int, _: object) -> None:
        if not self._stopping:  # the first signal decides: components may have been stopped for it
            self.restarting = number == signal.SIGHUP and bool(self._settings.cluster)
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
                self._read_pipe(self._components[key.data])
        for component in self._components.values():
            if component.process is not None and component.process.poll() is not None:
                self._on_exit(component)
        self._check_heartbeats(time.monotonic())
        if self._status.has_failed:
            self.publish()

    def _check_heartbeats(self, now_s: float) -> None:
        """Report silent components, and kill hung ones; their exit is handled like any other."""
        missed = self._heartbeats.check(now_s, self._is_traced)
        watched = [component for component in self._components.values() if self._heartbeats.is_watched(component.name)]
        changed = [component for component in watched if component.silent != (component.name in missed.silent)]
        for component in changed:
            component.silent = component.name in missed.silent
            self._log(f"{component.name}: {'missed heartbeat' if component.silent else 'heartbeat resumed'}")
        for name, age_s in missed.hung.items():
            self._log(f"{name} unresponsive for {age_s:.0f} s; killing it")
            self._heartbeats.forget(name)
            process = self._components[name].process
            if process is not None:
                process.kill()
        if changed:
            self.publish()

    def _is_traced(self, name: str) -> bool:
        """Whether a debugger is attached to the process of a component, which it may pause."""
        process = self._components[name].process
        return process is not None and process_liveness.is_traced(process.pid)

    def _next_due(self) -> float:
        due = [component.due_s for component in self._components.values() if component.due_s is not None]
        return min(self._tick_s, max(0.0, min(due) - time.monotonic())) if due else self._tick_s

    def _start_due(self) -> None:
        for component in self._components.values():
            if component.due_s is not None and time.monotonic() >= component.due_s:
                self._start(component)

    # One component.

    def _settings_file(self) -> Path:
        """The settings for a component; written again if the file was removed from the runtime directory."""
        path = self._settings.runtime.settings_file
        if not self._has_saved_settings or not path.exists():
            try:
                self._settings.save()
            except OSError as error:
                if not self._has_saved_settings:
                    raise ServiceError(f"cannot write {path}: {error.strerror}") from error
                self._log(f"cannot write {path} again ({error.strerror}); the component is restarted later")
            self._has_saved_settings = True
        return path

    def _start(self, component: Component) -> None:
        fail_point(f"serve.before-{component.kind}")
        read_fd, write_fd = os.pipe()
        environment = {**self._environment, READY_FD: str(write_fd)}
        if component.name != "ray":
            environment["CUDA_VISIBLE_DEVICES"] = ""  # no component computes: devices are for slots and members
        piped = component.kind == "ray" or component.kind in LEADER_ELECTED
        stdin, component.stdin_fd = os.pipe() if piped else (_open_null(), None)
        with (self._settings.data.logs / f"{component.name}.log").open("ab") as log:
            component.process = start_process(
                self._modules[component.kind],
                [str(self._settings_file()), component.name],
                environment=environment,
                streams=(stdin, log.fileno(), log.fileno()),
                passed=[write_fd],
            )
        os.close(write_fd)
        os.close(stdin)
        component.ready_fd, component.ready, component.due_s, component.started_s = (
            read_fd,
            False,
            None,
            time.monotonic(),
        )
        self._selector.register(read_fd, selectors.EVENT_READ, component.name)
        component.has_address = component.has_epoch = False
        component.stands_by = component.kind in LEADER_ELECTED and self._epoch is None
        self._send_lines(component)
        self.publish()

    def _send_lines(self, component: Component) -> None:
        """Tell a component what it waits for: the address of Ray, then the epoch of the lease."""
        if component.stdin_fd is None or component.kind not in LEADER_ELECTED:
            return
        lines = ""
        if component.kind in ON_RAY and not component.has_address:
            if not self._components["ray"].ready:
                return
            lines, component.has_address = f"{self._ray_address}\n", True
        if self._epoch is not None and not component.has_epoch:
            lines, component.has_epoch, component.stands_by = f"{lines}{self._epoch}\n", True, False
        with contextlib.suppress(OSError):  # it has ended; SIGCHLD follows
            os.write(component.stdin_fd, lines.encode())

    def _read_pipe(self, component: Component) -> None:
        if component.ready_fd is None:
            return  # it was killed by what another pipe has told in the same step
        content = os.read(component.ready_fd, 4096)
        if not content:
            self._close_pipe(component)
            return  # it ended; SIGCHLD follows
        if b"." in content:
            self._heartbeats.record(component.name, time.monotonic())
        for epoch in _EPOCH.findall(content):
            self._on_leadership(int(epoch) or None)
        if b"ready" in content and not component.ready:
            self._on_ready(component)

    def _hold_back(self, kinds: Sequence[str]) -> None:
        """Do not start these before this service leads."""
        for component in of_kinds(self._components, kinds):
            component.due_s, component.stands_by = None, True

    def _on_leadership(self, epoch: int | None) -> None:
        """This service leads with an epoch from now on, or another one leads (None).

        Scheduler and host that have led are killed: a scheduler that is terminated would end all trials.
        """
        before, self._epoch = self._epoch, epoch
        if epoch is not None and epoch == before:
            return  # the process that renews the lease has been restarted
        if epoch is not None:
            self._log(f"this service leads, with epoch {epoch}")
        elif before is not None:
            self._log("another service leads now: scheduler and host of this one are stopped, and it stands by")
        else:
            self._log("another service leads; this one stands by")
        for component in of_kinds(self._components, (*LEADER_ELECTED, *LEADER_ONLY)):
            component.failed_starts = 0
            if (before is not None and component.process is not None) or component.kind in LEADER_ONLY:
                self._kill(component)
                component.due_s, component.stands_by = time.monotonic(), False
            else:
                self._send_lines(component)
        if epoch is None:
            self._hold_back(LEADER_ONLY)
        self.publish()

    def _on_ready(self, component: Component) -> None:
        if component.name == "ray" and not self._find_ray():
            return  # it is ending and has removed its files; SIGCHLD follows
        component.ready = component.ever_ready = True
        self._heartbeats.record(component.name, time.monotonic())  # it may hang before it sends the first one
        if component.name == "ray":
            for each in of_kinds(self._components, ON_RAY):
                self._send_lines(each)
            for each in of_kinds(self._components, (*AFTER_RAY, "leadership")):
                if each.process is None:
                    each.due_s = time.monotonic()
        self.publish()
        if not self._announced and all(each.ready or each.stands_by for each in self._components.values()):
            self._announced = True
            self._log(f"Podium is ready at {self._settings.url} (data in {self._settings.data_dir})")
            link = login_link_request.ask(self._settings)
            if link is None:
                login = shell_quoted_commands.command(self._settings.data_dir, "login")
                self._log(f"Run `{login}` for a link that opens the dashboard")
            else:
                self._log(f"Open the dashboard (the link works once, for 24 hours): {link}")

    def _find_ray(self) -> bool:
        """Read Ray's address; False if Ray is ending, since it removes the file before it exits."""
        try:
            self._ray_address = ray_connection_settings.address_of(self._settings.runtime)
        except FileNotFoundError:
            return False
        return True

    def _on_exit(self, component: Component) -> None:
        assert component.process is not None
        status = component.process.wait()
        if self._database_watch is not None:
            self._database_watch.check(status, self._last_line(component.name))
        if self._failed_to_start(component, status):
            raise ServiceError(f"{component.name} failed to start: {self._last_line(component.name)}")
        if time.monotonic() - component.started_s > STABLE_S:
            component.backoff_s = FIRST_BACKOFF_S
        self._log(f"{component.name} exited with status {status}; restarting it in {component.backoff_s:g} s")
        self._forget(component)
        self._kill_orphans()
        component.restarts += 1
        component.due_s = time.monotonic() + component.backoff_s
        component.backoff_s = min(component.backoff_s * 2, MAX_BACKOFF_S)
        if component.name == "ray":
            for each in of_kinds(self._components, ON_RAY):
                self._kill(each)
                each.due_s = time.monotonic()
                each.restarts += 1
        self.publish()

    def _failed_to_start(self, component: Component, status: int) -> bool:
        """Whether the service cannot start because this component exited, but was not killed.

        Of two services, one may have lost the lease, or Ray its node, while this one was frozen: then what leads exits
        before `_on_leadership` stops it. So only several exits in one term of leadership mean that it cannot start.
        """
        if status < 0 or component.ever_ready or self._announced or self._is_disk_full():
            return False
        component.failed_starts += 1
        return component.failed_starts >= (LEADER_STARTS if self._settings.standby and component.has_epoch else 1)

    def _is_disk_full(self) -> bool:
        """Whether the disk is full: then a component may fail to start, and is restarted until there is space."""
        return disk_space(self._settings.data.root).free_bytes < DISK_FULL_BYTES

    def _kill(self, component: Component) -> None:
        if component.process is not None:
            component.process.kill()
            component.process.wait()
            self._forget(component)

    def _kill_orphans(self) -> None:
        """Kill processes that Ray's guardian left to this process because it was killed itself."""
        kill_orphans(
            {component.process.pid for component in self._components.values() if component.process is not None}
        )

    def _forget(self, component: Component) -> None:
        if component.stdin_fd is not None:
            os.close(component.stdin_fd)
        component.process = component.stdin_fd = None
        component.ready = component.silent = component.stands_by = False
        self._heartbeats.forget(component.name)
        self._close_pipe(component)

    def _close_pipe(self, component: Component) -> None:
        if component.ready_fd is not None:
            self._selector.unregister(component.ready_fd)
            os.close(component.ready_fd)
            component.ready_fd = None

    def _last_line(self, name: str) -> str:
        lines = (self._settings.data.logs / f"{name}.log").read_text(errors="replace").strip().splitlines()
        return lines[-1] if lines else "no output"

    # The service.

    def _stop_all(self) -> None:
        hands_over = self.restarting or self._settings.standby  # to the next start, or to the standby
        stop_components(self._components, kill=self._kill, hands_over=hands_over, log=self._log)
        self._settings.data.service_file.unlink(missing_ok=True)

    def publish(self) -> None:
        """Write the state of all components to the service file."""
        self._status.write(self._components.values())


def _open_null() -> int:
    return os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
