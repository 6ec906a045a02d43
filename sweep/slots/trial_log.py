"""The log of one attempt: what its processes print, its beginning and its end, within bounds; slot.

Everything that an attempt prints goes through a pipe to its slot, which alone writes the file. A trial that prints
faster than the slot reads waits; nobody else does.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from pathlib import Path

HEAD_BYTES = 256 << 10
_LINE_BYTES = 100  # room for the line that says what was left out
_READ_BYTES = 64 << 10
_BURST_BYTES = 1 << 20  # read in one go; then the reader rests, so that a flood wears out no disk
_REST_S = 0.02


class TrialLog:
    """A file with the first 256 KB and the end of what was written to it, whole at every moment.

    It grows to `limit_bytes`; then its middle goes: a new file with the beginning, a line that says how much was left
    out, and the last half of the rest takes its place. So nothing is held in memory, whatever is written.
    """

    def __init__(self, path: Path, limit_bytes: int) -> None:
        self._path = path
        self._limit = limit_bytes - _LINE_BYTES
        self._end_at = min(HEAD_BYTES, self._limit // 2)  # where the kept end begins in the file
        self._head = self._end_at
        self._left_out = 0
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o644)
        self._size = 0

    def write(self, content: bytes) -> None:
        """Append; on a full disk what does not fit is lost, and counted as left out."""
        step = max(1, self._limit // 4)
        for start in range(0, len(content), step):
            self._append(content[start : start + step])

    def tail(self, length: int) -> str:
        """The last bytes as text."""
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
        self._left_out += len(content) - written

    def _shorten(self) -> None:
        """Replace the file by one without its middle."""
        keep_at = self._size - (self._limit - self._head) // 2
        left_out = self._left_out + keep_at - self._end_at
        line = b"\n[ %d bytes were left out here ]\n" % left_out
        temporary = self._path.with_name(f".{self._path.name}.tmp")
        file = os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o644)
        try:
            _copy(self._file, 0, self._head, file)
            os.write(file, line)
            _copy(self._file, keep_at, self._size - keep_at, file)
            temporary.replace(self._path)
        except OSError:
            os.close(file)
            temporary.unlink(missing_ok=True)
            raise
        os.close(self._file)
        self._file, self._left_out = file, left_out
        self._end_at = self._head + len(line)
        self._size = self._end_at + self._size - keep_at


def _copy(source: int, start: int, length: int, target: int) -> None:
    while length:
        copied = os.sendfile(target, source, start, length)
        if copied == 0:
            raise OSError("the log became shorter")
        start, length = start + copied, length - copied


class LogPipe:
    """Reads what an attempt prints into its log; `writing` is the end for its process."""

    def __init__(self, log: TrialLog) -> None:
        self._log = log
        self._loop = asyncio.get_running_loop()
        self._reading, self.writing = os.pipe()
        os.set_blocking(self._reading, False)
        self._burst = 0
        self._rest: asyncio.TimerHandle | None = None
        self._loop.add_reader(self._reading, self._read)

    def close_writing(self) -> None:
        """The process has its own descriptor now."""
        os.close(self.writing)

    def finish(self, tail_bytes: int) -> str:
        """Read what is still in the pipe, now that nobody writes, and close the log; returns its end."""
        self._loop.remove_reader(self._reading)
        if self._rest is not None:
            self._rest.cancel()
        with contextlib.suppress(BlockingIOError):
            while content := os.read(self._reading, _READ_BYTES):
                self._log.write(content)
        os.close(self._reading)
        tail = ""
        with contextlib.suppress(OSError):  # the disk: how the attempt ended is told without its end then
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
        self._burst += len(content)
        if not content:
            self._loop.remove_reader(self._reading)
        elif self._burst >= _BURST_BYTES:
            self._loop.remove_reader(self._reading)
            self._rest = self._loop.call_later(_REST_S, self._go_on)

    def _go_on(self) -> None:
        self._burst, self._rest = 0, None
        self._loop.add_reader(self._reading, self._read)
