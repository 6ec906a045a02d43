"""Prepares the plans of an in-graph worker in a forked process while the worker serves; worker process and its fork.

Recording takes seconds of Python. In a thread of the worker, it would pause predictions for up to 0.2 s each time it
holds the interpreter lock, and it replaces methods of all modules meanwhile. The forked process shares the memory of
the networks.
"""

from __future__ import annotations

import gc
import logging
import os
import select
import signal
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import NoReturn

from podium.sweep.runtime.fork_without_hooks import count_threads
from podium.sweep.runtime.process_title import name_process
from podium.sweep.runtime.process_trees import die_with_parent
from podium.sweep.runtime.session_cpu_weight import lower_priority_of_session

NICENESS = 10  # added to that of the worker: predictions run first, and trials, which have 15, later
SESSION_NICENESS = 3  # that of a trial's session is 5
TIMEOUT_S = 180.0
_OK, _FAILED = b"+", b"!"  # the first byte of what the process sends
_REASON_CHARACTERS = 500
log = logging.getLogger("podium.worker")


def can_fork(own_threads: int) -> bool:
    """Whether this process has its own threads only.

    Threads of a library or of users' networks, such as those of a parallel operation, do not exist in a forked process,
    which would wait for them permanently.
    """
    return count_threads() == own_threads


class PlanPreparation:
    """A forked process that computes `prepare()`; the thread that creates it must live as long as it should.

    Args:
        prepare: Called in the forked process.
        timeout_s: The process is killed if it needs longer.

    Raises:
        OSError: The process cannot be forked, or cannot be watched.
    """

    def __init__(self, prepare: Callable[[], bytes], *, timeout_s: float = TIMEOUT_S) -> None:
        self._timeout_s = timeout_s
        self._end_s = time.monotonic() + timeout_s
        self._receiver, sender = os.pipe()
        parent = os.getpid()
        try:
            self._pid = os.fork()
        except OSError:
            os.close(self._receiver)
            os.close(sender)
            raise
        if self._pid == 0:
            _run(prepare, sender, parent)
        os.close(sender)
        try:
            self._pidfd = os.pidfd_open(self._pid)
        except OSError:
            os.kill(self._pid, signal.SIGKILL)
            self._end()
            raise
        self._is_closed = False
        self._thread: threading.Thread | None = None

    def when_ended(self, use: Callable[[bytes], None], fail: Callable[[str], None]) -> None:
        """Call `use` with the result or `fail` with the reason, in a thread of this process; neither after `close`."""

        def wait() -> None:
            try:
                result = self._result()
            except (RuntimeError, OSError) as error:
                if not self._is_closed:
                    fail(str(error))
                return
            if not self._is_closed:
                use(result)

        self._thread = threading.Thread(target=wait, name="plan-preparation", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Kill the process if it has not ended, and wait for the thread."""
        self._is_closed = True
        self._kill()
        if self._thread is not None:
            self._thread.join()
        else:
            self._end()
        os.close(self._pidfd)

    def _result(self) -> bytes:
        """Raises `RuntimeError` with the reason if there is none."""
        content = bytearray()
        try:
            while part := self._read():
                content += part
        except BaseException:
            self._kill()
            raise
        finally:
            status = self._end()
        if status:
            raise RuntimeError(f"its process ended with status {status}")
        if content[:1] == _FAILED:
            raise RuntimeError(content[1:].decode(errors="replace"))
        return bytes(content[1:])

    def _end(self) -> int:
        """The exit status of the process, which has closed its end of the pipe or was killed."""
        os.close(self._receiver)
        return os.waitstatus_to_exitcode(os.waitpid(self._pid, 0)[1])

    def _read(self) -> bytes:
        waiting = select.poll()
        waiting.register(self._receiver, select.POLLIN)
        left_s = self._end_s - time.monotonic()
        if left_s <= 0 or not waiting.poll(1000 * left_s):
            raise RuntimeError(f"not done within {self._timeout_s:g} s")
        return os.read(self._receiver, 1 << 20)

    def _kill(self) -> None:
        with suppress(ProcessLookupError):
            signal.pidfd_send_signal(self._pidfd, signal.SIGKILL)


def _run(prepare: Callable[[], bytes], sender: int, parent: int) -> NoReturn:
    """The forked process. Its status is 0 if it has sent a result or a reason."""
    status = 1
    try:
        die_with_parent(parent)
        gc.freeze()  # garbage collection must not copy the memory that is shared
        name_process("podium-prepare")
        os.nice(NICENESS)
        os.setsid()  # where the kernel groups processes by session, niceness has no effect on other sessions
        while not lower_priority_of_session(SESSION_NICENESS):  # the kernel allows one session per 0.1 s to change
            time.sleep(0.1)
        content = _OK + prepare()
    except BaseException as error:
        log.exception("the plans cannot be prepared")
        content = _FAILED + f"{type(error).__name__}: {error}"[:_REASON_CHARACTERS].encode()
    try:
        while content:
            content = content[os.write(sender, content) :]
        status = 0
    finally:
        os._exit(status)
