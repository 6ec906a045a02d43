"""A secret is withdrawn from the environment of a process and of those that it starts or forks."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import os, subprocess
from podium.sweep.runtime.secret_variable_removal import withdraw
print(withdraw("SECRET"), withdraw("SECRET") == "", withdraw("MISSING") == "", flush=True)
child = os.fork()
shown = open("/proc/self/environ", "rb").read()
print(b"sesame" in shown, b"OTHER=kept" in shown, "SECRET" in os.environ, flush=True)
if child == 0:
    os._exit(0)
os.waitpid(child, 0)
print(subprocess.run(["env"], capture_output=True, text=True).stdout.count("sesame"))
"""


def test_withdrawn_variable_is_nowhere_in_the_environment() -> None:
    environment = {"SECRET": "sesame-\N{LATIN SMALL LETTER O WITH DIAERESIS}ffne", "OTHER": "kept", "LC_ALL": "C.UTF-8"}
    done = subprocess.run(
        [sys.executable, "-P", "-c", PROGRAM], env=environment, capture_output=True, text=True, check=True
    )

    assert done.stdout.splitlines() == [
        f"{environment['SECRET']} True True",
        "False True False",
        "False True False",
        "0",
    ]
