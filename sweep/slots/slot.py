"""One slot: a reserved device, its fork servers, and the attempt that runs on it; slot.

Runs in a process of its own (`podium.sweep.slots.slot_process`), in an existing Ray cluster as an actor
(`podium.sweep.ray_cluster.ray_slot_actor`), and in tests in their event loop. The scheduler makes one call, `exchange`,
which acknowledges events, delivers commands, and waits for new events. Events are numbered and kept until they are
acknowledged, so a restarted scheduler receives all that it missed.

Memory and disk usage are bounded whatever a trial does: only the beginning and the end of its log are kept; a message
of more than 1 MB ends the attempt; while 10,000 events, or 8 MB of events, are unacknowledged, the slot does not read
from the trial.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import math
import os
import signal
import socket
import time
from collections import deque
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from podium.sweep.protocol.fork_server_messages import AttemptExited, AttemptForked
from podium.sweep.protocol.message_codec import DeviceView
from podium.sweep.protocol.message_limits import MAX_LINE_BYTES, MAX_UNSENT_ANSWERS
from podium.sweep.protocol.scheduler_slot_messages import (
    SUPERSEDED,
    SlotDescription,
    decode_commands,
    decode_events,
    join_events,
)
from podium.sweep.protocol.slot_commands import SlotCommand, StartAttempt, StopAttempt, TrialAnswer
from podium.sweep.protocol.trial_messages import AttemptGreeting, encode_to_trial
from podium.sweep.runtime import attempt_resource_usage
from podium.sweep.runtime.attempt_directory import WANDB_PARAMETERS, AttemptDirectory
from podium.sweep.runtime.disk_full_cause import ON_DATA_DISK
from podium.sweep.runtime.fail_points import fail_point
from podium.sweep.runtime.incremental_file_removal import advance, finish, removal_steps, unfinished
from podium.sweep.runtime.layout import DataDirectory
from podium.sweep.slots import attempt_end_event
from podium.sweep.slots.attempt_files import AttemptFiles, FilesError, LocalFiles
from podium.sweep.slots.attempt_log import LogPipe, TrialLog
from podium.sweep.slots.attempt_termination import FORK_SERVER_S, AttemptLimits
from podium.sweep.slots.attempt_usage_watch import UsageWatch
from podium.sweep.slots.condition_variable import Changes
from podium.sweep.slots.ended_attempt_uploads import FileTransfer, reason_and_cause
from podium.sweep.slots.event_queue import EventQueue
from podium.sweep.slots.fork_server_client import PRELOAD_S, ForkServerClientReply, ForkServerOutdated
from podium.sweep.slots.fork_server_pool import ForkServerPool
from podium.sweep.slots.rank_stall_watch import RankWatch
from podium.sweep.slots.reusable_folders import ReusableFolders
from podium.sweep.slots.running_attempt import RunningAttempt
from podium.sweep.slots.scheduler_call_fencing import POLL_S, SchedulerSession
from podium.sweep.slots.trial_connection import read_messages, send_answers
from podium.sweep.values.attempt_assignment import Assignment, AttemptKey
from podium.sweep.values.attempt_outcomes import Kill
from podium.sweep.values.errors import UserCodeError
from podium.sweep.values.failure_cause_detection import disk_is_full
from podium.sweep.values.failure_causes import Cause
from podium.sweep.values.slot_events import (
    DeviceReleased,
    Ended,
    Event,
    RankIdle,
    Reported,
    Saved,
    StopRequested,
    StoreOpened,
    StudyRequested,
    SuggestRequested,
    shifted,
)

ABANDONED_CHECK_S = 1.0
KNOWN_FOLDERS = 8  # more attempts than can run, be sent, or have events that no scheduler has acknowledged
FLUSH_S = 0.1  # see `Slot`
REMOVAL_DELAY_S = 1.0  # at most, while the next attempt fetches its files
_MB = 1 << 20
_URGENT = (DeviceReleased, Ended, RankIdle, StopRequested, StoreOpened, StudyRequested, SuggestRequested)
log = logging.getLogger("podium.slot")


class Slot:
    """Runs one attempt at a time, each in a new process, and keeps its events until they are acknowledged.

    On a node, the files of an attempt that has ended are sent while the next one runs.
    """

    def __init__(
        self,
        name: str,
        device: DeviceView,
        template: Callable[[], Path],
        root: Path,
        *,
        files: AttemptFiles | None = None,
        preload_s: float = PRELOAD_S,
        fork_server_s: float = FORK_SERVER_S,
        flush_s: float = FLUSH_S,
    ) -> None:
        """A slot without a session.

        Args:
            name: The device.
            device: What its attempts see of the device.
            template: Returns the socket of the process template.
            root: The data directory on this machine.
            files: How files come from the head and go there; None on the head.
            preload_s: Seconds that the imports of `program.preload` may take.
            fork_server_s: Seconds in which a fork server must have killed an attempt, or it is killed itself.
            flush_s: Seconds that an event that is not urgent may wait for others.
        """
        self._name = name
        self._device = device
        self._root = root
        self._files: AttemptFiles = files or LocalFiles(DataDirectory(root))
        self._fetching: _Fetching | None = None
        self._ended: dict[int, _EndedAttempt] = {}  # by the number of the event
        self._changes = Changes()
        self._transfer = FileTransfer(self._files, self._changes, self._release)
        self._command_lock = asyncio.Lock()  # commands are executed in order, one at a time
        self._session = SchedulerSession()
        self._flush_s = flush_s
        self._watch: asyncio.Task[None] | None = None  # for calls that do not come
        self._running: RunningAttempt | None = None
        self._folders: deque[tuple[AttemptKey, str]] = deque(maxlen=KNOWN_FOLDERS)  # of the last attempts
        self._tasks: set[asyncio.Task[None]] = set()
        self._reusable = ReusableFolders(DataDirectory(root).slot_folder(name))
        self.events = EventQueue()
        self.fork_servers = ForkServerPool(device.visible, self._on_reply, template, preload_s)
        self.oom_counter = attempt_resource_usage.oom_counter()
        self._limits = AttemptLimits(self.fork_servers, fork_server_s=fork_server_s)

    # Called by the scheduler.

    async def open(self, epoch: int, poll_s: float = POLL_S, abandoned_s: float = math.inf) -> bytes:
        """Request the fork server unless it is alive, wait until it is ready, and return a `SlotDescription`.

        Opens a session, whose calls return at least every `poll_s` seconds; calls of earlier sessions return
        `SUPERSEDED` from now on. An attempt ends after `abandoned_s` seconds without a call: its machine may be cut
        off, and the attempt repeated elsewhere. Raises `FencedError` if a scheduler with a higher epoch has opened this
        slot: the caller has been replaced.
        """
        self._session.check(epoch, self._name)
        self._session.open(epoch, poll_s, abandoned_s)
        if self._watch is None and not math.isinf(abandoned_s):
            self._watch = self._spawn(self._end_abandoned_attempts())
        async with self._command_lock:  # the effect of commands of an earlier session is part of the description
            if self._running is None:
                await self.fork_servers.select()
            return self.describe().to_json()

    async def exchange(self, session: int, call: int, acknowledged: int, commands: bytes = b"[]") -> bytes:
        """Remove events up to `acknowledged`, execute `commands`, then wait for events and return the oldest.

        There is one reader: a newer call makes an older one return `SUPERSEDED`. If there are no events, returns an
        empty list after the `poll_s` of its session, as a heartbeat. Calls are numbered from 1 and executed in this
        order, since Ray may start the methods of an asynchronous actor in another order than they were called. A call
        that is sent again, because it is unknown whether it arrived, is executed once.
        """
        await self._changes.wait_until(lambda: self._session.may_start(session, call))
        is_first = self._session.start(session, call)
        if is_first is None:
            return SUPERSEDED
        if is_first:
            self._acknowledge(acknowledged)
            async with self._command_lock:  # a stop waits until its attempt has been started
                for command in decode_commands(commands):
                    await self._execute(command)
            self._changes.notify()

        def is_superseded() -> bool:
            return self._session.is_superseded(session, call)

        if not await self._changes.wait_until(lambda: is_superseded() or bool(self.events), self._session.poll_s):
            return join_events([])
        if not is_superseded() and not self.events.is_urgent:
            await self._changes.wait_until(lambda: is_superseded() or self.events.is_urgent, self._flush_s)
        return SUPERSEDED if is_superseded() else self.events.oldest()

    def describe(self) -> SlotDescription:
        """The state of this slot for a new session."""
        return SlotDescription(
            name=self._name,
            session=self._session.number,
            pid=os.getpid(),
            visible=self._device.visible,
            uuid=self._device.uuid,
            running=self._key,
            sending=None if self._transfer.sending is None else self._transfer.sending.key,
            events=decode_events(self.events.all()) or (),
            folders=tuple(self._folders),
        )

    @property
    def _key(self) -> AttemptKey | None:
        """The attempt that holds the device."""
        if self._fetching is not None:
            return self._fetching.assignment.key
        return None if self._running is None else self._running.key

    # Commands.

    async def _execute(self, command: SlotCommand) -> None:
        if isinstance(command, StartAttempt):
            await self._begin(command.assignment.located(self._root))
            return
        if isinstance(command, StopAttempt) and self._fetching is not None and self._key == command.key:
            self._fetching.task.cancel()
            self._fetching = None
            self._emit(attempt_end_event.before_start(command.key, command.cause))
            return
        running = self._attempt(command.key)
        if running is None:
            return
        if isinstance(command, StopAttempt):
            end = self._limits.kill if command.at_once else self._limits.stop
            end(running, Kill(command.cause, command.message))
        elif running.exited is None:
            self._forward(running, command)

    def _attempt(self, key: AttemptKey) -> RunningAttempt | None:
        """The attempt with this key, on the device or sending its files."""
        attempts = (self._running, self._transfer.sending)
        return next((each for each in attempts if each is not None and each.key == key), None)

    def _forward(self, running: RunningAttempt, answer: TrialAnswer) -> None:
        """Send an answer to the trial process; answers to a process that does not read them are dropped."""
        if len(running.unsent) < MAX_UNSENT_ANSWERS:
            running.unsent.append(encode_to_trial(answer))
        if running.answering is None or running.answering.done():
            running.answering = self._spawn(send_answers(running))

    # The attempt.

    async def _begin(self, assignment: Assignment) -> None:
        """Start an attempt; if files may be missing here, in the background, when they have arrived."""
        key = assignment.key
        if self._key is not None:
            if self._key != key:
                self._refuse(key, f"slot {self._name} is busy with trial {self._key.trial_id}")
            return
        self._folders.append((key, Path(assignment.directory).name))
        if not self._files.fetches(assignment):
            await self._start(assignment)
        else:
            self._fetching = _Fetching(assignment, self._spawn(self._fetch_and_start(assignment)))

    async def _fetch_and_start(self, assignment: Assignment) -> None:
        try:
            await self._files.fetch(assignment)
        except Exception as error:  # noqa: BLE001 - an attempt that is not refused would block the slot forever
            self._fetching = None
            self._refuse(assignment.key, *reason_and_cause(error))
            return
        async with self._command_lock:
            self._fetching = None
            await self._start(assignment)

    async def _start(self, assignment: Assignment) -> None:
        key = assignment.key
        fail_point("slot.before-fork")
        try:
            await self.fork_servers.select(assignment.program.get("preload") or ())
            running = await self._fork(assignment)
        except UserCodeError as error:
            self._refuse(key, str(error), Cause.USER_ERROR)
            return
        except Exception as error:  # any error: an attempt that is not refused would block the slot forever
            if not isinstance(error, OSError):
                log.exception("failed to start attempt %s", key)
            if self._running is not None:
                self._running.connection.close()
                self._running.log.finish(0)
                self._running = None
            message = f"{type(error).__name__}: {error}"
            if disk_is_full(error):  # the slot writes to the data directory only
                self._refuse(key, f"{ON_DATA_DISK}: {message}", Cause.DISK_FULL, interrupted=True)
            else:
                self._refuse(key, message)
            return
        self._spawn(self._supervise(running))
        self._spawn(self._limits.enforce_deadlines(running))
        if assignment.gang is not None and assignment.gang.size > 1:
            self._spawn(RankWatch(running, self._limits, self._emit).run())

    async def _fork(self, assignment: Assignment) -> RunningAttempt:
        """Fork the process of an attempt, and send it the assignment. Raises `OSError`."""
        directory = AttemptDirectory(Path(assignment.directory), assignment.rank)
        directory.prepare(self._reusable.place)
        output = LogPipe(TrialLog(directory.log, int(assignment.limits.log_mb * _MB)))
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        oom_kills = attempt_resource_usage.oom_kills(self.oom_counter)
        self._running = running = RunningAttempt(assignment, ours, output, oom_kills)
        with theirs:
            try:
                self.fork_servers.current.fork([theirs.fileno(), output.writing])
            finally:
                output.close_writing()
        fail_point("slot.after-fork")
        greeting = encode_to_trial(AttemptGreeting(assignment, self._device))
        await asyncio.get_running_loop().sock_sendall(ours, greeting)
        return running

    async def _supervise(self, running: RunningAttempt) -> None:
        """Turn the messages of the trial process into events until its process tree is gone."""
        usage = UsageWatch(running, self._limits, self.events, self._emit, self._device.uuid)
        watches = [self._spawn(watch) for watch in (usage.run(), *self._limits.disk_watches(running))]
        try:
            await read_messages(
                running, self.events, self._changes, on_line=self._on_line, on_too_long=self._on_too_long
            )
        except Exception:
            log.exception("failed to read the messages of attempt %s", running.key)
            self._limits.kill(running, Kill(Cause.INFRASTRUCTURE, "internal error of the slot; see ray.log"))
        await self._changes.wait_until(lambda: running.exited is not None)
        if running.answering is not None:
            running.answering.cancel()
            await asyncio.wait([running.answering])
        running.connection.close()
        for watch in watches:
            watch.cancel()
        usage.finish()
        ended = self._determine_outcome(running)
        self._remove_temporary(running.assignment)
        if running.saved or self._files.sends(running.assignment):
            ended = await self._send_files(running, ended)
        if self._running is running:
            self._running = None
        fail_point("slot.before-ended")
        ended = self._emit_end(ended)
        counted = not attempt_end_event.needs_checkpoint(running, ended)
        self._ended[self.events.last_number] = _EndedAttempt(running.assignment, counted)
        self._transfer.finish(running)

    async def _send_files(self, running: RunningAttempt, ended: Ended) -> Ended:
        """Send the files of an attempt before its end: a finished attempt has all its files on the head."""
        sent = await self._transfer.send(running, ended)
        if sent is ended:
            for saved in running.saved.values():
                self._emit(saved)
        return sent

    def _release(self, running: RunningAttempt) -> None:
        """The attempt leaves the device; its files are being sent."""
        self._running = None
        self._emit(DeviceReleased(running.key, time.time()))

    def _determine_outcome(self, running: RunningAttempt) -> Ended:
        """How the attempt ended; without details if they cannot be determined."""
        try:
            return self._end_of(running)
        except Exception as error:
            log.exception("failed to determine how attempt %s ended", running.key)
            return attempt_end_event.without_details(running.key, running.forked_at, error)

    def _emit_end(self, ended: Ended) -> Ended:
        """Emit the end of an attempt, without details if these cannot be encoded; returns the emitted event.

        Without this event the scheduler would consider the slot busy forever.
        """
        try:
            self._emit(ended)
        except Exception as error:
            log.exception("failed to encode the end of attempt %s", ended.key)
            ended = attempt_end_event.without_details(ended.key, ended.started_at, error)
            self._emit(ended)
        return ended

    def _remove_temporary(self, assignment: Assignment) -> None:
        """Remove the working and temporary directories, or keep them for the next attempt if they are as new.

        Large ones are removed in the background, after the slot is free. Only rank 0 saves files, so the slots of the
        other ranks must not remove what it is still writing.
        """
        directory = AttemptDirectory(Path(assignment.directory), assignment.rank)
        removed = list(unfinished(directory.root)) if assignment.rank == 0 else []
        if not self._reusable.keep(directory.work):
            removed.append(directory.work)
        with contextlib.suppress(OSError):
            (directory.temporary / WANDB_PARAMETERS).unlink()  # the only file of most attempts
        if not self._reusable.keep(directory.temporary):
            removed.append(directory.temporary)
        removal = removal_steps(removed)
        if advance(removal):
            self._spawn(asyncio.to_thread(finish, removal))

    # Messages of the trial process, and replies of the fork server.

    def _on_line(self, running: RunningAttempt, line: bytes) -> None:
        event = running.receive(line)
        if running.assignment.rank > 0:
            return  # only rank 0 reports
        if isinstance(event, Saved) and not self._files.is_local:
            running.saved[event.name] = event  # recorded when the head has the file
        elif event is not None:
            self._emit(event)

    def _on_too_long(self, running: RunningAttempt) -> None:
        message = f"the trial sent a message of more than {MAX_LINE_BYTES:,} bytes"
        self._limits.kill(running, Kill(Cause.BAD_REPORT, message))

    def _on_reply(self, reply: ForkServerClientReply) -> None:
        if isinstance(reply, ForkServerOutdated):
            self._spawn(self._replace_fork_server())
            return
        running = self._running
        if running is None:
            return
        if isinstance(reply, AttemptForked):
            running.pid = reply.pid
        elif isinstance(reply, AttemptExited):
            running.exited = reply
        elif running.exited is None:  # the fork server exited, and the kernel killed the attempt
            running.kill = running.kill or Kill(Cause.INFRASTRUCTURE)
            running.exited = AttemptExited(running.pid, -signal.SIGKILL, reply.orphans)
        self._changes.notify()

    async def _replace_fork_server(self) -> None:
        """Start the fork server that is up to date; while an attempt runs, the next one does."""
        async with self._command_lock:
            if self._running is None:
                await self.fork_servers.current.ready()

    def _end_of(self, running: RunningAttempt) -> Ended:
        exited = running.exited
        assert exited is not None
        killed = exited.exit_code == -signal.SIGKILL
        out_of_memory = killed and attempt_resource_usage.oom_kills(self.oom_counter) != running.oom_kills
        return attempt_end_event.event_of(running, exited, out_of_memory=out_of_memory)

    async def _end_abandoned_attempts(self) -> None:
        """End the attempt if no scheduler calls: this machine may be cut off, and the attempt is repeated elsewhere.

        One task of the slot: a task for each attempt would outlive short attempts by its sleep.
        """
        while True:
            await asyncio.sleep(min(ABANDONED_CHECK_S, self._session.abandoned_s))
            running = self._running
            if self._session.is_abandoned and running is not None and running.exited is None and running.kill is None:
                reason = f"no scheduler has called for {self._session.abandoned_s:g} s"
                self._limits.kill(running, Kill(Cause.NODE_LOST, reason))

    # Events.

    def _emit(self, event: Event) -> None:
        prunable = self._running is not None and self._running.assignment.prunable
        urgent = isinstance(event, _URGENT) or (prunable and isinstance(event, Reported))
        self.events.add(shifted(event, self._files.clock_offset_s), urgent=urgent)
        self._changes.notify()

    def _acknowledge(self, number: int) -> None:
        """Events up to a number are in the database: files of attempts that have ended may be removed."""
        for acknowledged in self.events.acknowledge(number):
            ended = self._ended.pop(acknowledged, None)
            if ended is not None and self._files.has_files(ended.assignment, checkpoints=ended.counted):
                self._spawn(self._remove_files(ended))

    async def _remove_files(self, ended: _EndedAttempt) -> None:
        """Remove them when the next attempt has its own, which comes with the acknowledgement: both ask the agent."""
        await self._changes.wait_until(lambda: self._fetching is None, REMOVAL_DELAY_S)
        try:
            await self._files.remove(ended.assignment, checkpoints=ended.counted)
        except FilesError as error:
            log.warning("files of attempt %s stay on this node: %s", ended.assignment.key, error)

    def _refuse(
        self, key: AttemptKey, reason: str, cause: Cause = Cause.INFRASTRUCTURE, *, interrupted: bool = False
    ) -> None:
        self._emit(attempt_end_event.refused(key, reason, cause, interrupted=interrupted))

    def _spawn(self, coroutine: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._on_task_done)
        return task

    def _on_task_done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("a background task of the slot failed", exc_info=error)


@dataclass(frozen=True, slots=True)
class _Fetching:
    """An attempt whose files are on their way."""

    assignment: Assignment
    task: asyncio.Task[None]


@dataclass(frozen=True, slots=True)
class _EndedAttempt:
    """An attempt whose end is not acknowledged yet."""

    assignment: Assignment
    counted: bool  # its trial is over, and needs no checkpoint
