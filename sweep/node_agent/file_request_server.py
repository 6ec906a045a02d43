"""Answers the requests of the slots of a node for files, in one thread per request; node agent."""

from __future__ import annotations

import contextlib
import logging
import secrets
import socketserver
import threading
import time
from collections.abc import Callable
from pathlib import Path

from podium.sweep.file_store.head_and_object_store import NodeFileStore
from podium.sweep.file_store.https_store import HeadFileStore
from podium.sweep.node_agent import file_uploads
from podium.sweep.node_agent.attempt_leftovers_report import Left, LeftoverFiles
from podium.sweep.node_agent.file_downloads import FileDownloads
from podium.sweep.node_agent.file_uploads import CHECK_INTERVAL_S, FileUploads
from podium.sweep.protocol.slot_to_node_agent_messages import (
    AgentReply,
    AgentRequest,
    FetchFiles,
    FilesFailed,
    FilesReady,
    RemoveFiles,
    SendFiles,
    decode_request,
    encode_reply,
)
from podium.sweep.runtime.attempt_directory import AttemptDirectory
from podium.sweep.runtime.disk_full_cause import ON_DATA_DISK
from podium.sweep.runtime.incremental_file_removal import finish, removal_steps
from podium.sweep.runtime.layout import DataDirectory
from podium.sweep.values.attempt_assignment import Assignment, AttemptKey
from podium.sweep.values.errors import BundleError, DataError, PodiumError
from podium.sweep.values.failure_cause_detection import disk_is_full
from podium.sweep.values.failure_causes import Cause

DATASET_S = 1800.0  # for the head to read a data set
LEFTOVERS_S = 10.0  # between two searches for leftovers
MAX_MESSAGE = 2000  # characters of a reason
log = logging.getLogger("podium.node_agent")


class NodeAgent:
    """The files of the attempts that run on this node."""

    def __init__(
        self,
        head: HeadFileStore,
        data: DataDirectory,
        clock_offset_s: Callable[[], float | None],
        *,
        store: NodeFileStore | None = None,
        check_interval_s: float = CHECK_INTERVAL_S,
    ) -> None:
        """The agent of a node.

        Args:
            head: The files of the head: logs, and without a `store` all others.
            data: The data directory of this node.
            clock_offset_s: Returns the time of the head minus the time of this node; None before it is known.
            store: The files of attempts, without their logs.
            check_interval_s: Seconds between two checks of what an attempt has written.
        """
        self._head = head
        self._store = store = store or head
        self._data = data
        self._clock_offset_s = clock_offset_s
        self._check_interval_s = check_interval_s
        self.fetched = FileDownloads(store, data, self._dataset_keys)
        self._lock = threading.Lock()
        self._attempts: dict[tuple[AttemptKey, int], FileUploads] = {}  # by attempt and rank
        self._fetching: list[str] = []  # the folders of trials
        self._left_files = LeftoverFiles(data)
        data.outbox.mkdir(mode=0o700, exist_ok=True)
        finish(removal_steps(data.outbox.iterdir()))

    def handle(self, request: AgentRequest) -> AgentReply:
        """Do what a slot asks for."""
        try:
            if isinstance(request, FetchFiles):
                self._fetch(request.assignment)
            elif isinstance(request, SendFiles):
                self._of(request.assignment).send_all(checkpoints=request.checkpoints)
            else:
                self._remove(request)
        except (BundleError, DataError) as error:
            return FilesFailed(str(error)[:MAX_MESSAGE], Cause.USER_ERROR)
        except (PodiumError, OSError) as error:
            if disk_is_full(error):  # of this node: the head's is tried again
                return FilesFailed(f"{ON_DATA_DISK} of this node: {error}", Cause.DISK_FULL)
            return FilesFailed(str(error)[:MAX_MESSAGE], Cause.INFRASTRUCTURE)
        return FilesReady(self._clock_offset_s())

    def close(self) -> None:
        """Send nothing more."""
        with self._lock:
            attempts, self._attempts = self._attempts, {}
        for sending in attempts.values():
            sending.close()

    @property
    def waiting(self) -> int:
        """The number of attempts that run, or whose end is not recorded."""
        return len(self._attempts)

    @property
    def left(self) -> Left:
        """What `remove_leftovers` could not remove; it ends no processes."""
        return self._left_files.left

    def remove_leftovers(self) -> None:
        """Remove what a slot that died has left here, and a trial that has continued elsewhere.

        The folder of a trial stays while one of its attempts may run here: it reads the checkpoints of earlier ones.
        Raises `FileStoreError`.
        """
        processes = self._left_files.processes()
        with self._lock:
            known = {each.folder for each in self._attempts.values()}  # one that never started has no folder
        here = {self._data.relative(path) for path in self._data.trials.glob("*/*/*")}
        folders = sorted(here | known | set(processes.values()))
        over: set[str] = set()
        if folders:
            answer = self._head.ask("POST", "attempts/over", json={"folders": folders}, patience_s=0.0)
            over = set(answer["over"])
        with self._lock:
            ended = [self._attempts.pop(key) for key, each in list(self._attempts.items()) if each.folder in over]
            used = self._used_trials() | {_trial(folder) for folder in folders if folder not in over}
            removed = [self._moved(self._data.root / trial) for trial in {_trial(folder) for folder in over} - used]
        self._left_files.record(over, used, processes)
        for sending in ended:
            sending.close()
        finish(removal_steps(path for path in removed if path is not None))

    def follow_leftovers(self, *, interval_s: float = LEFTOVERS_S) -> None:
        """Remove leftovers, again and again."""
        while True:
            time.sleep(interval_s)
            try:
                self.remove_leftovers()
            except (PodiumError, OSError) as error:
                log.info("cannot remove leftovers, trying again: %s", error)

    def _fetch(self, assignment: Assignment) -> None:
        trial = _trial(self._data.relative(Path(assignment.directory)))
        with self._lock:
            self._fetching.append(trial)
        try:
            self.fetched.fetch(assignment)
            self._of(assignment)
        finally:
            with self._lock:
                self._fetching.remove(trial)

    def _of(self, assignment: Assignment) -> FileUploads:
        """Also after a restart of the agent, which does not know the attempts that run."""
        with self._lock:
            key = (assignment.key, assignment.rank)
            if key not in self._attempts:
                sending = FileUploads(
                    self._head, self._store, self._data, assignment, check_interval_s=self._check_interval_s
                )
                self._attempts[key] = sending
                sending.start()
            return self._attempts[key]

    def _remove(self, request: RemoveFiles) -> None:
        with self._lock:
            sending = self._attempts.pop((request.assignment.key, request.assignment.rank), None)
        if sending is not None:
            sending.close()
        directory = AttemptDirectory(Path(request.assignment.directory))
        with self._lock:
            # The next attempt of the trial may read a checkpoint here; later, the folder is a leftover.
            used = _trial(self._data.relative(directory.root)) in self._used_trials()
            removed = None if used else self._moved(directory.root)
        if removed is not None:
            finish(removal_steps([removed]))  # everything has been sent
        if request.checkpoints:
            file_uploads.remove_checkpoints(self._store, self._data, directory)

    def _used_trials(self) -> set[str]:
        return {*self._fetching, *(_trial(each.folder) for each in self._attempts.values())}

    def _moved(self, folder: Path) -> Path | None:
        """Move a folder out of the way, to be removed without the lock; None if it does not exist."""
        target = self._data.outbox / f".{secrets.token_hex(8)}.tmp"
        try:
            folder.rename(target)
        except OSError:
            return None
        with contextlib.suppress(OSError):  # a folder that is not empty
            for parent in folder.parents:
                if parent == self._data.trials:
                    break
                parent.rmdir()
        return target

    def _dataset_keys(self, sweep_id: int) -> list[str]:
        answer = self._head.ask("POST", "datasets", json={"sweep_id": sweep_id}, patience_s=DATASET_S)
        return [str(key) for key in answer["keys"]]


def _trial(folder: str) -> str:
    """The key of the folder of a trial, which contains the folders of its attempts."""
    return str(Path(folder).parent)


class AgentServer(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    """Listens for slots."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, socket: Path, agent: NodeAgent) -> None:
        socket.unlink(missing_ok=True)
        self.agent = agent
        super().__init__(str(socket), _Handler)


class _Handler(socketserver.StreamRequestHandler):
    server: AgentServer

    def handle(self) -> None:
        try:
            reply = self.server.agent.handle(decode_request(self.rfile.readline()))
        except Exception as error:  # any error: a slot waits for a reply
            log.exception("a request of a slot failed")
            reply = FilesFailed(f"{type(error).__name__}: {error}", Cause.INFRASTRUCTURE)
        with contextlib.suppress(OSError):  # the slot has withdrawn its request
            self.wfile.write(encode_reply(reply))
