"""The standard streams and the log of a fork server whose template could not open them."""

from __future__ import annotations

import subprocess
import sys

_PROGRAM = """
import logging, sys
from podium.sweep.trial_process import attempt_runner

attempt_runner.prepare()
print([stream.seekable() for stream in (sys.stdout, sys.stderr)], repr(sys.stdin.read()), "\\udcff")
logging.getLogger("some.package").info("shown")
"""


def test_fork_server_opens_the_streams_of_attempts() -> None:
    command = [sys.executable, "-c", _PROGRAM]
    run = subprocess.run(command, input="not read", capture_output=True, text=True, check=True, timeout=120)
    assert run.stdout == "[False, False] '' \\udcff\n"
    assert run.stderr == "INFO:some.package:shown\n"
