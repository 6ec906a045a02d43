"""Forks one process per attempt, with the imports of the process template; the fork server, one or more per slot.

The process template forks it at the request of a slot, and passes a socket; the messages are in
`podium.sweep.protocol.fork_server_messages`. The fork server is a subreaper: it adopts and kills the processes
that an attempt leaves behind before it reports the exit, so that a free slot has no processes. When the slot exits, the
socket closes, and every process below this one is killed.

The fork server of multiprocessing is no alternative: started from a Ray worker, it imports Ray's main module again in
every child. No parallel operation may run before the fork: its threads do not survive, and the next operation in the
child would wait for them forever.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import selectors
import signal
import socket
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, NoReturn

from podium.sweep.protocol.fork_server_messages import (
    AttemptExited,
    AttemptForked,
    ForkAttempt,
    ForkServerFailed,
    ForkServerReady,
    ForkServerReply,
    SpareForked,
    decode_request,
    encode_reply,
)
from podium.sweep.protocol.message_limits import MAX_PACKET_BYTES
from podium.sweep.runtime import huge_page_collapse
from podium.sweep.runtime.fail_points import fail_point
from podium.sweep.runtime.fork_without_hooks import count_threads, fork_without_hooks
from podium.sweep.runtime.garbage_collection import without_collection
from podium.sweep.runtime.process_title import name_process
from podium.sweep.runtime.process_trees import (
    become_subreaper,
    die_with_parent,
    kill_descendants,
    kill_orphans,
    reap,
)
from podium.sweep.runtime.session_cpu_weight import lower_priority_of_session
from podium.sweep.runtime.signal_handlers import DEFAULT, IGNORE, raise_keyboard_interrupt, set_signal_handler
from podium.sweep.trial_process import attempt_runner
from podium.sweep.values.errors import UserCodeError

COMPILER = "torch._dynamo"  # as the template imports it, when attempts need it
RETRY_S = 1.0  # after a failed fork
SHORT_S = 0.02  # an attempt that exits within this time is reported once, and the next process is forked after it
TRIAL_NICENESS = 15  # ensemble members on the same cores have priority: they serve requests
SESSION_NICENESS = 5  # of a trial's session: everything else on the machine is in other sessions


class _Spare(NamedTuple):
    """A process forked ahead, and the socket on which it waits for the descriptors of its attempt."""

    pid: int
    assignments: socket.socket


class ForkServer:
    """The event loop: handle requests; reap the child, kill its orphans, and report its exit.

    The process of the next attempt is forked while an attempt runs. If that is short, it is forked after it, while the
    scheduler decides which one is next: the fork does not compete with the attempt.
    """

    def __init__(self, control: socket.socket, fork: Callable[[], int] = fork_without_hooks) -> None:
        """`fork`: `os.fork` if imported packages may have hooks for it."""
        self._control = control
        self._fork = fork
        self._child: int | None = None
        self._unreported: int | None = None  # an attempt that was started, as the slot does not know yet
        self._spare: _Spare | None = None
        self._due_s = 0.0  # monotonic: when to report an attempt, and to fork the next process while it runs
        wake_read, wake_write = os.pipe()
        os.set_blocking(wake_write, False)
        os.set_blocking(wake_read, False)
        self._wake_read = wake_read
        signal.set_wakeup_fd(wake_write, warn_on_full_buffer=False)
        set_signal_handler(signal.SIGCHLD, lambda *_: None)
        set_signal_handler(signal.SIGINT, IGNORE)

    def serve(self) -> None:
        """Serve until the slot closes its end; then kill every process below this one."""
        selector = selectors.DefaultSelector()
        selector.register(self._control, selectors.EVENT_READ)
        selector.register(self._wake_read, selectors.EVENT_READ)
        self._reply(ForkServerReady(os.getpid()))
        while True:
            for key, _ in selector.select(self._wait_s()):
                if key.fileobj is self._control:
                    if not self._handle_request():
                        kill_descendants()
                        return
                else:
                    self._drain_wakeups()
            self._collect()
            is_due = time.monotonic() >= self._due_s
            if self._spare is None and (self._child is None or is_due):
                self._try_fork()
            if is_due:
                self._reply(*self._start_of_attempt())

    def _wait_s(self) -> float | None:
        """How long to wait for requests and exits."""
        if self._unreported is None and self._spare is not None:
            return None
        return max(0.0, self._due_s - time.monotonic())

    def _try_fork(self) -> None:
        """Fork the process of the next attempt; if there are too many processes, or no memory, try again later."""
        try:
            spare = self._fork_spare()
        except OSError:
            self._due_s = time.monotonic() + RETRY_S
            return
        if self._child is not None and self._unreported is None:
            self._reply(SpareForked(spare.pid))

    def fail(self, message: str) -> None:
        """Report that this fork server cannot be used."""
        self._reply(ForkServerFailed(message))

    def _handle_request(self) -> bool:
        try:
            content, descriptors, _, _ = socket.recv_fds(self._control, MAX_PACKET_BYTES, 2)
        except ConnectionResetError:
            return False
        if not content:
            return False
        request = decode_request(content)
        if isinstance(request, ForkAttempt):
            self._start_attempt(*descriptors)
        elif self._child is not None:
            self._signal(request.number)
        return True

    def _start_attempt(self, connection: int, log: int) -> None:
        """Hand the descriptors to the spare process."""
        fail_point("fork-server.before-fork")
        while True:
            spare = self._spare or self._fork_spare(connection, log)
            self._spare = None
            with spare.assignments:
                try:
                    socket.send_fds(spare.assignments, [b"!"], [connection, log])
                    break
                except OSError:  # it was killed
                    continue
        os.close(connection)
        os.close(log)
        fail_point("fork-server.after-fork")
        self._child = self._unreported = spare.pid
        self._due_s = time.monotonic() + SHORT_S

    def _start_of_attempt(self) -> list[ForkServerReply]:
        """The report of a started attempt, with the process of the next one; [] if it has been reported."""
        if self._unreported is None:
            return []
        report = AttemptForked(self._unreported, None if self._spare is None else self._spare.pid)
        self._unreported = None
        return [report]

    def _fork_spare(self, *inherited: int) -> _Spare:
        """Fork the process of the next attempt, so that the fork is over when the attempt starts. Raises `OSError`.

        Args:
            inherited: Descriptors that the process must close, since it will receive its own.
        """
        parent = os.getpid()
        ours, theirs = socket.socketpair()
        with theirs:
            try:
                pid = self._fork()
            except OSError:
                ours.close()
                raise
            if pid == 0:
                ours.close()
                for descriptor in inherited:
                    os.close(descriptor)
                self._become_attempt(parent, theirs)
        self._spare = _Spare(pid, ours)
        return self._spare

    def _become_attempt(self, parent: int, assignments: socket.socket) -> NoReturn:
        status = 70
        try:
            signal.set_wakeup_fd(-1)
            set_signal_handler(signal.SIGCHLD, DEFAULT)
            set_signal_handler(signal.SIGINT, raise_keyboard_interrupt)
            os.setsid()
            is_lowered = lower_priority_of_session(SESSION_NICENESS)
            die_with_parent(parent)
            name_process("podium-spare")
            self._control.close()
            content, descriptors, _, _ = socket.recv_fds(assignments, 1, 2)
            if not content:
                os._exit(0)
            assignments.close()
            if not is_lowered:  # many processes were forked at once
                lower_priority_of_session(SESSION_NICENESS)
            name_process("podium-trial")
            connection, log = descriptors
            os.set_inheritable(connection, False)
            status = attempt_runner.run(socket.socket(fileno=connection), log)
        finally:
            # Not sys.exit: it would run the fork server's atexit handlers and torch's teardown.
            os._exit(status)

    def _signal(self, number: int) -> None:
        """Send SIGTERM to the session of the attempt, or SIGKILL to its leader, whose orphans are killed here.

        A child that has just been forked may have no session of its own yet: then the signal goes to the child alone.
        """
        assert self._child is not None
        targets = (self._child,) if number == signal.SIGKILL else (-self._child, self._child)
        for target in targets:
            try:
                os.kill(target, number)
            except ProcessLookupError:
                continue
            return

    def _collect(self) -> None:
        for pid, status in reap():
            if self._spare is not None and pid == self._spare.pid:
                self._spare.assignments.close()
                self._spare = None
            if pid == self._child:
                self._child = None
                orphans = kill_orphans(set() if self._spare is None else {self._spare.pid})
                exited = AttemptExited(pid, os.waitstatus_to_exitcode(status), len(orphans))
                self._reply(*self._start_of_attempt(), exited)

    def _drain_wakeups(self) -> None:
        try:
            os.read(self._wake_read, 4096)
        except BlockingIOError:
            pass

    def _reply(self, *replies: ForkServerReply) -> None:
        if not replies:
            return
        try:
            self._control.sendall(b"".join(map(encode_reply, replies)))
        except (BrokenPipeError, ConnectionResetError):
            kill_descendants()
            os._exit(0)


def _import_packages(names: Sequence[str]) -> None:
    """Import the packages of `program.preload`. Raises `UserCodeError` if one cannot be."""
    torch = importlib.import_module("torch")
    if not names:
        return
    with without_collection():
        with contextlib.suppress(Exception):  # attempts that need it say why
            importlib.import_module(COMPILER)  # the template may not have done so yet
        for name in names:
            _import(name, torch)
    huge_page_collapse.collapse_memory()


def _import(name: str, torch: Any) -> None:
    """Import a package of `program.preload`, and check that its process can be forked."""
    try:
        importlib.import_module(name)
    except ModuleNotFoundError as error:
        missing = "is not installed here" if error.name == name.split(".")[0] else f"cannot be imported: {error}"
        raise UserCodeError(f"program.preload: {name} {missing}") from None
    except BaseException as error:  # noqa: BLE001 - third-party code may raise anything
        raise UserCodeError(f"program.preload: {name} cannot be imported: {type(error).__name__}: {error}") from None
    if (threads := count_threads()) > 1:
        raise UserCodeError(
            f"program.preload: {name} starts {threads - 1} threads when it is imported, which are lost in fork(); "
            "remove it"
        )
    if torch.cuda.is_initialized():
        raise UserCodeError(f"program.preload: {name} uses the GPU when it is imported; remove it")


def run_forked(preload: Sequence[str], descriptors: Sequence[int], owner: int) -> int:
    """Serve the slot at the other end of the socket `descriptors[0]`, with these packages imported."""
    os.close(owner)  # this process exits with its slot
    name_process("podium-fork-srv")
    become_subreaper()
    os.nice(TRIAL_NICENESS)
    server = ForkServer(socket.socket(fileno=descriptors[0]), os.fork if preload else fork_without_hooks)
    try:
        _import_packages(preload)
    except UserCodeError as error:
        server.fail(str(error))
    else:
        attempt_runner.prepare()
        server.serve()
    return 0
