"""Imports torch once, then forks the processes of a node: fork servers, members and Ray workers; the template process.

`python -P -m podium.sweep.process_template.template_process REQUESTS OWNER [WORKERS]`, with two or three descriptors:
the listening socket of requests (`podium.sweep.protocol.process_template_messages`), the reading end of a pipe whose
other end the owner holds, and the listening socket of Ray workers (`podium.sweep.ray_cluster.ray_worker_template`),
unless Ray starts its workers itself.

It serves as soon as torch is imported. It imports the rest (`podium.sweep.process_template.template_imports`) when
attempts need it (`podium.sweep.process_template.rest_import_schedule`). Then it tells the clients of the processes that
it has forked that these are outdated: new ones would share the rest.

The template has one thread and runs no user code. A forked process shares its memory, copy-on-write. When a client
closes its connection, its process is killed. The template is a subreaper: when a process exits, the template kills the
processes that it left behind, before it reports the exit. When the template exits, the processes that it has forked
keep running; when its owner exits, all of them end.
"""

from __future__ import annotations

import importlib
import logging
import os
import random
import selectors
import signal
import socket
import struct
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

from podium.sweep.process_template import template_imports
from podium.sweep.process_template.rest_import_schedule import RestImportSchedule
from podium.sweep.protocol.process_template_messages import (
    UNFORKABLE,
    WITHOUT_REST,
    ForkProcess,
    ProcessExited,
    ProcessForked,
    ProcessOutdated,
    TemplateReply,
    decode_request,
    encode_reply,
)
from podium.sweep.runtime.fork_without_hooks import fork_without_hooks
from podium.sweep.runtime.process_title import name_process
from podium.sweep.runtime.process_trees import become_subreaper, die_with_parent, kill_descendants, kill_orphans, reap
from podium.sweep.runtime.signal_handlers import DEFAULT, raise_keyboard_interrupt, set_signal_handler

RAY_WORKERS = "podium.sweep.ray_cluster.ray_worker_template"
MAX_DESCRIPTORS = 8
REQUEST_S = 5.0  # in which a client must have sent its request
PAUSE_S = 0.05  # after a failed accept
EXIT_GRACE_S = 2.0  # in which a process may exit by itself when its client has
EnvironmentChanges = Mapping[str, str | None]  # new values by name; None removes a variable
WORKER_PID = struct.Struct("=i")  # as the template of Ray's workers reports the processes that it has forked
log = logging.getLogger("podium.template")


@dataclass(slots=True)
class _Child:
    """A forked process and the connection to its client."""

    pid: int
    entry: str
    client: socket.socket | None
    detached: bool
    kill_at_s: float | None = field(default=None)


class Template:
    """The event loop: fork on request, report exits, kill orphans, import the rest when due."""

    def __init__(
        self, requests: socket.socket, owner: int, workers: socket.socket | None, schedule: RestImportSchedule | None
    ) -> None:
        self._requests = requests
        self._workers = workers
        self._owner = owner
        self._children: dict[int, _Child] = {}  # by pid
        self._schedule = schedule  # None once the rest is imported, or if it cannot be
        self._worker_template: int | None = None
        self._worker_pids: set[int] = set()  # forked by worker templates; adopted here when one exits
        self._wake_read, self._wake_write = os.pipe()
        self._worker_pids_read, self._worker_pids_write = os.pipe()
        for descriptor in (self._wake_read, self._wake_write, self._worker_pids_read):
            os.set_blocking(descriptor, False)
        self._selector = selectors.DefaultSelector()

    def serve(self) -> NoReturn:
        """Serve until the owner exits; then kill every process below this one."""
        signal.set_wakeup_fd(self._wake_write, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        for source in (self._requests, self._owner, self._wake_read):
            self._selector.register(source, selectors.EVENT_READ)
        self._accept_workers()
        self._collect()
        while True:
            for key, _ in self._selector.select(self._wait_s()):
                if key.fileobj == self._owner:
                    kill_descendants()
                    os._exit(0)
                self._handle(key)
            self._collect()
            self._kill_abandoned()
            self._import_rest_if_due()

    def _handle(self, key: selectors.SelectorKey) -> None:
        if key.fileobj is self._requests:
            self._accept()
        elif self._workers is not None and key.fileobj is self._workers:
            self._restart_worker_template(self._workers)
        elif key.fileobj == self._wake_read:
            with suppress(BlockingIOError):
                os.read(self._wake_read, 4096)
        else:
            self._on_client_closed(key.data)

    # Requests.

    def _accept(self) -> None:
        try:
            client, _ = self._requests.accept()
        except OSError:  # the client has gone, or there are too many open files: requests wait
            time.sleep(PAUSE_S)
            return
        try:
            request, changes, descriptors = _receive(client)
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            client.close()
            return
        self._fork(request, changes, descriptors, client)

    def _fork(
        self, request: ForkProcess, changes: EnvironmentChanges, descriptors: list[int], client: socket.socket
    ) -> None:
        arguments = list(request.arguments)
        try:
            pid = fork_without_hooks() if request.entry == template_imports.FORK_SERVER else os.fork()
        except (OSError, RuntimeError):  # for example, no memory; the client sees the end of its connection
            log.exception("cannot fork a process for %s", request.entry)
            pid = -1
        if pid == 0:
            client.close()
            self._become(request.entry, arguments, descriptors, changes)
        close_all(descriptors)
        if pid < 0:
            client.close()
            return
        self._children[pid] = child = _Child(pid, request.entry, client, request.detached)
        self._selector.register(client, selectors.EVENT_READ, child)
        _send(client, ProcessForked(pid))

    def _on_client_closed(self, child: _Child) -> None:
        """The client has exited, or needs its process no longer."""
        self._forget_client(child)
        if not child.detached:
            child.kill_at_s = time.monotonic() + EXIT_GRACE_S

    def _forget_client(self, child: _Child) -> None:
        if child.client is not None:
            self._selector.unregister(child.client)
            child.client.close()
            child.client = None

    # Ray workers.

    def start_worker_template(self) -> bool:
        """Fork the process that accepts requests of workers from now on; whether that succeeded.

        It imports Ray, which no trial may inherit, and exits with this process.
        """
        assert self._workers is not None
        parent = os.getpid()
        try:
            pid = os.fork()
        except OSError:
            log.exception("cannot fork the template of Ray's workers")
            return False
        if pid == 0:
            workers = self._workers.detach()
            die_with_parent(parent)
            self._become(RAY_WORKERS, [], [workers, os.dup(self._worker_pids_write)], {})
        self._worker_template = pid
        return True

    def _accept_workers(self) -> None:
        """Wait for requests of workers here, unless a template of workers does."""
        if self._workers is not None and self._worker_template is None:
            self._selector.register(self._workers, selectors.EVENT_READ)

    def _restart_worker_template(self, workers: socket.socket) -> None:
        """A worker is requested, and there is no template of workers."""
        if self.start_worker_template():
            self._selector.unregister(workers)
        else:  # the launcher of the worker sees the end of its connection, and runs Ray's own command
            with suppress(OSError):
                workers.accept()[0].close()

    def _read_worker_pids(self) -> None:
        with suppress(BlockingIOError):
            while content := os.read(self._worker_pids_read, 4096 * WORKER_PID.size):
                self._worker_pids.update(pid for (pid,) in WORKER_PID.iter_unpack(content))

    # Exits.

    def _collect(self) -> None:
        for pid, status in reap():
            if pid == self._worker_template:
                self._worker_template = None
                self._accept_workers()
            child = self._children.pop(pid, None)
            if child is None:
                continue
            orphans = kill_orphans(self._known())
            if child.client is not None:
                _send(child.client, ProcessExited(os.waitstatus_to_exitcode(status), len(orphans)))
            self._forget_client(child)

    def _known(self) -> set[int]:
        """The processes below this one that are not orphans."""
        self._read_worker_pids()
        self._worker_pids = {pid for pid in self._worker_pids if Path(f"/proc/{pid}").exists()}
        own = set() if self._worker_template is None else {self._worker_template}
        return {*self._children, *self._worker_pids, *own}

    def _kill_abandoned(self) -> None:
        now_s = time.monotonic()
        for child in self._children.values():
            if child.kill_at_s is not None and now_s >= child.kill_at_s:
                with suppress(ProcessLookupError):
                    os.kill(child.pid, signal.SIGKILL)
                child.kill_at_s = None

    def _wait_s(self) -> float | None:
        due_s = [child.kill_at_s for child in self._children.values() if child.kill_at_s is not None]
        if self._schedule is not None:
            due_s.append(self._schedule.next_look_s)
        return max(0.0, min(due_s) - time.monotonic()) if due_s else None

    # Imports.

    def _import_rest_if_due(self) -> None:
        """Requests wait meanwhile, once in the life of the template."""
        if self._schedule is None:
            return
        fork_servers = [child.pid for child in self._children.values() if child.entry == template_imports.FORK_SERVER]
        if not self._schedule.is_due(fork_servers):
            return
        self._schedule = None
        try:
            template_imports.import_rest()
        except BaseException:  # an import runs any code; what has been forked keeps running
            log.exception("cannot serve after the rest of the imports; another process template does without them")
            os._exit(UNFORKABLE)
        for child in self._children.values():
            if child.client is not None:
                _send(child.client, ProcessOutdated())

    # In the forked process.

    def _become(
        self, entry: str, arguments: list[str], descriptors: list[int], changes: EnvironmentChanges
    ) -> NoReturn:
        """Run the entry. `changes`: of the environment; to set all variables would copy memory."""
        status = 70
        try:
            os.setsid()  # a signal to the group of one process must not reach the others
            signal.set_wakeup_fd(-1)
            set_signal_handler(signal.SIGCHLD, DEFAULT)
            set_signal_handler(signal.SIGINT, raise_keyboard_interrupt)
            self._close()
            for name, value in changes.items():
                if value is None:
                    del os.environ[name]
                else:
                    os.environ[name] = value
            random.seed()  # otherwise all forked processes would draw the same numbers
            status = importlib.import_module(entry).run_forked(arguments, descriptors, self._owner)
        except Exception:  # noqa: BLE001 - the last handler of this process
            sys.excepthook(*sys.exc_info())
        finally:
            # Not sys.exit: it would run the template's atexit handlers and torch's teardown.
            os._exit(status)

    def _close(self) -> None:
        """Close what belongs to the template, except the pipe of the owner."""
        self._selector.close()
        for child in self._children.values():
            if child.client is not None:
                child.client.close()
        self._requests.close()
        if self._workers is not None:
            self._workers.close()
        for descriptor in (self._wake_read, self._wake_write, self._worker_pids_read, self._worker_pids_write):
            os.close(descriptor)


def _changes_to(environment: Mapping[str, str]) -> EnvironmentChanges:
    """The changes that make the environment of this process equal to another one."""
    own = dict(os.environ)
    changes: dict[str, str | None] = dict.fromkeys(own.keys() - environment.keys())
    changes.update({name: value for name, value in environment.items() if own.get(name) != value})
    return changes


def _receive(client: socket.socket) -> tuple[ForkProcess, EnvironmentChanges, list[int]]:
    """The request of a client, with the changes of the environment and its descriptors.

    Raises `OSError`, and `ValueError`, `KeyError`, `TypeError` and `AttributeError` for an invalid one.
    """
    line, descriptors = receive_line(client)
    try:
        request = decode_request(line)
        changes = _changes_to(request.environment)
    except BaseException:
        close_all(descriptors)
        raise
    client.setblocking(False)
    return request, changes, descriptors


def receive_line(client: socket.socket) -> tuple[bytes, list[int]]:
    """One line, and the descriptors that come with it. Raises `OSError` if it does not arrive in time."""
    client.settimeout(REQUEST_S)
    received: list[int] = []
    line = b""
    try:
        while not line.endswith(b"\n"):
            content, descriptors, _, _ = socket.recv_fds(client, 1 << 20, MAX_DESCRIPTORS)
            received += descriptors
            if not content:
                raise ConnectionResetError("the client closed its connection")
            line += content
    except BaseException:
        close_all(received)
        raise
    return line, received


def close_all(descriptors: Sequence[int]) -> None:
    """Close the descriptors of a request."""
    for descriptor in descriptors:
        os.close(descriptor)


def _send(client: socket.socket, reply: TemplateReply) -> None:
    with suppress(OSError):  # the client has exited
        client.send(encode_reply(reply))


def main(schedule: RestImportSchedule | None = None) -> None:
    """Import what a start waits for, then serve."""
    become_subreaper()
    name_process("podium-template")
    requests, owner = socket.socket(fileno=int(sys.argv[1])), int(sys.argv[2])
    workers = socket.socket(fileno=int(sys.argv[3])) if len(sys.argv) > 3 else None
    schedule = None if WITHOUT_REST in os.environ else schedule or RestImportSchedule()
    template = Template(requests, owner, workers, schedule)
    if workers is not None:
        template.start_worker_template()  # which imports Ray while this process imports torch
    template_imports.import_first()
    template.serve()


if __name__ == "__main__":
    main()
