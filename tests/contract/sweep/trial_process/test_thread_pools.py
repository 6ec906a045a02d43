"""Both thread pools of torch have the number of threads of the trial; user code may set them again without an error."""

from __future__ import annotations

import subprocess
import sys

import pytest

SET = "import torch; from podium.sweep.trial_process.thread_pools import set_thread_pools; set_thread_pools(3)"
SHOW = "print(torch.get_num_threads(), torch.get_num_interop_threads())"


@pytest.mark.parametrize(
    ("before", "after", "shown", "said"),
    [
        ("", "", "3 3", ""),
        ("", "torch.set_num_interop_threads(3)", "3 3", ""),
        ("", "torch.set_num_interop_threads(1)", "3 3", "(1) has no effect: resources.threads has set 3"),
        ("import torch; torch.set_num_interop_threads(2)", "", "3 2", ""),  # by a preloaded package
        ("", "torch.set_num_threads(1)", "1 3", ""),
    ],
)
def test_pools(before: str, after: str, shown: str, said: str) -> None:
    code = "\n".join([before, SET, after, SHOW])
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.split() == shown.split()
    assert said in done.stderr and bool(done.stderr) == bool(said)
