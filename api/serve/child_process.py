"""A child process that runs `main` of a module, forked from this one; `podium serve`.

A child shares the memory of its parent, copy-on-write, so what the parent has imported costs it neither time nor
memory. It gets nothing else of the parent's: its arguments, environment, standard streams and descriptors are those
that are passed, its signals are reset, and it leads a session of its own.
"""

from __future__ import annotations

import atexit
import importlib
import os
import select
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

from podium.sweep.runtime.fork_without_hooks import count_threads
from podium.sweep.runtime.garbage_collection import without_collection
from podium.sweep.runtime.process_title import show_command

_RESET = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD)  # signals that the parent handles


def start_process(
    module: str,
    arguments: Sequence[str],
    environment: Mapping[str, str],
    streams: tuple[int, int, int],
    passed: Sequence[int] = (),
) -> ChildProcess | subprocess.Popen[bytes]:
    """Start a process that runs `main` of a module: forked, or a new interpreter if this process has several threads.

    Podium starts no thread in this process, but a debugger or a tracing tool may. fork() would copy one thread, with
    the locks that the others hold.

    Args:
        module: The process runs this module as `python -P -m MODULE ARGUMENTS` would.
        arguments: The arguments of its command line.
        environment: Its environment variables.
        streams: The descriptors of its standard input, output and error.
        passed: Other descriptors that it inherits, with the same numbers.

    Raises:
        OSError: There is no memory, or there are too many processes.
    """
    if count_threads() == 1:
        return ChildProcess(module, arguments, environment, streams, passed)
    stdin, stdout, stderr = streams
    return subprocess.Popen(
        _command(module, arguments),
        stdin=stdin,
        stdout=stdout,
        stderr=stderr,
        env=dict(environment),
        pass_fds=passed,
        start_new_session=True,  # Ctrl-C reaches only the supervisor
    )


class ChildProcess:
    """A forked process, see `start_process`; the methods are those of `subprocess.Popen`."""

    def __init__(
        self,
        module: str,
        arguments: Sequence[str],
        environment: Mapping[str, str],
        streams: tuple[int, int, int],
        passed: Sequence[int],
    ) -> None:
        for stream in filter(None, (sys.stdout, sys.stderr)):  # None: the service was started without it
            stream.flush()
        # A signal that arrives before the child has reset its handlers would otherwise be lost in the child.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, _RESET)
        try:
            self.pid = os.fork()
            if self.pid == 0:
                _become(module, arguments, environment=environment, streams=streams, passed=passed, signal_mask=before)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        self.returncode: int | None = None
        self._pidfd = os.pidfd_open(self.pid)

    def poll(self) -> int | None:
        """The exit status, or minus the number of the signal that ended the process; None while it runs."""
        return self._reap(os.WNOHANG)

    def wait(self, timeout: float | None = None) -> int:
        """Wait until the process has exited; returns its status. Raises `subprocess.TimeoutExpired`."""
        if self.returncode is None and not select.select([self._pidfd], [], [], timeout)[0]:
            raise subprocess.TimeoutExpired(str(self.pid), timeout or 0.0)
        status = self._reap(0)
        assert status is not None
        return status

    def terminate(self) -> None:
        """Send SIGTERM, unless the process has exited."""
        self._signal(signal.SIGTERM)

    def kill(self) -> None:
        """Send SIGKILL, unless the process has exited."""
        self._signal(signal.SIGKILL)

    def _signal(self, number: int) -> None:
        if self.poll() is None:
            with suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._pidfd, number)

    def _reap(self, options: int) -> int | None:
        if self.returncode is None:
            pid, status = os.waitpid(self.pid, options)
            if pid == self.pid:
                self.returncode = os.waitstatus_to_exitcode(status)
                os.close(self._pidfd)
        return self.returncode


def _command(module: str, arguments: Sequence[str]) -> list[str]:
    return [sys.executable, "-P", "-m", module, *arguments]


# In the child.


def _become(
    module: str,
    arguments: Sequence[str],
    environment: Mapping[str, str],
    streams: tuple[int, int, int],
    passed: Sequence[int],
    signal_mask: set[int | signal.Signals],
) -> NoReturn:
    """Run the module and exit: the frames below this one are the parent's."""
    status = 1
    try:
        os.setsid()
        _reset_signals(signal_mask)
        _keep_descriptors(streams, passed)
        os.environ.clear()
        os.environ.update(environment)
        show_command(" ".join(_command(module, arguments)))
        atexit._clear()  # those of the parent; below, those of the module are run
        with without_collection():
            program = importlib.import_module(module)
        sys.argv = [str(program.__file__), *arguments]
        program.main()
        status = 0
    except SystemExit as error:
        status = _exit_status(error)
    except BaseException:  # noqa: BLE001 - the last handler of this process
        sys.excepthook(*sys.exc_info())
    finally:
        _exit(status)


def _reset_signals(mask: set[int | signal.Signals]) -> None:
    signal.set_wakeup_fd(-1)
    for number in _RESET:
        signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, mask)


def _keep_descriptors(streams: tuple[int, int, int], passed: Sequence[int]) -> None:
    """Replace all others by the null device.

    Closed, their numbers would be used again, for a database or a socket. Objects of the parent still hold these
    numbers, and a library that it has imported may write to one.
    """
    for number, descriptor in enumerate(streams):
        os.dup2(descriptor, number)
    # The parent's may have a buffer, or be None, if it was started with a closed descriptor.
    sys.stdin = open(0, closefd=False)  # noqa: SIM115
    sys.stdout = open(1, "w", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", buffering=1, errors="backslashreplace", closefd=False)  # noqa: SIM115
    kept = {0, 1, 2, *passed}
    others = {int(path.name) for path in Path("/proc/self/fd").iterdir() if path.exists()} - kept
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in others:
        os.dup2(null, descriptor, inheritable=False)
    os.close(null)


def _exit_status(error: SystemExit) -> int:
    """The exit status that Python would use; prints a message, as Python would."""
    if error.code is None or isinstance(error.code, int):
        return error.code or 0
    print(error.code, file=sys.stderr)
    return 1


def _exit(status: int) -> NoReturn:
    """Exit as Python would, without finalizing objects of the parent: wait for threads, and run exit handlers."""
    try:
        threading._shutdown()  # type: ignore[attr-defined]  # as `multiprocessing` does
        atexit._run_exitfuncs()
        for stream in filter(None, (sys.stdout, sys.stderr)):
            stream.flush()
    finally:
        os._exit(status)
