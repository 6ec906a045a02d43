"""One slot: a reserved device, its fork server, and the attempt on it.

Runs as a Ray actor (`podium.sweep.slots.slot_pool` wraps it), but imports no Ray: tests drive it in their own event
loop. The scheduler talks to it through one call, `exchange`, which acknowledges events, hands over commands, and waits
for news. Events are numbered and kept until acknowledged, so a scheduler that comes back finds all that happened
meanwhile. Everything crosses as JSON bytes.

Nothing here grows with what a trial does: of its log the beginning and the end are kept, a line of more than 1 MB ends
it, and with 10,000 events, or 8 MB of them, that nobody has fetched the slot stops listening to it until some are.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import logging
import os
import signal
import socket
import time
from collections import deque
from collections.abc import Callable, Coroutine
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from podium.sweep.runtime import resource_usage
from podium.sweep.runtime.fail_points import passing
from podium.sweep.runtime.full_disk import ON_DATA_DISK
from podium.sweep.runtime.layout import AttemptDirectory
from podium.sweep.runtime.process_trees import become_subreaper
from podium.sweep.runtime.removal import advance, finish, removing, unfinished
from podium.sweep.slots.process_templates import Templates
from podium.sweep.slots.running_attempt import Running
from podium.sweep.slots.trial_log import LogPipe, TrialLog
from podium.sweep.slots.trial_protocol import MAX_LINE_BYTES, Noted, understand
from podium.sweep.values.attempt_outcomes import MAX_MESSAGE, ChildReport, Chosen, Kill, judge, over_quota, storable
from podium.sweep.values.errors import BadReportError, UserCodeError
from podium.sweep.values.failure_causes import disk_is_full
from podium.sweep.values.trial import (
    COUNTED,
    Assignment,
    AttemptKey,
    Cause,
    Ended,
    Event,
    Logged,
    Reported,
    Started,
    TrialState,
    event_to_dict,
)

POLL_S = 10.0
FLUSH_S = 0.1  # how long an event that nobody waits for may stay in the slot
FORK_SERVER_S = 5.0  # in which a fork server must have ended an attempt that it was told to kill
MAX_EVENTS = 10_000  # unacknowledged; then the trial waits
MAX_EVENTS_A_CALL = 2_000
MAX_UNSENT = 100  # answers to a process that does not read them
MAX_BYTES = 8 << 20  # of these events
MAX_BYTES_A_CALL = 2 << 20
LOG_TAIL_BYTES = 4096
_MB = 1 << 20
log = logging.getLogger("podium.slot")


@dataclass(frozen=True, slots=True)
class DeviceView:
    """The device of a slot as its processes must see it."""

    visible: str  # CUDA_VISIBLE_DEVICES; "" hides every GPU from a CPU slot
    uuid: str | None  # of the GPU; None on a CPU slot or a pretended GPU


class Slot:
    """Runs one attempt at a time, each in a fresh process, and remembers what happened until told to forget."""

    def __init__(self, name: str, device: DeviceView) -> None:
        self._name = name
        self._device = device
        self._events: deque[tuple[int, bytes]] = deque()  # each with its number, as JSON
        self._event_bytes = 0
        self._counted: dict[int, Assignment] = {}  # by the number of the event that ended it
        self._sequence = 0
        self._urgent_up_to = 0  # the newest event that someone waits for
        self._news = asyncio.Condition()
        self._carrying_out = asyncio.Lock()  # held for commands, which are taken in order, one after the other
        self._session = 0  # of the scheduler that opened this slot last
        self._call = 0  # its newest call
        self._running: Running | None = None
        self._templates = Templates(device.visible, self._heard_of_process)
        self._oom_counter = resource_usage.oom_counter()
        self._tasks: set[asyncio.Task[None]] = set()

    # What the scheduler calls.

    async def open(self) -> bytes:
        """Start the fork server if there is none, wait until it is warm, and say what is here.

        Opens a session: calls of a scheduler before are answered with nothing from now on.
        """
        self._session += 1
        self._call = 0
        become_subreaper()  # if the fork server is killed, its children come here and not to init
        async with self._carrying_out:  # what a session before has asked for is said to this one
            if self._running is None:
                await self._templates.choose()
            return self._describe()

    async def exchange(self, session: int, call: int, acknowledged: int, commands: bytes = b"[]") -> bytes:
        """Forget events up to `acknowledged`, carry out `commands`, then wait for events and return them.

        A newer call ends an older one at once, with nothing: there is one reader. Returns after `POLL_S` seconds
        without news too, so that a reader knows that the slot lives. Calls are numbered from 1 and taken in that
        order: Ray may start the methods of an asynchronous actor in another order than they were called. At most
        2,000 events, or 2 MB of them, a call are returned, oldest first.
        """
        await self._wait(lambda: session != self._session or call == self._call + 1)
        if session != self._session:
            return b"null"
        self._call = call
        self._forget(acknowledged)
        async with self._carrying_out:  # a stop waits for the attempt that it is for
            for command in json.loads(commands):
                await self._carry_out(command)
        await self._notify()

        def superseded() -> bool:
            return (session, call) != (self._session, self._call)

        if not await self._wait(lambda: superseded() or bool(self._events), POLL_S):
            return b"[]"
        if not superseded() and not self._urgent():
            await self._wait(lambda: superseded() or self._urgent(), FLUSH_S)
        return b"null" if superseded() else self._oldest_events()

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
            self._tell(running, kind="answer", step=command["step"], prune=command["prune"])
        elif command["kind"] == "study":
            answer = {name: command[name] for name in ("request", "answer", "error")}
            self._tell(running, kind="study", **answer)
        elif command["kind"] == "suggested":
            chosen = {name: command[name] for name in ("name", "value", "error")}
            self._tell(running, kind="suggested", **chosen)
        elif command["kind"] == "stop":
            self._stop(running, Kill(Cause(command["cause"])))

    def _tell(self, running: Running, **message: Any) -> None:
        """Answer the trial process; one that does not read its answers misses them."""
        if len(running.unsent) < MAX_UNSENT:
            running.unsent.append(json.dumps(message).encode() + b"\n")
        if running.sending is None or running.sending.done():
            running.sending = self._spawn(self._send(running))

    async def _send(self, running: Running) -> None:
        """Send the answers, each whole and in order: a page of a study is larger than the socket's buffer."""
        with contextlib.suppress(OSError):
            while running.unsent:
                await asyncio.get_running_loop().sock_sendall(running.connection, running.unsent[0])
                running.unsent.popleft()

    async def _run(self, assignment: Assignment) -> None:
        key = AttemptKey(assignment.trial_id, assignment.attempt)
        if self._running is not None:
            if self._running.key != key:
                self._refuse(key, f"slot {self._name} is busy with trial {self._running.key.trial_id}")
            return
        passing("slot.before-fork")
        try:
            await self._templates.choose(assignment.program.get("preload") or ())
            running = await self._begin(assignment)
        except UserCodeError as error:
            self._refuse(key, str(error), Cause.USER_ERROR)
            return
        except Exception as error:  # whatever it is: an attempt that is not refused would take the slot for ever
            if not isinstance(error, OSError):
                log.exception("cannot start attempt %s", key)
            if self._running is not None:
                self._running.connection.close()
                self._running.log.finish(0)
                self._running = None
            message = f"{type(error).__name__}: {error}"
            if disk_is_full(error):  # all that is written here is in the data directory
                self._refuse(key, f"{ON_DATA_DISK}: {message}", Cause.DISK_FULL, interrupted=True)
            else:
                self._refuse(key, message)
            return
        self._spawn(self._follow(running))
        self._spawn(self._watch_clocks(running))

    async def _begin(self, assignment: Assignment) -> Running:
        """Ask for a process, and tell it what to do. Raises `OSError`."""
        directory = AttemptDirectory(Path(assignment.directory))
        directory.prepare()
        printed = LogPipe(TrialLog(directory.log, int(assignment.limits.log_mb * _MB)))
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        self._running = running = Running(assignment, ours, printed, resource_usage.oom_kills(self._oom_counter))
        with theirs:
            try:
                self._templates.current.fork([theirs.fileno(), printed.writing])
            finally:
                printed.close_writing()
        passing("slot.after-fork")
        greeting = {"assignment": assignment.to_dict(), "device": asdict(self._device)}
        await asyncio.get_running_loop().sock_sendall(ours, json.dumps(greeting).encode() + b"\n")
        return running

    async def _follow(self, running: Running) -> None:
        """Turn the lines of the trial process into events until its process tree is gone."""
        watches = self._watch_usage(running)
        try:
            await self._listen(running)
        except Exception:
            log.exception("cannot understand attempt %s", running.key)
            self._kill(running, Kill(Cause.INFRASTRUCTURE, "its slot could not go on with it; see Ray's worker log"))
        await self._wait(lambda: running.exited is not None)
        if running.sending is not None:
            running.sending.cancel()
            await asyncio.wait([running.sending])
        running.connection.close()
        for watch in watches:
            watch.cancel()
        ended = self._ended(running)
        self._clear(running.assignment)
        self._running = None
        passing("slot.before-ended")
        ended = self._emit_end(ended)
        kept = running.assignment.keep_checkpoint and ended.state is TrialState.FINISHED
        if ended.state in COUNTED and not kept:
            self._counted[self._sequence] = running.assignment

    def _ended(self, running: Running) -> Ended:
        """How it ended; where that cannot be said, that it has."""
        try:
            return self._end(running)
        except Exception as error:
            log.exception("cannot tell how attempt %s ended", running.key)
            return _bare_end(running.key, running.forked_at, error)

    def _emit_end(self, ended: Ended) -> Ended:
        """Tell the end of an attempt, or only that it ended: else its slot would be taken for ever. What was told."""
        try:
            self._emit(ended)
        except Exception as error:
            log.exception("cannot tell all of the end of attempt %s", ended.key)
            ended = _bare_end(ended.key, ended.started_at, error)
            self._emit(ended)
        return ended

    def _clear(self, assignment: Assignment) -> None:
        """Remove what only a running attempt needs; where that is much, the slot is free before all of it is gone."""
        directory = AttemptDirectory(Path(assignment.directory))
        removal = removing([directory.work, directory.temporary, *unfinished(directory.root)])
        if advance(removal):
            self._spawn(asyncio.to_thread(finish, removal))

    async def _listen(self, running: Running) -> None:
        """Hear all that the process says, until it has closed its end."""
        loop = asyncio.get_running_loop()
        buffer = b""
        while True:
            if self._full():
                running.unheard = True
                await self._wait(lambda: not self._full() or running.exited is not None)
                running.unheard = False
            try:
                content = await loop.sock_recv(running.connection, 65536)
            except OSError:
                return
            if not content:
                return
            running.last_sign_s = time.monotonic()
            *lines, buffer = (buffer + content).split(b"\n")
            for line in lines:
                self._hear(running, line)
            if len(buffer) > MAX_LINE_BYTES:
                self._kill(running, Kill(Cause.BAD_REPORT, f"sent a message of more than {MAX_LINE_BYTES} bytes"))
                buffer = b""

    def _hear(self, running: Running, line: bytes) -> None:
        try:
            said = understand(running.key, line)
            if isinstance(said, Noted):
                running.note(said)
                return
        except (ValueError, BadReportError) as error:
            running.report = ChildReport(
                state="failed", cause=Cause.BAD_REPORT.value, message=f"garbled message: {error}"
            )
            return
        if isinstance(said, ChildReport):
            running.report = said
        elif isinstance(said, Chosen):
            running.choose(said)
        elif said is not None:
            if isinstance(said, Started):
                running.started = True
            elif isinstance(said, Reported):
                running.reported.note(said.step, {running.assignment.metric: said.value})
            elif isinstance(said, Logged):
                running.reported.note(said.step, said.values)
            self._emit(said)

    def _heard_of_process(self, message: dict[str, Any]) -> None:
        running = self._running
        if running is None:
            return
        if message["kind"] == "forked":
            running.pid = message["pid"]
        elif message["kind"] == "exited":
            running.exited = message
        elif running.exited is None:  # the fork server has gone, and its attempt with it
            running.kill = running.kill or Kill(Cause.INFRASTRUCTURE)
            running.exited = {"exit": "SIGKILL", "pid": running.pid, "orphans": message["orphans"]}
        self._spawn(self._notify())

    def _end(self, running: Running) -> Ended:
        exited = running.exited
        assert exited is not None
        killed = exited["exit"] == "SIGKILL"
        out_of_memory = killed and resource_usage.oom_kills(self._oom_counter) != running.oom_kills
        verdict = judge(
            running.report,
            exited["exit"],
            running.kill,
            out_of_memory=out_of_memory,
            objectives=len(running.assignment.objectives),
            chosen=running.value_so_far,
            finish_on_timeout=running.assignment.limits.on_timeout == "finish",
            has_constraints=running.assignment.program.get("constraints") is not None,
        )
        tail = running.log.finish(LOG_TAIL_BYTES if verdict["state"] is TrialState.FAILED else 0)
        return Ended(
            key=running.key,
            started_at=running.forked_at,
            ended_at=time.time(),
            exit=exited["exit"],
            pid=exited["pid"],
            orphans_killed=exited["orphans"],
            log_tail=storable(tail),
            constraints=running.notes.constraints,
            user_attrs=running.notes.user_attrs,
            **verdict,
        )

    # Clocks and limits.

    async def _watch_clocks(self, running: Running) -> None:
        """End the attempt when one of its clocks runs out; holds while the scheduler is away."""
        while self._running is running:
            now = time.monotonic()
            due = running.deadline()
            if due is not None and now >= due[0]:
                if running.kill is None:
                    self._stop(running, Kill(due[1]))
                elif now < due[0] + FORK_SERVER_S:
                    self._templates.current.signal(signal.SIGKILL)
                else:  # it does not carry out signals any more: with it goes all that it has forked
                    self._templates.current.kill()
            wait_s = 0.25 if due is None else min(0.25, max(0.005, due[0] - now))
            await asyncio.sleep(wait_s)

    def _watch_usage(self, running: Running) -> list[asyncio.Task[None]]:
        limits = running.assignment.limits
        watches = []
        if limits.memory_mb is not None:
            watches.append(self._spawn(self._keep_memory(running, limits.memory_mb)))
        if limits.work_dir_mb is not None:
            watches.append(self._spawn(self._keep_folders(running, limits.work_dir_mb)))
        return watches

    async def _keep_memory(self, running: Running, allowed_mb: float) -> None:
        used = await resource_usage.memory_over(self._templates.current.pid, int(allowed_mb * _MB))
        message = f"its processes used {used / _MB:.0f} MB of memory; limits.memory_mb allows {allowed_mb:g}"
        self._kill(running, Kill(Cause.HOST_MEMORY, message))

    async def _keep_folders(self, running: Running, allowed_mb: float) -> None:
        directory = AttemptDirectory(Path(running.assignment.directory))
        used = await resource_usage.folders_over((directory.work, directory.temporary), int(allowed_mb * _MB))
        self._kill(running, Kill(Cause.DISK_QUOTA, over_quota(used, allowed_mb)))

    def _stop(self, running: Running, kill: Kill) -> None:
        """Ask the attempt to end; when its grace is over it is killed."""
        if running.kill is None and running.exited is None:
            running.kill = kill
            running.killed_at_s = time.monotonic()
            self._templates.current.signal(signal.SIGTERM)

    def _kill(self, running: Running, kill: Kill) -> None:
        """End the attempt at once: what it uses too much of would only grow in its grace."""
        if running.exited is not None:
            return
        running.kill = running.kill or kill
        running.killed_at_s = time.monotonic() - running.assignment.limits.grace_s
        self._templates.current.signal(signal.SIGKILL)

    # Events.

    def _emit(self, event: Event) -> None:
        self._sequence += 1
        content = json.dumps([self._sequence, event_to_dict(event)]).encode()
        self._events.append((self._sequence, content))
        self._event_bytes += len(content)
        prunable = self._running is not None and self._running.assignment.prunable
        if event.kind in ("ended", "wanted", "study_asked") or (prunable and event.kind == "reported"):
            self._urgent_up_to = self._sequence
        self._spawn(self._notify())

    def _forget(self, acknowledged: int) -> None:
        """Events up to a number are recorded: then a trial that is done needs its checkpoints no more."""
        while self._events and self._events[0][0] <= acknowledged:
            number, content = self._events.popleft()
            self._event_bytes -= len(content)
            assignment = self._counted.pop(number, None)
            if assignment is not None and (checkpoints := _checkpoints(assignment)):
                self._spawn(asyncio.to_thread(finish, removing(checkpoints)))

    def _urgent(self) -> bool:
        """Whether someone waits for an event here: a trial for its answer, or the scheduler for the slot."""
        waited_for = bool(self._events) and self._events[0][0] <= self._urgent_up_to
        return waited_for or len(self._events) >= MAX_EVENTS_A_CALL or self._event_bytes >= MAX_BYTES_A_CALL

    def _full(self) -> bool:
        return len(self._events) >= MAX_EVENTS or self._event_bytes >= MAX_BYTES

    def _oldest_events(self) -> bytes:
        chosen: list[bytes] = []
        room = MAX_BYTES_A_CALL
        for _, content in itertools.islice(self._events, MAX_EVENTS_A_CALL):
            if chosen and len(content) > room:
                break
            chosen.append(content)
            room -= len(content)
        return b"[" + b",".join(chosen) + b"]"

    def _refuse(
        self, key: AttemptKey, reason: str, cause: Cause = Cause.INFRASTRUCTURE, *, interrupted: bool = False
    ) -> None:
        now = time.time()
        report = ChildReport("failed", cause=cause.value, message=reason, interrupted=interrupted)
        verdict = judge(report, "", None)
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
                "events": [json.loads(content) for _, content in self._events],
            }
        ).encode()

    def _spawn(self, coroutine: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._done)
        return task

    def _done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("what the slot did in the background has failed", exc_info=error)


def _bare_end(key: AttemptKey, started_at: float, error: Exception) -> Ended:
    """The end of an attempt of which nothing else can be told."""
    message = storable(f"its slot cannot tell how it ended: {type(error).__name__}: {error}"[:MAX_MESSAGE])
    return Ended(key, TrialState.FAILED, started_at, time.time(), cause=Cause.INFRASTRUCTURE, message=message)


def _checkpoints(assignment: Assignment) -> list[Path]:
    """The checkpoints of a trial, of all its attempts, that are there."""
    directory = AttemptDirectory(Path(assignment.directory))
    attempts = (directory, *directory.earlier(assignment.attempt))
    paths = [path for attempt in attempts for path in (attempt.checkpoint, attempt.checkpoint_folders)]
    return [path for path in paths if os.path.lexists(path)]
