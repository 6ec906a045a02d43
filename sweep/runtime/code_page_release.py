"""Unmaps the pages of libraries' code that a process has executed; process template.

The imports execute much code once: the template maps 70 MB of it, which no process that is forked from it inherits. The
kernel keeps the pages in its cache while there is memory, and maps those again that are executed again.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Iterator
from pathlib import Path

_MADV_DONTNEED = 4
_MAPPING = re.compile(r"([0-9a-f]+)-([0-9a-f]+) (\S+) \S+ \S+ \S+ *(.*)")
_UNCHANGED = re.compile(r"Anonymous: +0 kB")
_libc = ctypes.CDLL(None, use_errno=True)
_libc.madvise.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)


def release_code_pages() -> None:
    """Unmap the pages of all files that are mapped as code, unless this process has changed some of their pages."""
    for first, end in _unchanged_code():
        _libc.madvise(first, end - first, _MADV_DONTNEED)  # failures leave the range unchanged


def _unchanged_code() -> Iterator[tuple[int, int]]:
    """The address ranges of files that are mapped as code, without those that have pages of this process."""
    code: tuple[int, int] | None = None
    for line in Path("/proc/self/smaps").read_text().splitlines():
        if mapping := _MAPPING.fullmatch(line):
            is_code = mapping[3] == "r-xp" and mapping[4].startswith("/")
            code = (int(mapping[1], 16), int(mapping[2], 16)) if is_code else None
        elif code is not None and _UNCHANGED.match(line):
            yield code
