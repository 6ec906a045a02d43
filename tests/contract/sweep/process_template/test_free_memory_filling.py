"""Where objects are created once the free blocks between others are taken, in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys

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
    return [pages_of(blobs), pages_of([object() for _ in range({COUNT})]), pages_of([1 << 29 for _ in range({COUNT})])]

kept = [bytes(length) for length in LENGTHS for _ in range(8000)]
del kept[::9]  # free blocks all over the memory
before = created()
peak_kb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
free_memory_filling.fill_free_memory()
taken_kb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - peak_kb
print(json.dumps([before, created(), taken_kb]))
"""


def test_later_objects_are_close_together() -> None:
    run = subprocess.run([sys.executable, "-c", _PROGRAM], check=True, stdout=subprocess.PIPE, timeout=60)
    scattered, together, taken_kb = json.loads(run.stdout)
    sizes = range(48, 513, 16)
    least = sum(-(-COUNT * size // PAGE_BYTES) for size in sizes)
    assert scattered[0] > 4 * least, "otherwise this test shows nothing"
    assert together[0] <= 2 * least  # a few objects of each size may be left of its last page
    assert together[1] <= 3 and together[2] <= 3
    assert taken_kb <= 6 << 10
