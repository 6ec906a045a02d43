"""A clean process with the heavy imports done and nothing run, which forks one fresh process per attempt.

Started by a slot as `python -P -m podium.sweep.trial_process.fork_server`, with a socket on a descriptor: from the slot
come one-line requests, each with the descriptors of the attempt's own socket and of its log; back go `ready`, `forked`
and `exited`. It is a subreaper: whatever an attempt leaves behind is adopted here and killed before `exited` is said,
so that a free slot is really free. When the slot goes, its socket closes, and everything below this process is killed.

Why a template of our own and not multiprocessing's fork server: started from a Ray worker, that one imports Ray's main
module again in every child. Why nothing may run before the fork: threads of a parallel operation do not survive
it, and the next operation in the child waits for them for ever.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import selectors
import signal
import socket
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

from podium.sweep.runtime import fail_points, huge_pages
from podium.sweep.runtime.fail_points import passing
from podium.sweep.runtime.process_trees import (
    become_subreaper,
    die_with_parent,
    exit_name,
    kill_descendants,
    reap,
)
from podium.sweep.trial_process import attempt
from podium.sweep.values.errors import UserCodeError

TRIAL_NICENESS = 15  # members answer people, beside trials on the same cores; a trial has time


class ForkServer:
    """The loop: read a request, fork; collect a child, clean up after it, say so."""

    def __init__(self, control: socket.socket) -> None:
        self._control = control
        self._child: int | None = None
        wake_read, wake_write = os.pipe()
        os.set_blocking(wake_write, False)
        os.set_blocking(wake_read, False)
        self._wake_read = wake_read
        signal.set_wakeup_fd(wake_write, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.signal(signal.SIGINT, signal.SIG_IGN)

    def serve(self) -> None:
        """Serve until the slot closes its end; then nothing below this process is left."""
        selector = selectors.DefaultSelector()
        selector.register(self._control, selectors.EVENT_READ)
        selector.register(self._wake_read, selectors.EVENT_READ)
        self._say(kind="ready", pid=os.getpid())
        while True:
            for key, _ in selector.select():
                if key.fileobj is self._control:
                    if not self._handle_request():
                        kill_descendants()
                        return
                else:
                    self._drain_wakeups()
            self._collect()

    def refuse(self, reason: str) -> None:
        """Say why there is nothing to fork."""
        self._say(kind="unready", message=reason)

    def _handle_request(self) -> bool:
        try:
            content, descriptors, _, _ = socket.recv_fds(self._control, 65536, 2)
        except ConnectionResetError:
            return False
        if not content:
            return False
        request = json.loads(content)
        if request["kind"] == "fork":
            self._fork(*descriptors)
        elif request["kind"] == "signal" and self._child is not None:
            self._signal(request["number"])
        return True

    def _fork(self, connection: int, log: int) -> None:
        parent = os.getpid()
        passing("fork-server.before-fork")
        pid = os.fork()
        if pid == 0:
            self._become_attempt(parent, connection, log)
        passing("fork-server.after-fork")
        os.close(connection)
        os.close(log)
        self._child = pid
        self._say(kind="forked", pid=pid)

    def _become_attempt(self, parent: int, connection: int, log: int) -> NoReturn:
        status = 70
        try:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            signal.signal(signal.SIGINT, signal.default_int_handler)
            os.setsid()
            die_with_parent(parent)
            self._control.close()
            os.set_inheritable(connection, False)
            status = attempt.run(socket.socket(fileno=connection), log)
        finally:
            # Not sys.exit: the template's atexit handlers and torch's teardown are not this process's business.
            os._exit(status)

    def _signal(self, number: int) -> None:
        """SIGTERM goes to the attempt's whole session; SIGKILL to its leader, whose orphans are killed here.

        A child that has just been forked has no session of its own yet: then the signal is for it alone.
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
            if pid == self._child:
                self._child = None
                orphans = kill_descendants()
                self._say(kind="exited", pid=pid, exit=exit_name(status), orphans=len(orphans))

    def _drain_wakeups(self) -> None:
        try:
            os.read(self._wake_read, 4096)
        except BlockingIOError:
            pass

    def _say(self, **message: Any) -> None:
        try:
            self._control.sendall(json.dumps(message).encode() + b"\n")
        except (BrokenPipeError, ConnectionResetError):
            kill_descendants()
            os._exit(0)


def warm_up(preload: Sequence[str] = ()) -> None:
    """Pay once what every attempt would pay: imports, and torch's first-use set-up on a single number.

    Measured: `numpy.random` 7 ms, the first torch operation 5 ms a trial. One number is below the size at which
    torch goes parallel; that no thread was started is checked, since a child would wait for it for ever.
    `preload`: installed packages that a sweep wants imported too. Raises `UserCodeError` for one that cannot be.
    """
    torch = importlib.import_module("torch")
    for name in ("numpy.random", "podium.sweep.training.fit"):
        importlib.import_module(name)
    torch.manual_seed(0)
    torch.zeros(1).add_(1)
    if (threads := _threads()) > 1:
        raise RuntimeError(f"the fork server's template has {threads} threads; a fork would lose them")
    for name in preload:
        _import(name, torch)
    gc.collect()
    huge_pages.collapse()
    gc.freeze()  # children share these pages; a collection there must not touch, and so copy, them


def _import(name: str, torch: Any) -> None:
    """A package that a sweep names, checked to be one that can be forked."""
    try:
        importlib.import_module(name)
    except ModuleNotFoundError as error:
        missing = "is not installed here" if error.name == name.split(".")[0] else f"cannot be imported: {error}"
        raise UserCodeError(f"program.preload: {name} {missing}") from None
    except BaseException as error:  # noqa: BLE001 - it is somebody else's code
        raise UserCodeError(f"program.preload: {name} cannot be imported: {type(error).__name__}: {error}") from None
    if (threads := _threads()) > 1:
        message = f"{name} starts {threads - 1} threads when it is imported, which a trial would not have; leave it out"
        raise UserCodeError(f"program.preload: {message}")
    if torch.cuda.is_initialized():
        raise UserCodeError(f"program.preload: {name} uses the GPU when it is imported; leave it out")


def _threads() -> int:
    """How many threads this process has, but for jemalloc's own: that library knows of forks, and starts it again."""
    names = [(task / "comm").read_text().strip() for task in Path("/proc/self/task").iterdir()]
    return len([name for name in names if name != "jemalloc_bg_thd"])


def main() -> None:
    """`python -P -m podium.sweep.trial_process.fork_server DESCRIPTOR PACKAGE...`."""
    fail_points.hide()
    become_subreaper()
    os.nice(TRIAL_NICENESS)
    control = socket.socket(fileno=int(sys.argv[1]))
    server = ForkServer(control)
    try:
        warm_up(sys.argv[2:])
    except UserCodeError as error:
        server.refuse(str(error))
    else:
        server.serve()


if __name__ == "__main__":
    main()
