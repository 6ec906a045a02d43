"""Both thread pools of torch have the number of threads of the trial; user code may set them again without an error."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass

import pytest

# Runs each program of the first argument in a forked process: torch accepts a number of interop threads only once.
FORKS = """
import json, os, sys, tempfile
import torch

def forked(program):
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        child = os.fork()
        if child == 0:
            os.dup2(output.fileno(), 1)
            os.dup2(errors.fileno(), 2)
            exec(program)
            sys.stdout.flush()
            os._exit(0)
        status = os.waitpid(child, 0)[1]
        return [status, *(os.pread(each.fileno(), 1 << 20, 0).decode() for each in (output, errors))]

print(json.dumps([forked(program) for program in json.loads(sys.argv[1])]))
"""
SET = "from podium.sweep.trial_process.thread_pools import set_thread_pools; set_thread_pools(3)"
SHOW = "print(torch.get_num_threads(), torch.get_num_interop_threads())"


@dataclass(frozen=True)
class Case:
    """What user code does before and after the pools are set, the sizes that it finds then, and a warning."""

    before: str = ""
    after: str = ""
    shown: str = "3 3"
    said: str = ""

    @property
    def program(self) -> str:
        return "\n".join(["import torch", self.before, SET, self.after, SHOW])


CASES = {
    "set": Case(),
    "same number again": Case(after="torch.set_num_interop_threads(3)"),
    "another number": Case(
        after="torch.set_num_interop_threads(1)", said="(1) has no effect: resources.threads has set 3"
    ),
    "by a preloaded package": Case(before="torch.set_num_interop_threads(2)", shown="3 2"),
    "other threads": Case(after="torch.set_num_threads(1)", shown="1 3"),
}


@pytest.fixture(scope="module")
def results() -> dict[str, tuple[int, str, str]]:
    """Exit status, output and errors of each case."""
    programs = json.dumps([case.program for case in CASES.values()])
    done = subprocess.run([sys.executable, "-c", FORKS, programs], capture_output=True, timeout=60, check=True)
    return {name: tuple(found) for name, found in zip(CASES, json.loads(done.stdout), strict=True)}


@pytest.mark.parametrize("name", CASES)
def test_pools(results: dict[str, tuple[int, str, str]], name: str) -> None:
    case = CASES[name]
    status, shown, said = results[name]
    assert (status, shown.split()) == (0, case.shown.split()), said
    assert case.said in said and bool(said) == bool(case.said)
