"""Has Python's allocator map its memory in one piece, before the imports need it; process template.

Python maps its memory in arenas of 1 MiB. The kernel places each in a gap between the libraries that are loaded by
then, where it cannot become part of a huge page of 2 MiB: every fork and exit would process its 256 pages one by one.
"""

from __future__ import annotations

import ctypes
import mmap
from collections.abc import Iterator
from contextlib import contextmanager

_ARENA_BYTES = 1 << 20
_HUGE_PAGE_BYTES = 2 << 20
_ADJACENT = 3  # mappings below each other: there are no more gaps above
_BLOCK = 512 - 33  # a `bytes` object of this length takes the largest block that the allocator does not pass on
_BLOCKS = 63 * 31  # of this size in an arena, at least
_MAX_MAPPINGS = 256  # a process has a few gaps of this size, unless the kernel maps upwards
_kept: list[bytes] = []  # an object in each arena, so that none is returned to the kernel


def map_arenas(count: int) -> None:
    """Have this number of arenas mapped below each other, for objects that are created later.

    Raises `OSError` or `MemoryError` if the address space is limited, or not used from its upper end.
    """
    blocks = [b""] * (count * _BLOCKS)  # in one piece: a list that grows would be mapped in between
    with _gaps_filled():
        for index in range(len(blocks)):
            blocks[index] = bytes(_BLOCK)
    _kept.extend(blocks[::_BLOCKS])


@contextmanager
def _gaps_filled() -> Iterator[None]:
    """The gaps in the address space are taken, and the next mapping ends at the boundary of a huge page."""
    taken: list[mmap.mmap] = []
    try:
        above, adjacent = 0, 0
        while adjacent < _ADJACENT:
            if len(taken) == _MAX_MAPPINGS:
                raise OSError(f"{_MAX_MAPPINGS} mappings are not below each other")
            taken.append(_mapping(_ARENA_BYTES))
            address = _address(taken[-1])
            adjacent = adjacent + 1 if address + _ARENA_BYTES == above else 0
            above = address
        if rest := above % _HUGE_PAGE_BYTES:
            taken.append(_mapping(rest))
        yield
    finally:
        for mapping in taken:
            mapping.close()


def _mapping(length: int) -> mmap.mmap:
    return mmap.mmap(-1, length, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)


def _address(mapping: mmap.mmap) -> int:
    return ctypes.addressof(ctypes.c_char.from_buffer(mapping))
