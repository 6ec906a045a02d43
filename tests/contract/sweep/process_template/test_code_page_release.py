"""Pages of code are unmapped, and the code still runs; in a process of its own, which executes little."""

from __future__ import annotations

import json
import subprocess
import sys

_PROGRAM = """
import ctypes, json, math, mmap, numpy, re
from pathlib import Path
from podium.sweep.runtime.code_page_release import release_code_pages

def code_kb(name):
    found = 0
    for mapping in re.split(r"(?m)^(?=[0-9a-f]+-[0-9a-f]+ )", Path("/proc/self/smaps").read_text()):
        if re.match(r"\\S+ r-xp .*" + name, mapping):
            found += int(re.search(r"Rss: +(\\d+) kB", mapping)[1])
    return found

def change(path):  # code with a page of this process, as a hook of a function makes one
    with open(path, "rb") as file:
        mapped = mmap.mmap(file.fileno(), 0, flags=mmap.MAP_PRIVATE, prot=mmap.PROT_READ | mmap.PROT_WRITE)
    mapped[0] = 7
    address = ctypes.addressof(ctypes.c_char.from_buffer(mapped))
    libc = ctypes.CDLL(None, use_errno=True)
    assert libc.mprotect(ctypes.c_void_p(address), len(mapped), mmap.PROT_READ | mmap.PROT_EXEC) == 0
    return mapped, address

numpy.linalg.svd(numpy.ones((40, 40)))
mapped, address = change(numpy.__file__)
before = code_kb("openblas")
release_code_pages()
after = code_kb("openblas")
changed = ctypes.c_char.from_address(address).value[0]
print(json.dumps([before, after, changed, float(numpy.linalg.svd(numpy.ones((2, 2)))[1][0])]))
"""


def test_code_is_unmapped_unless_it_was_changed_and_runs_again() -> None:
    said = subprocess.run([sys.executable, "-c", _PROGRAM], check=True, stdout=subprocess.PIPE, timeout=60)
    before_kb, after_kb, changed, result = json.loads(said.stdout)
    assert before_kb > 500 and after_kb < before_kb / 4
    assert changed == 7, "a page that this process has changed is kept"
    assert abs(result - 2.0) < 1e-9
