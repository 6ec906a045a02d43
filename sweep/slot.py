"""One slot: a reserved device, its fork server, and the clocks of the attempt on it.

Runs as a Ray actor (`sweep.slots` wraps it), but imports no Ray: tests drive it in their own event loop. The
scheduler talks to it through one call, `exchange`, which acknowledges events, hands over commands, and waits for
news. Events are numbered and kept until acknowledged, so a scheduler that comes back finds all that happened
meanwhile. Everything crosses as JSON bytes.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from sweep import fail_points
from sweep.fail_points import passing
from sweep.layout import AttemptDirectory
from sweep.outcomes import ChildReport, judge
from sweep.processes import become_subreaper, kill_descendants
from sweep.trial import (
    Assignment,
    AttemptKey,
    Cause,
    Ended,
    Event,
    Logged,
    Reported,
    Saved,
    Started,
    event_to_dict,
)

POLL_S = 10.0
FLUSH_S = 0.1  # how long an event that nobody waits for may stay in the slot
_MASKED = ("RAY_", "PODIUM_")


@dataclass(frozen=True, slots=True)
class DeviceView:
    """The device of a slot as its processes must see it."""

    visible: str  # CUDA_VISIBLE_DEVICES; "" hides every GPU from a CPU slot
    uuid: str | None  # of the GPU; None on a CPU slot or a pretended GPU


@dataclass(slots=True)
class _Running:
    """The attempt on the slot now."""

    assignment: Assignment
    connection: socket.socket
    forked_at: float = field(default_factory=time.time)
    started: bool = False
    last_sign_s: float = field(default_factory=time.monotonic)
    begun_s: float = field(default_factory=time.monotonic)
    pid: int | None = None
    killed_for: Cause | None = None
    report: ChildReport | None = None
    killed_at_s: float | None = None

    @property
    def key(self) -> AttemptKey:
        return AttemptKey(self.assignment.trial_id, self.assignment.attempt)


class Slot:
    """Runs one attempt at a time, each in a fresh process, and remembers what happened until told to forget."""

    def __init__(self, name: str, device: DeviceView) -> None:
        self._name = name
        self._device = device
        self._events: deque[tuple[int, dict[str, Any]]] = deque()
        self._sequence = 0
        self._news = asyncio.Condition()
        self._session = 0  # of the scheduler that opened this slot last
        self._call = 0  # its newest call
        self._running: _Running | None = None
        self._fork_server: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None
        self._exited: asyncio.Future[dict[str, Any]] | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    # What the scheduler calls.

    async def open(self) -> bytes:
        """Start the fork server if there is none, wait until it is warm, and say what is here.

        Opens a session: calls of a scheduler before are answered with nothing from now on.
        """
        self._session += 1
        self._call = 0
        become_subreaper()  # if the fork server is killed, its children come here and not to init
        if self._fork_server is None:
            await self._start_fork_server()
        return self._describe()

    async def exchange(self, session: int, call: int, acknowledged: int, commands: bytes = b"[]") -> bytes:
        """Forget events up to `acknowledged`, carry out `commands`, then wait for events and return them.

        A newer call ends an older one at once, with nothing: there is one reader. Returns after `POLL_S` seconds
        without news too, so that a reader knows that the slot lives. Calls are numbered from 1 and taken in that
        order: Ray may start the methods of an asynchronous actor in another order than they were called.
        """
        await self._wait(lambda: session != self._session or call == self._call + 1)
        if session != self._session:
            return b"null"
        self._call = call
        while self._events and self._events[0][0] <= acknowledged:
            self._events.popleft()
        for command in json.loads(commands):
            await self._carry_out(command)
        await self._notify()

        def superseded() -> bool:
            return (session, call) != (self._session, self._call)

        if not await self._wait(lambda: superseded() or bool(self._events), POLL_S):
            return b"[]"
        if not superseded() and not self._urgent():
            await self._wait(lambda: superseded() or self._urgent(), FLUSH_S)
        return b"null" if superseded() else json.dumps(list(self._events)).encode()

    async def _wait(self, condition: Callable[[], bool], timeout_s: float | None = None) -> bool:
        """Wait until `condition`, looked at whenever something changes here; False when time ran out."""
        async with self._news:
            try:
                await asyncio.wait_for(self._news.wait_for(condition), timeout_s)
            except TimeoutError:
                return False
        return True

    async def _notify(self) -> None:
        async with self._news:
            self._news.notify_all()

    # The attempt.

    async def _carry_out(self, command: dict[str, Any]) -> None:
        if command["kind"] == "run":
            await self._run(Assignment.from_dict(command["assignment"]))
            return
        running = self._running
        if running is None or command["key"] != [running.key.trial_id, running.key.attempt]:
            return
        if command["kind"] == "answer":
            line = json.dumps({"kind": "answer", "step": command["step"], "prune": command["prune"]})
            with contextlib.suppress(OSError):
                running.connection.send(line.encode() + b"\n")
        elif command["kind"] == "stop":
            self._stop(running, Cause(command["cause"]))

    async def _run(self, assignment: Assignment) -> None:
        key = AttemptKey(assignment.trial_id, assignment.attempt)
        if self._running is not None:
            if self._running.key != key:
                self._refuse(key, f"slot {self._name} is busy with trial {self._running.key.trial_id}")
            return
        passing("slot.before-fork")
        try:
            if self._fork_server is None or self._fork_server.poll() is not None:
                await self._start_fork_server()
            AttemptDirectory(Path(assignment.directory)).prepare()
            ours, theirs = socket.socketpair()
            ours.setblocking(False)
            self._running = running = _Running(assignment, ours)
            self._exited = asyncio.get_running_loop().create_future()
            assert self._control is not None
            with theirs:
                socket.send_fds(self._control, [b'{"kind": "fork"}'], [theirs.fileno()])
            passing("slot.after-fork")
            greeting = {"assignment": assignment.to_dict(), "device": asdict(self._device)}
            await asyncio.get_running_loop().sock_sendall(ours, json.dumps(greeting).encode() + b"\n")
        except OSError as error:
            self._running = None
            self._refuse(key, f"{type(error).__name__}: {error}")
            return
        self._spawn(self._follow(running))
        self._spawn(self._watch_clocks(running))

    async def _follow(self, running: _Running) -> None:
        """Turn the lines of the trial process into events until its process tree is gone."""
        loop = asyncio.get_running_loop()
        buffer = b""
        while True:
            try:
                content = await loop.sock_recv(running.connection, 65536)
            except OSError:
                break
            if not content:
                break
            running.last_sign_s = time.monotonic()
            *lines, buffer = (buffer + content).split(b"\n")
            for line in lines:
                self._hear(running, line)
        assert self._exited is not None
        exited = await self._exited
        running.connection.close()
        directory = AttemptDirectory(Path(running.assignment.directory))
        for folder in (directory.work, directory.temporary):
            shutil.rmtree(folder, ignore_errors=True)
        self._running = None
        passing("slot.before-ended")
        self._emit(self._end(running, exited))

    def _hear(self, running: _Running, line: bytes) -> None:
        try:
            message = json.loads(line)
            kind = message.pop("kind")
            if kind == "started":
                running.started = True
                running.pid = message["pid"]
                self._emit(Started(running.key, **message))
            elif kind == "reported":
                self._emit(Reported(running.key, **message))
            elif kind == "logged":
                self._emit(Logged(running.key, **message))
            elif kind == "saved":
                self._emit(Saved(running.key, **message))
            elif kind == "outcome":
                running.report = ChildReport(**message)
        except (ValueError, KeyError, TypeError, AttributeError) as error:  # user code can reach the socket
            running.report = ChildReport(state="failed", cause="bad_report", message=f"garbled message: {error}")

    def _end(self, running: _Running, exited: dict[str, Any]) -> Ended:
        verdict = judge(running.report, exited["exit"], running.killed_for)
        return Ended(
            key=running.key,
            started_at=running.forked_at,
            ended_at=time.time(),
            exit=exited["exit"],
            pid=exited["pid"],
            orphans_killed=exited["orphans"],
            **verdict,
        )

    # Clocks.

    async def _watch_clocks(self, running: _Running) -> None:
        """Kill the attempt when one of its clocks runs out; holds while the scheduler is away."""
        while self._running is running:
            now = time.monotonic()
            due = self._deadline(running)
            if due is not None and now >= due[0]:
                if running.killed_at_s is None:
                    self._stop(running, due[1])
                else:
                    self._signal(signal.SIGKILL)
            wait_s = 0.25 if due is None else min(0.25, max(0.005, due[0] - now))
            await asyncio.sleep(wait_s)

    def _deadline(self, running: _Running) -> tuple[float, Cause] | None:
        limits = running.assignment.limits
        if running.killed_at_s is not None:
            return running.killed_at_s + limits.grace_s, running.killed_for or Cause.CANCELLED
        clocks: list[tuple[float, Cause]] = []
        if not running.started and limits.start_s is not None:
            clocks.append((running.begun_s + limits.start_s, Cause.START_TIMEOUT))
        if limits.trial_s is not None:
            clocks.append((running.begun_s + limits.trial_s, Cause.TIMEOUT))
        if running.started and limits.silence_s is not None:
            clocks.append((running.last_sign_s + limits.silence_s, Cause.STALLED))
        return min(clocks, key=lambda clock: clock[0]) if clocks else None

    def _stop(self, running: _Running, cause: Cause) -> None:
        if running.killed_at_s is None:
            running.killed_for = cause
            running.killed_at_s = time.monotonic()
            self._signal(signal.SIGTERM)

    def _signal(self, number: int) -> None:
        if self._control is not None:
            with contextlib.suppress(OSError):
                self._control.send(json.dumps({"kind": "signal", "number": number}).encode())

    # The fork server.

    async def _start_fork_server(self) -> None:
        kill_descendants()
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)  # one request, one packet
        environment = {name: value for name, value in os.environ.items() if not name.startswith(_MASKED)}
        environment |= {"CUDA_VISIBLE_DEVICES": self._device.visible, "OMP_NUM_THREADS": "1"}
        environment |= fail_points.for_fork_server()
        with theirs:
            self._fork_server = subprocess.Popen(
                [sys.executable, "-P", "-m", "sweep.forkserver", str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                env=environment,
                start_new_session=True,
            )
        ours.setblocking(False)
        self._control = ours
        ready = asyncio.get_running_loop().create_future()
        self._spawn(self._listen(ours, ready))
        await ready

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
                elif message["kind"] == "exited" and self._exited is not None and not self._exited.done():
                    self._exited.set_result(message)
        control.close()
        if control is self._control:  # and no new fork server has taken its place
            self._fork_server_gone(ready)

    def _fork_server_gone(self, ready: asyncio.Future[None]) -> None:
        """The kernel kills the trial with it; what the trial left comes to this process and is killed here."""
        orphans = kill_descendants()
        if self._fork_server is not None:
            self._fork_server.poll()
        if not ready.done():
            ready.set_exception(RuntimeError("the fork server ended before it was ready; see Ray's worker log"))
        if self._running is not None and self._exited is not None and not self._exited.done():
            self._running.killed_for = Cause.INFRASTRUCTURE
            self._exited.set_result({"exit": "SIGKILL", "pid": self._running.pid, "orphans": len(orphans)})

    # Events.

    def _emit(self, event: Event) -> None:
        self._sequence += 1
        self._events.append((self._sequence, event_to_dict(event)))
        self._spawn(self._notify())

    def _urgent(self) -> bool:
        """Whether someone waits for an event here: a trial for its answer, or the scheduler for the slot."""
        prunable = self._running is not None and self._running.assignment.prunable
        return any(e["kind"] == "ended" or (prunable and e["kind"] == "reported") for _, e in self._events)

    def _refuse(self, key: AttemptKey, reason: str) -> None:
        now = time.time()
        verdict = judge(ChildReport("failed", cause="infrastructure", message=reason), "", None)
        self._emit(Ended(key=key, started_at=now, ended_at=now, **verdict))

    def _describe(self) -> bytes:
        running = None if self._running is None else [self._running.key.trial_id, self._running.key.attempt]
        return json.dumps(
            {
                "name": self._name,
                "session": self._session,
                "pid": os.getpid(),
                "visible": self._device.visible,
                "uuid": self._device.uuid,
                "running": running,
                "events": list(self._events),
            }
        ).encode()

    def _spawn(self, coroutine: Any) -> None:
        task = asyncio.get_running_loop().create_task(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
