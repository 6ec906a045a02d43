"""Where objects are created once the free blocks between others are taken, in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import pytest

COUNT = 40
PAGE_BYTES = 4096
_PROGRAM = f"""
import json, resource, sys
from podium.sweep.process_template import free_memory_filling

LENGTHS = [each - 33 for each in range(48, 513, 16)]  # a `bytes` object has 33 bytes more

def pages_of(objects):
    return len({{id(each) // {PAGE_BYTES} for each in objects}})

def created():
    blobs = [bytes(length) for length in LENGTHS for _ in range({COUNT})]
    numbers = [BASE + each for each in range({COUNT})]
    return [pages_of(each) for each in (blobs, [object() for _ in range({COUNT})], numbers)]

def resident_kb():
    return int(open("/proc/self/statm").read().split()[1]) * resource.getpagesize() >> 10

BASE = int("2000000000")
kept = [bytes(length) for length in LENGTHS for _ in range(8000)]
del kept[::9]  # free blocks all over the memory
small = [[object() for _ in range(20000)], [BASE + each for each in range(20000)]]
for each in small:
    del each[::400]
before = created()
resident = resident_kb()
free_memory_filling.fill_free_memory()
print(json.dumps([before, created(), resident_kb() - resident]))
"""


def run(**environment: str) -> Any:
    """The pages with new objects before and after, and the memory that was taken, in kB."""
    command = [sys.executable, "-c", _PROGRAM]
    result = subprocess.run(command, check=True, stdout=subprocess.PIPE, timeout=120, env={**os.environ, **environment})
    return json.loads(result.stdout)


def test_later_objects_are_close_together() -> None:
    scattered, together, taken_kb = run()
    sizes = range(48, 513, 16)
    least = sum(-(-COUNT * size // PAGE_BYTES) for size in sizes)
    assert scattered[0] > 4 * least and min(scattered[1:]) > 6, "otherwise this test shows nothing"
    assert together[0] <= 2 * least  # a few objects of each size may be left of its last page
    assert together[1] <= 3 and together[2] <= 3
    assert taken_kb <= 8 << 10


@pytest.mark.parametrize("allocator", ["malloc", "debug", "malloc_debug"])
def test_other_allocators_take_no_memory(allocator: str) -> None:
    _, _, taken_kb = run(PYTHONMALLOC=allocator)
    assert taken_kb <= 32 << 10
