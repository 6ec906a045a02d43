"""The log of one attempt: the beginning and the end of its output, limited in size; slot.

The output of an attempt goes through a pipe to its slot, which writes the file. Only a trial that prints faster than
the slot reads is blocked.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from pathlib import Path

HEAD_BYTES = 256 << 10
_LINE_BYTES = 100  # for the line with the number of omitted bytes
_READ_BYTES = 64 << 10
_BURST_BYTES = 1 << 20  # read without a pause; limits the write rate to the disk
_PAUSE_S = 0.02


class TrialLog:
    """A file with the first 256 KB and the end of the output, consistent at all times.

    When the file reaches `limit_bytes`, it is replaced by a new file with the beginning, a line with the number of
    omitted bytes, and the last half of the rest. Nothing is held in memory.
    """

    def __init__(self, path: Path, limit_bytes: int) -> None:
        self._path = path
        self._limit = limit_bytes - _LINE_BYTES
        self._tail_at = min(HEAD_BYTES, self._limit // 2)  # offset of the retained end in the file
        self._head = self._tail_at
        self._omitted = 0
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o644)
        self._size = 0

    def write(self, content: bytes) -> None:
        """Append; on a full disk, the rest is lost and counted as omitted."""
        step = max(1, self._limit // 4)
        for start in range(0, len(content), step):
            self._append(content[start : start + step])

    def tail(self, length: int) -> str:
        """The last bytes as a string."""
        start = max(0, self._size - length)
        return os.pread(self._file, length, start).decode(errors="replace")

    def close(self) -> None:
        os.close(self._file)

    def _append(self, content: bytes) -> None:
        try:
            if self._size + len(content) > self._limit:
                self._shorten()
            written = os.pwrite(self._file, content, self._size)
        except OSError:
            written = 0
        self._size += written
        self._omitted += len(content) - written

    def _shorten(self) -> None:
        """Replace the file by one without the middle."""
        retain_at = self._size - (self._limit - self._head) // 2
        omitted = self._omitted + retain_at - self._tail_at
        line = b"\n[ %d bytes omitted ]\n" % omitted
        temporary = self._path.with_name(f".{self._path.name}.tmp")
        file = os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o644)
        try:
            _copy(self._file, 0, self._head, file)
            os.write(file, line)
            _copy(self._file, retain_at, self._size - retain_at, file)
            temporary.replace(self._path)
        except OSError:
            os.close(file)
            temporary.unlink(missing_ok=True)
            raise
        os.close(self._file)
        self._file, self._omitted = file, omitted
        self._tail_at = self._head + len(line)
        self._size = self._tail_at + self._size - retain_at


def _copy(source: int, start: int, length: int, target: int) -> None:
    while length:
        copied = os.sendfile(target, source, start, length)
        if copied == 0:
            raise OSError("the log became shorter")
        start, length = start + copied, length - copied


class LogPipe:
    """Writes the output of an attempt to its log; `writing` is the pipe's end for the process."""

    def __init__(self, log: TrialLog) -> None:
        self._log = log
        self._loop = asyncio.get_running_loop()
        self._reading, self.writing = os.pipe()
        os.set_blocking(self._reading, False)
        self._burst = 0
        self._pause: asyncio.TimerHandle | None = None
        self.received = 0  # bytes
        self._loop.add_reader(self._reading, self._read)

    def close_writing(self) -> None:
        """Close this process's copy of the write end, after the fork."""
        os.close(self.writing)

    def finish(self, tail_bytes: int) -> str:
        """Read the rest of the pipe and close the log; returns its end. To be called when no process writes."""
        self._loop.remove_reader(self._reading)
        if self._pause is not None:
            self._pause.cancel()
        with contextlib.suppress(BlockingIOError):
            while content := os.read(self._reading, _READ_BYTES):
                self._log.write(content)
        os.close(self._reading)
        tail = ""
        with contextlib.suppress(OSError):  # a disk error: the event of the end then has no log tail
            tail = self._log.tail(tail_bytes) if tail_bytes else ""
        with contextlib.suppress(OSError):
            self._log.close()
        return tail

    def _read(self) -> None:
        try:
            content = os.read(self._reading, _READ_BYTES)
        except BlockingIOError:
            return
        self._log.write(content)
        self.received += len(content)
        self._burst += len(content)
        if not content:
            self._loop.remove_reader(self._reading)
        elif self._burst >= _BURST_BYTES:
            self._loop.remove_reader(self._reading)
            self._pause = self._loop.call_later(_PAUSE_S, self._resume)

    def _resume(self) -> None:
        self._burst, self._pause = 0, None
        self._loop.add_reader(self._reading, self._read)
