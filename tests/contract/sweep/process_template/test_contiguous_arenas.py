"""The memory of Python's objects in one piece, in a process of its own: the address space of the tests is in use."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

COUNT = 12
MIB = 1 << 20
HUGE_PAGE_BYTES = 2 * MIB
_PROGRAM = f"""
import json, numpy, resource, sys
from podium.sweep.process_template import contiguous_arenas

def mappings():
    found = []
    for line in open("/proc/self/maps"):
        addresses, permissions, *rest = line.split()
        if len(rest) < 4:
            first, _, end = addresses.partition("-")
            found.append([int(first, 16), int(end, 16), permissions])
    return found

before = mappings()
if len(sys.argv) > 1:
    pages = int(open("/proc/self/statm").read().split()[0])
    limit_bytes = pages * resource.getpagesize() + int(sys.argv[1])
    resource.setrlimit(resource.RLIMIT_AS, (limit_bytes, resource.RLIM_INFINITY))
try:
    contiguous_arenas.map_arenas({COUNT})
    error = ""
except OSError as raised:
    error = str(raised)
mapped = mappings()
resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
objects = [bytes(400) for _ in range({COUNT - 2} * 2400)]
print(json.dumps([before, mapped, mappings(), error]))
"""


def run(*left_bytes: int) -> Any:
    """The anonymous mappings before, with the arenas, and with objects in these; and the error.

    `left_bytes`: of the address space, if that is limited.
    """
    return _result_of([sys.executable, "-c", _PROGRAM, *map(str, left_bytes)])


def _result_of(command: list[str]) -> Any:
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, timeout=60).stdout)


def total(mappings: list[Any], permissions: str) -> int:
    return sum(end - first for first, end, allowed in mappings if allowed == permissions)


def test_arenas_are_one_mapping_which_later_objects_fill() -> None:
    before, mapped, filled, error = run()
    assert error == ""
    new = [each for each in mapped if each not in before and each[1] - each[0] >= COUNT * MIB]
    assert len(new) == 1 and new[0][2] == "rw-p"
    assert new[0][1] % HUGE_PAGE_BYTES == 0, "it ends at the boundary of a huge page"
    assert total(mapped, "rw-p") - total(before, "rw-p") <= (COUNT + 2) * MIB, "the gaps are free again"
    grown = total(filled, "rw-p") - total(mapped, "rw-p")
    assert grown <= 2 * MIB, f"{COUNT - 2} MiB of objects are where the arenas are"


def test_limited_address_space_is_an_error_that_takes_no_memory() -> None:
    before, mapped, _, error = run(3 * MIB // 2)
    assert "Cannot allocate memory" in error
    assert total(mapped, "rw-p") - total(before, "rw-p") < MIB


def test_kernel_that_maps_upwards_is_an_error() -> None:
    upwards = ["setarch", "--addr-compat-layout"]
    try:
        before, mapped, _, error = _result_of([*upwards, sys.executable, "-c", _PROGRAM])
    except (FileNotFoundError, subprocess.CalledProcessError):
        pytest.skip("this machine has no setarch, or does not permit it")
    assert "not below each other" in error
    assert total(mapped, "rw-p") - total(before, "rw-p") < MIB
