"""Takes the free memory between the objects of the imports, so that later objects are close together; process template.

The imports leave thousands of free blocks. Forked processes would create their first objects in these, and copy a page
for each of them.
"""

from __future__ import annotations

import gc
import itertools
from collections.abc import Callable

_ALIGNMENT = 16  # of Python's allocator, which has a list of free blocks for each multiple
_MAX_BLOCK = 512
_BYTES_HEADER = 33  # of a `bytes` object, with the zero at its end
_POOL_BYTES, _POOL_HEADER = 16 << 10, 48  # blocks of one size
_ARENA_POOLS = 64
_MAX_POOLS = 8 * _ARENA_POOLS  # more are not free
_kept: list[object] = []


def fill_free_memory() -> None:
    """Take the free blocks of Python's allocator, which are not returned."""
    gc.collect()  # returns the objects that the interpreter keeps for reuse
    _fill_pools()
    for _ in range(2):  # the first time also uses free blocks for its own objects, which it returns
        for size in range(_ALIGNMENT, _MAX_BLOCK + 1, _ALIGNMENT):
            _fill_blocks(size)
        gc.collect()


def _fill_pools() -> None:
    """Create objects until there is no free pool, and they have filled an arena that had no others."""
    create = _creator(_MAX_BLOCK)
    blocks = (_POOL_BYTES - _POOL_HEADER) // _MAX_BLOCK
    last = adjacent = 0
    for _ in range(_MAX_POOLS):
        objects: list[object] = [None] * blocks  # in one piece
        for index in range(blocks):
            objects[index] = create()
        _kept.extend(objects)
        pool = id(objects[-1]) // _POOL_BYTES
        adjacent = adjacent + 1 if pool == last + 1 else 0
        if adjacent == _ARENA_POOLS - 2:
            return
        last = pool


def _fill_blocks(size: int) -> None:
    """Create objects until they have filled a pool that had no others."""
    create = _creator(size)
    blocks = (_POOL_BYTES - _POOL_HEADER) // size
    for _ in range(_MAX_POOLS):
        objects: list[object] = [None] * (2 * blocks)  # in one piece
        for index in range(len(objects)):
            objects[index] = create()
        if _longest_run(objects, size) >= blocks:
            _kept.extend(objects[:-blocks])
            return
        _kept.extend(objects)


def _longest_run(objects: list[object], size: int) -> int:
    """The most objects that follow each other in memory."""
    longest = run = 1
    for first, second in itertools.pairwise(objects):
        run = run + 1 if id(second) == id(first) + size else 1
        longest = max(longest, run)
    return longest


def _creator(size: int) -> Callable[[], object]:
    """A function that creates an object of a size, without memory of other sizes."""
    if size == _ALIGNMENT:
        return object
    if size == 2 * _ALIGNMENT:
        return itertools.count(1 << 30).__next__  # integers of 28 bytes
    length = size - _BYTES_HEADER
    return lambda: bytes(length)
