"""The files of a slot's attempts: here on the head, or carried to and from it by the agent of the node; slot."""

from __future__ import annotations

import asyncio
import os
import time
from pathlib import Path
from typing import Protocol

from podium.sweep.file_store import object_store_fetch_client
from podium.sweep.protocol.slot_to_node_agent_messages import (
    AgentRequest,
    FetchFiles,
    FilesFailed,
    FilesReady,
    RemoveFiles,
    SendFiles,
    decode_reply,
    encode_request,
)
from podium.sweep.runtime.attempt_directory import AttemptDirectory, attempt_of_folder
from podium.sweep.runtime.incremental_file_removal import finish, removal_steps
from podium.sweep.runtime.layout import DataDirectory
from podium.sweep.values.attempt_assignment import Assignment
from podium.sweep.values.errors import DamagedFileError, FileStoreError
from podium.sweep.values.failure_causes import Cause

RETRY_S = 0.5
FETCH_S = 3600.0  # for code, data and checkpoints
SEND_S = 600.0  # for the files of an attempt that has ended


class FilesError(Exception):
    """The files of an attempt could not be fetched or sent."""

    def __init__(self, message: str, cause: Cause = Cause.INFRASTRUCTURE) -> None:
        super().__init__(message)
        self.cause = cause


class AttemptFiles(Protocol):
    """Where the files of attempts come from and go to."""

    clock_offset_s: float  # time of the head minus time of this machine

    @property
    def is_local(self) -> bool:
        """Whether the files are where they belong, so that nothing is fetched or sent."""

    def fetches(self, assignment: Assignment) -> bool:
        """Whether something that an attempt needs may be missing here."""

    async def fetch(self, assignment: Assignment) -> None:
        """Fetch what an attempt needs. Raises `FilesError`."""

    def sends(self, assignment: Assignment) -> bool:
        """Whether an attempt that has ended has left something that must be sent."""

    async def send(self, assignment: Assignment, *, checkpoints: bool) -> None:
        """Send what an attempt has left. Raises `FilesError`."""

    def has_files(self, assignment: Assignment, *, checkpoints: bool) -> bool:
        """Whether there is something to remove when the end of an attempt is in the database."""

    async def remove(self, assignment: Assignment, *, checkpoints: bool) -> None:
        """The end of an attempt is in the database; `checkpoints`: whether its trial no longer needs any."""


class LocalFiles:
    """On the head, whose data directory has all files but those that nodes have sent to an object store."""

    clock_offset_s = 0.0
    is_local = True

    def __init__(self, data: DataDirectory, *, fetch_s: float = FETCH_S, retry_s: float = RETRY_S) -> None:
        """`fetch_s`: seconds that fetching may take; `retry_s`: between two tries."""
        self._data = data
        self._fetch_s, self._retry_s = fetch_s, retry_s

    def fetches(self, assignment: Assignment) -> bool:
        start = assignment.interval is not None and assignment.interval.checkpoint is not None
        return (assignment.attempt > 1 or start) and self._data.artifact_store.exists()

    async def fetch(self, assignment: Assignment) -> None:
        """An earlier attempt may have run on a node. Tried again while the store or its server is away."""
        end_s = time.monotonic() + self._fetch_s
        while True:
            try:
                await asyncio.to_thread(self._ensure_checkpoints, assignment)
                return
            except (FileStoreError, OSError) as error:
                if isinstance(error, DamagedFileError) or time.monotonic() + self._retry_s >= end_s:
                    raise FilesError(f"the checkpoint of an earlier attempt cannot be fetched: {error}") from error
            await asyncio.sleep(self._retry_s)

    def _ensure_checkpoints(self, assignment: Assignment) -> None:
        """Of the trial itself, and that which its interval starts from."""
        object_store_fetch_client.ensure_checkpoints(self._data, Path(assignment.directory), assignment.attempt)
        if assignment.interval is not None and assignment.interval.checkpoint is not None:
            folder = Path(assignment.interval.checkpoint)
            object_store_fetch_client.ensure_checkpoints(self._data, folder, attempt_of_folder(folder.name)[0] + 1)

    def sends(self, assignment: Assignment) -> bool:
        return False

    async def send(self, assignment: Assignment, *, checkpoints: bool) -> None:
        """Everything is in place."""

    def has_files(self, assignment: Assignment, *, checkpoints: bool) -> bool:
        return checkpoints and (bool(_checkpoints(assignment)) or self.fetches(assignment))

    async def remove(self, assignment: Assignment, *, checkpoints: bool) -> None:
        if not checkpoints:
            return
        await asyncio.to_thread(finish, removal_steps(_checkpoints(assignment)))
        if self.fetches(assignment):  # earlier attempts may have run on nodes
            folder = Path(assignment.directory)
            try:
                await asyncio.to_thread(object_store_fetch_client.remove_checkpoints, self._data, folder)
            except (FileStoreError, OSError) as error:
                raise FilesError(str(error)) from error


class AgentFiles:
    """On another machine: by requests to the agent, which are repeated while it is restarted."""

    is_local = False

    def __init__(
        self, socket: Path, *, fetch_s: float = FETCH_S, send_s: float = SEND_S, retry_s: float = RETRY_S
    ) -> None:
        """`fetch_s`, `send_s`: seconds that the requests may take; `retry_s`: between two tries."""
        self._socket = socket
        self._fetch_s, self._send_s, self._retry_s = fetch_s, send_s, retry_s
        self.clock_offset_s = 0.0

    def fetches(self, assignment: Assignment) -> bool:
        return True

    async def fetch(self, assignment: Assignment) -> None:
        await self._ask(FetchFiles(assignment), self._fetch_s)

    def sends(self, assignment: Assignment) -> bool:
        return _has_left_files(AttemptDirectory(Path(assignment.directory), assignment.rank))

    async def send(self, assignment: Assignment, *, checkpoints: bool) -> None:
        await self._ask(SendFiles(assignment, checkpoints), self._send_s)

    def has_files(self, assignment: Assignment, *, checkpoints: bool) -> bool:
        return True

    async def remove(self, assignment: Assignment, *, checkpoints: bool) -> None:
        await self._ask(RemoveFiles(assignment, checkpoints), self._send_s)

    async def _ask(self, request: AgentRequest, within_s: float) -> None:
        end_s = time.monotonic() + within_s
        while True:
            try:
                async with asyncio.timeout(max(0.0, end_s - time.monotonic())):
                    reply = await self._reply_to(request)
                break
            except (OSError, EOFError, ValueError) as error:  # the agent is being restarted; `TimeoutError` as well
                if time.monotonic() + self._retry_s >= end_s:
                    reason = f"{type(error).__name__}: {error}".removesuffix(": ")
                    raise FilesError(
                        f"the agent of this node did not answer within {within_s:g} s: {reason}"
                    ) from error
            await asyncio.sleep(self._retry_s)
        if isinstance(reply, FilesFailed):
            raise FilesError(reply.message, reply.cause)
        if reply.clock_offset_s is not None:
            self.clock_offset_s = reply.clock_offset_s

    async def _reply_to(self, request: AgentRequest) -> FilesReady | FilesFailed:
        reading, writing = await asyncio.open_unix_connection(str(self._socket))
        try:
            writing.write(encode_request(request))
            await writing.drain()
            line = await reading.readline()
            if not line.endswith(b"\n"):
                raise EOFError("it ended")
            return decode_reply(line)
        finally:
            writing.close()


def _has_left_files(directory: AttemptDirectory) -> bool:
    """Whether the folder of an attempt has more than an empty log, and folders that are being removed."""
    removed = (directory.work.name, directory.temporary.name)
    try:
        with os.scandir(directory.root) as entries:
            left = [entry for entry in entries if entry.name not in removed]
            return any(entry.name != directory.log.name or entry.stat().st_size for entry in left)
    except OSError:  # the agent determines what that means
        return True


def _checkpoints(assignment: Assignment) -> list[Path]:
    """The existing checkpoints of a trial, of all its attempts."""
    directory = AttemptDirectory(Path(assignment.directory))
    attempts = (directory, *directory.earlier(assignment.attempt))
    paths = [path for attempt in attempts for path in (attempt.checkpoint, attempt.checkpoint_folders)]
    return [path for path in paths if os.path.lexists(path)]
