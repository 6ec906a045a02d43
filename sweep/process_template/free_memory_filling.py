"""Takes the free memory between the objects of the imports, so that later objects are close together; process template.

The imports leave thousands of free blocks. Forked processes would create their first objects in these, and copy a page
for each of them.
"""

from __future__ import annotations

import gc
import itertools
from collections import deque
from collections.abc import Callable

_ALIGNMENT = 16  # of Python's allocator, which has a list of free blocks for each multiple
_MAX_BLOCK = 512
_BYTES_HEADER = 33  # of a `bytes` object, with the zero at its end
_POOL_BYTES, _POOL_HEADER = 16 << 10, 48  # blocks of one size
_ARENA_POOLS = 64
_MAX_POOLS = 8 * _ARENA_POOLS  # 8 MiB
_MAX_ROUNDS = 16  # of a size, with two pools each
_kept: list[object] = []


def fill_free_memory() -> None:
    """Take the free blocks of Python's allocator, which are not returned; nothing if that is another one.

    Raises `MemoryError`.
    """
    gc.collect()  # returns the objects that the interpreter keeps for reuse
    taken: list[object] = []
    if not _fill_pools(taken):
        return
    for _ in range(2):  # the first time also uses free blocks for its own objects, which it returns
        if not all(_fill_blocks(size, taken) for size in range(_ALIGNMENT, _MAX_BLOCK + 1, _ALIGNMENT)):
            return
        gc.collect()
    _kept.extend(taken)


def _fill_pools(taken: list[object]) -> bool:
    """Create objects until there is no free pool, and they have filled an arena that had no others, which is rare with
    an allocator that has no pools. Returns whether they have.
    """
    create = _creator(_MAX_BLOCK)
    blocks = _blocks(_MAX_BLOCK)
    last = adjacent = 0
    for _ in range(_MAX_POOLS):
        objects = _created(create, blocks)
        taken.extend(objects)
        if _longest_run(objects, _MAX_BLOCK) < blocks // 2:  # no pool, or one with others
            adjacent = 0
            continue
        pool = id(objects[-1]) // _POOL_BYTES
        adjacent = adjacent + 1 if pool == last + 1 else 0
        if adjacent == _ARENA_POOLS - 2:
            return True
        last = pool
    return False


def _fill_blocks(size: int, taken: list[object]) -> bool:
    """Create objects until they have filled a pool that had no others; whether they have."""
    create = _creator(size)
    blocks = _blocks(size)
    for _ in range(_MAX_ROUNDS):
        objects = _created(create, 2 * blocks)
        if _longest_run(objects, size) >= blocks:
            taken.extend(objects[:-blocks])
            return True
        taken.extend(objects)
    return False


def _blocks(size: int) -> int:
    """The number of blocks in a pool."""
    return (_POOL_BYTES - _POOL_HEADER) // size


def _created(create: Callable[[], object], count: int) -> list[object]:
    """This number of objects, and nothing in between: no index, and no part of a list that grows."""
    return [*deque(create() for _ in itertools.repeat(None, count))]  # a deque consists of large blocks


def _longest_run(objects: list[object], size: int) -> int:
    """The most objects that follow each other in memory."""
    longest = run = 1
    for first, second in itertools.pairwise(objects):
        run = run + 1 if id(second) == id(first) + size else 1
        longest = max(longest, run)
    return longest


def _creator(size: int) -> Callable[[], object]:
    """A function that creates an object of a size."""
    if size == _ALIGNMENT:
        return object
    if size == 2 * _ALIGNMENT:
        return itertools.count(1 << 30).__next__  # integers of two digits
    length = size - _BYTES_HEADER
    return lambda: bytes(length)
