"""A slot's client of one fork server: start it, send requests, receive replies; slot."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from podium.sweep.process_template.template_forked_process import ForkedProcess
from podium.sweep.protocol.fork_server_messages import (
    AttemptExited,
    AttemptForked,
    ForkAttempt,
    ForkServerFailed,
    ForkServerReady,
    SignalAttempt,
    SpareForked,
    decode_reply,
    encode_request,
)
from podium.sweep.protocol.message_limits import MAX_PACKET_BYTES
from podium.sweep.protocol.process_template_messages import ForkProcess
from podium.sweep.runtime.serve_environment_for_trials import user_environment
from podium.sweep.runtime.thread_count_variables import thread_count_variables
from podium.sweep.values.errors import UserCodeError

FORK_SERVER = "podium.sweep.trial_process.fork_server"
PRELOAD_S = 20.0  # a slot that is unresponsive for longer is considered lost


@dataclass(frozen=True, slots=True)
class ForkServerExited:
    """The fork server has exited, and its attempt with it."""

    orphans: int  # processes of the attempt that outlived it, and were killed


@dataclass(frozen=True, slots=True)
class ForkServerOutdated:
    """A new fork server would share more memory with the process template: `ready` starts it."""


ForkServerClientReply = AttemptForked | AttemptExited | ForkServerExited | ForkServerOutdated


class ForkServerClient:
    """One fork server, requested again on the next attempt after it has exited or is outdated.

    With `preload` it is never outdated: it imports the rest itself, and to import its packages again takes seconds.

    Args:
        visible: CUDA_VISIBLE_DEVICES of the fork server and its children.
        on_reply: Called with each reply about the attempt, and when the fork server is outdated. When it exits, the
            kernel kills the attempt, and the process template kills the processes that the attempt left behind. Then
            `on_reply` is called with `ForkServerExited`.
        template: The socket of the process template.
        preload: Packages that the fork server imports before it forks.
        preload_s: Seconds that these imports may take.
    """

    def __init__(
        self,
        visible: str,
        on_reply: Callable[[ForkServerClientReply], None],
        template: Callable[[], Path],
        preload: Sequence[str] = (),
        preload_s: float = PRELOAD_S,
    ) -> None:
        self._visible = visible
        self._preload = tuple(preload)
        self._preload_s = preload_s
        self._on_reply = on_reply
        self._template = template
        self._control: socket.socket | None = None
        self._reader: asyncio.Task[None] | None = None
        self._process: ForkedProcess | None = None
        self._warm: asyncio.Future[None] | None = None
        self.spare: int | None = None  # the process of the next attempt

    @property
    def pid(self) -> int:
        assert self._process is not None and self._process.pid is not None
        return self._process.pid

    async def ready(self) -> None:
        """Request the fork server unless it is alive and up to date, and wait until its imports are done.

        Called while no attempt runs: an outdated fork server is killed.

        Raises `UserCodeError` when a package of `preload` cannot be imported, exits the process, or takes too long, and
        `OSError` when there is no process template.
        """
        if self._process is not None and self._process.is_outdated and not self._preload:
            self.kill()
        if self._warm is None or self._process is None or self._process.has_exited:
            self._warm = self._start()
        try:
            await asyncio.wait_for(asyncio.shield(self._warm), self._preload_s if self._preload else None)
        except TimeoutError:
            self.kill()
            raise UserCodeError(
                f"program.preload: importing {self._names} took longer than {self._preload_s:g} s, possibly because "
                "the machine is busy; remove the slowest package"
            ) from None

    @property
    def _names(self) -> str:
        return ", ".join(self._preload)

    def _start(self) -> asyncio.Future[None]:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)  # one request, one packet
        environment = {**user_environment(), **thread_count_variables(1), "CUDA_VISIBLE_DEVICES": self._visible}
        request = ForkProcess(FORK_SERVER, self._preload, environment)
        with theirs:
            try:
                self._process = ForkedProcess.request(self._template(), request, [theirs.fileno()])
            except BaseException:
                ours.close()
                raise
        ours.setblocking(False)
        loop = asyncio.get_running_loop()
        self._control = ours
        ready = loop.create_future()
        self._reader = loop.create_task(self._run(ours, self._process, ready))
        return ready

    def fork(self, descriptors: list[int]) -> None:
        """Request a process that inherits these descriptors. Raises `OSError` when the fork server has exited."""
        if self._control is None:
            raise ConnectionResetError("the fork server has exited")
        self.spare = None  # it becomes the process of the attempt
        socket.send_fds(self._control, [encode_request(ForkAttempt())], descriptors)

    def signal(self, number: int) -> None:
        """Send a signal to the forked process, if it is alive."""
        if self._control is not None:
            with contextlib.suppress(OSError):
                self._control.send(encode_request(SignalAttempt(number)))

    def kill(self) -> None:
        """Kill the fork server; the next attempt starts a new one."""
        self._warm = None  # even before the process is gone
        if self._process is not None:
            self._process.kill()

    async def _run(self, control: socket.socket, process: ForkedProcess, ready: asyncio.Future[None]) -> None:
        """Read the replies of the fork server and of the template until the fork server has exited."""
        template = asyncio.get_running_loop().create_task(_until_exit(process, self._on_outdated))
        with control:
            await self._read_replies(control, process, ready)
        process.kill()  # it has exited, unless it is stopped
        orphans = await template
        if control is self._control:  # not replaced by a newer fork server
            self._control = self._warm = None
            if not ready.done():
                self._fail(ready, self._exited_before_ready())
            self._on_reply(ForkServerExited(orphans))

    def _on_outdated(self, process: ForkedProcess) -> None:
        if process is self._process and not self._preload:
            self._on_reply(ForkServerOutdated())

    async def _read_replies(self, control: socket.socket, process: ForkedProcess, ready: asyncio.Future[None]) -> None:
        loop = asyncio.get_running_loop()
        buffer = b""
        while True:
            try:
                content = await loop.sock_recv(control, MAX_PACKET_BYTES)
            except OSError:
                content = b""
            if not content:
                break
            *lines, buffer = (buffer + content).split(b"\n")
            for line in lines:
                reply = decode_reply(line)
                if isinstance(reply, ForkServerReady):
                    process.identify(reply.pid)
                    ready.set_result(None)
                elif isinstance(reply, ForkServerFailed):
                    self._fail(ready, UserCodeError(reply.message))
                elif isinstance(reply, SpareForked):
                    self.spare = reply.pid
                else:
                    if isinstance(reply, AttemptForked):
                        self.spare = reply.spare
                    self._on_reply(reply)

    def _exited_before_ready(self) -> Exception:
        """The error for waiting callers; it names the packages to preload, if there are any."""
        if not self._preload:
            return RuntimeError("the fork server exited before it was ready; see ray.log")
        return UserCodeError(
            f"program.preload: the process exited while it imported {self._names}; remove the package that cannot be "
            "imported"
        )

    def _fail(self, ready: asyncio.Future[None], error: Exception) -> None:
        ready.set_exception(error)
        ready.exception()  # mark as retrieved: nobody may be waiting


async def _until_exit(process: ForkedProcess, on_outdated: Callable[[ForkedProcess], None]) -> int:
    """Wait until the process has exited; returns the number of orphans, 0 if the template has exited before it."""

    def has_exited() -> bool:
        was_outdated = process.is_outdated
        is_alive = process.read()
        if process.is_outdated and not was_outdated:
            on_outdated(process)
        return not is_alive

    try:
        await _until(process.connection, has_exited)
        if process.exit_code is None and process.pidfd is not None:
            await _until(process.pidfd, lambda: process.has_exited)
    finally:
        process.close()
    return process.orphans


async def _until(source: socket.socket | int, condition: Callable[[], bool]) -> None:
    """Wait until the condition holds, evaluated whenever `source` is readable."""
    loop = asyncio.get_running_loop()
    readable = asyncio.Event()
    loop.add_reader(source, readable.set)
    try:
        while not condition():
            readable.clear()
            await readable.wait()
    finally:
        loop.remove_reader(source)
