"""A slot's client of one fork server: start it, send requests, receive replies; slot."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from podium.sweep.protocol.fork_server_messages import (
    AttemptExited,
    AttemptForked,
    ForkAttempt,
    ForkServerFailed,
    ForkServerReady,
    SignalAttempt,
    decode_reply,
    encode_request,
)
from podium.sweep.protocol.limits import MAX_PACKET_BYTES
from podium.sweep.runtime import fail_points
from podium.sweep.runtime.process_trees import kill_orphans
from podium.sweep.runtime.thread_variables import thread_variables
from podium.sweep.runtime.user_environment import user_environment
from podium.sweep.values.errors import UserCodeError

PRELOAD_S = 20.0  # a slot that is unresponsive for longer is considered lost


@dataclass(frozen=True, slots=True)
class ForkServerExited:
    """The fork server has exited, and its attempt with it."""

    orphans: int  # processes of the attempt that outlived it, and were killed


AttemptReply = AttemptForked | AttemptExited | ForkServerExited


class ForkServerClient:
    """One fork server, restarted on the next attempt after it has exited.

    Args:
        visible: CUDA_VISIBLE_DEVICES of the fork server and its children.
        on_reply: Called with each reply about the attempt. When the fork server exits, the kernel kills the attempt.
            The slot then adopts and kills the processes that the attempt left behind, and calls `on_reply` with
            `ForkServerExited`.
        preload: Packages that the fork server imports before it forks.
        protected: The pids of other children of this process, which are not orphans of the fork server.
    """

    def __init__(
        self,
        visible: str,
        on_reply: Callable[[AttemptReply], None],
        preload: Sequence[str] = (),
        protected: Callable[[], set[int]] = set,
    ) -> None:
        self._visible = visible
        self._preload = tuple(preload)
        self._protected = protected
        self._on_reply = on_reply
        self._process: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None
        self._reader: asyncio.Task[None] | None = None
        self._warm: asyncio.Future[None] | None = None

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    @property
    def is_alive(self) -> bool:
        return self._process is not None and self._process.poll() is None

    async def ready(self) -> None:
        """Start the fork server unless it is alive, and wait until its imports are done.

        Raises `UserCodeError` when a package of `preload` cannot be imported, exits the process, or takes too long.
        """
        if self._warm is None or not self.is_alive:
            self._warm = self._start()
        try:
            await asyncio.wait_for(asyncio.shield(self._warm), PRELOAD_S if self._preload else None)
        except TimeoutError:
            self.kill()
            raise UserCodeError(
                f"program.preload: importing {self._names} took longer than {PRELOAD_S:g} s, possibly because the "
                "machine is busy; remove the slowest package"
            ) from None

    @property
    def _names(self) -> str:
        return ", ".join(self._preload)

    def _start(self) -> asyncio.Future[None]:
        kill_orphans(self._protected())
        if self._process is not None:
            self._process.poll()  # reap the previous one
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)  # one request, one packet
        environment = {
            **user_environment(),
            # A single thread while packages are imported: fork() copies only the calling thread.
            **thread_variables(1),
            "CUDA_VISIBLE_DEVICES": self._visible,
            **fail_points.for_fork_server(),
        }
        module = "podium.sweep.trial_process.fork_server"
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", module, str(theirs.fileno()), *self._preload],
                pass_fds=[theirs.fileno()],
                env=environment,
                start_new_session=True,
            )
        ours.setblocking(False)
        self._control = ours
        ready = asyncio.get_running_loop().create_future()
        self._reader = asyncio.get_running_loop().create_task(self._read_replies(ours, ready))
        return ready

    def fork(self, descriptors: list[int]) -> None:
        """Request a process that inherits these descriptors. Raises `OSError` when the fork server has exited."""
        assert self._control is not None
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

    async def _read_replies(self, control: socket.socket, ready: asyncio.Future[None]) -> None:
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
                    ready.set_result(None)
                elif isinstance(reply, ForkServerFailed):
                    self._fail(ready, UserCodeError(reply.message))
                else:
                    self._on_reply(reply)
        control.close()
        if control is self._control:  # not replaced by a newer fork server
            self._on_exit(ready)

    def _on_exit(self, ready: asyncio.Future[None]) -> None:
        was_alive = self.is_alive  # then it is counted among the orphans
        killed = kill_orphans(self._protected())
        orphans = len(killed) - (was_alive and self.pid in killed)
        if self._process is not None:
            self._process.poll()  # `kill_orphans` may have reaped it
        if not ready.done():
            self._fail(ready, self._exited_before_ready())
        self._on_reply(ForkServerExited(orphans))

    def _exited_before_ready(self) -> Exception:
        """The error for waiting callers; it names the packages to preload, if there are any."""
        if not self._preload:
            return RuntimeError("the fork server exited before it was ready; see the log of Ray's worker")
        return UserCodeError(
            f"program.preload: the process exited while it imported {self._names}; remove the package that cannot be "
            "imported"
        )

    def _fail(self, ready: asyncio.Future[None], error: Exception) -> None:
        ready.set_exception(error)
        ready.exception()  # mark as retrieved: nobody may be waiting
