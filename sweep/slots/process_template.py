"""The slot's side of its fork server: start it, ask it for processes and signals, hear what became of them; slot."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import subprocess
import sys
from collections.abc import Callable, Sequence
from typing import Any

from podium.sweep.runtime import fail_points
from podium.sweep.runtime.process_trees import kill_orphans
from podium.sweep.runtime.thread_variables import thread_variables
from podium.sweep.runtime.user_environment import user_environment
from podium.sweep.values.errors import UserCodeError

PRELOAD_S = 20.0  # a slot that is silent for longer is taken for dead


class Template:
    """The clean, warm process that forks one process per attempt, and a new one when it has gone.

    It has the packages `preload` imported. `others` says which processes beside it are not to be cleaned up.
    `heard` is called with each message of the fork server, `forked` and `exited`, and with `gone` when it has ended:
    the kernel kills the attempt with it, and what the attempt left comes to this process and is killed here.
    """

    def __init__(
        self,
        visible: str,
        heard: Callable[[dict[str, Any]], None],
        preload: Sequence[str] = (),
        others: Callable[[], set[int]] = set,
    ) -> None:
        self._visible = visible
        self._preload = tuple(preload)
        self._others = others
        self._heard = heard
        self._process: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None
        self._listening: asyncio.Task[None] | None = None
        self._warm: asyncio.Future[None] | None = None

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    @property
    def lives(self) -> bool:
        return self._process is not None and self._process.poll() is None

    async def ready(self) -> None:
        """Start the fork server unless it lives, and wait until it is warm.

        Raises `UserCodeError` where what it is to preload cannot be, ends the process, or takes too long.
        """
        if self._warm is None or not self.lives:
            self._warm = self._start()
        try:
            await asyncio.wait_for(asyncio.shield(self._warm), PRELOAD_S if self._preload else None)
        except TimeoutError:
            self.kill()
            words = f"program.preload: importing {self._names} takes over {PRELOAD_S:g} s"
            raise UserCodeError(f"{words}, on a busy machine perhaps; leave out what takes longest") from None

    @property
    def _names(self) -> str:
        return ", ".join(self._preload)

    def _start(self) -> asyncio.Future[None]:
        kill_orphans(self._others())
        if self._process is not None:
            self._process.poll()  # the one before, reaped just now
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)  # one request, one packet
        environment = {
            **user_environment(),
            # One thread while the packages are imported: a fork would lose the others.
            **thread_variables(1),
            "CUDA_VISIBLE_DEVICES": self._visible,
            **fail_points.for_fork_server(),
        }
        with theirs:
            self._process = subprocess.Popen(
                [
                    sys.executable,
                    "-P",
                    "-m",
                    "podium.sweep.trial_process.fork_server",
                    str(theirs.fileno()),
                    *self._preload,
                ],
                pass_fds=[theirs.fileno()],
                env=environment,
                start_new_session=True,
            )
        ours.setblocking(False)
        self._control = ours
        ready = asyncio.get_running_loop().create_future()
        self._listening = asyncio.get_running_loop().create_task(self._listen(ours, ready))
        return ready

    def fork(self, descriptors: list[int]) -> None:
        """Ask for a process that has these descriptors. Raises `OSError` when the fork server has gone."""
        assert self._control is not None
        socket.send_fds(self._control, [b'{"kind": "fork"}'], descriptors)

    def signal(self, number: int) -> None:
        """Signal what it has forked, if that still lives."""
        if self._control is not None:
            with contextlib.suppress(OSError):
                self._control.send(json.dumps({"kind": "signal", "number": number}).encode())

    def kill(self) -> None:
        """End the fork server itself; a new one takes its place for the next attempt."""
        self._warm = None  # also while it is dying
        if self._process is not None:
            self._process.kill()

    async def _listen(self, control: socket.socket, ready: asyncio.Future[None]) -> None:
        loop = asyncio.get_running_loop()
        buffer = b""
        while True:
            try:
                content = await loop.sock_recv(control, 65536)
            except OSError:
                content = b""
            if not content:
                break
            *lines, buffer = (buffer + content).split(b"\n")
            for line in lines:
                message = json.loads(line)
                if message["kind"] == "ready":
                    ready.set_result(None)
                elif message["kind"] == "unready":
                    self._unready(ready, UserCodeError(message["message"]))
                else:
                    self._heard(message)
        control.close()
        if control is self._control:  # and no new fork server has taken its place
            self._gone(ready)

    def _gone(self, ready: asyncio.Future[None]) -> None:
        lived = self.lives  # or it is counted among those that it left
        orphans = kill_orphans(self._others())
        left = len(orphans) - (lived and self.pid in orphans)
        if self._process is not None:
            self._process.poll()  # who cleaned up may have reaped it
        if not ready.done():
            self._unready(ready, self._not_ready())
        self._heard({"kind": "gone", "orphans": left})

    def _not_ready(self) -> Exception:
        """Why it ended before it was ready: what it imported, where a sweep named that."""
        if not self._preload:
            return RuntimeError("the fork server ended before it was ready; see Ray's worker log")
        return UserCodeError(
            f"program.preload: the process ended while it imported {self._names}; leave out what cannot be imported"
        )

    def _unready(self, ready: asyncio.Future[None], error: Exception) -> None:
        ready.set_exception(error)
        ready.exception()  # it is told to whoever waits, and to nobody where nobody does
