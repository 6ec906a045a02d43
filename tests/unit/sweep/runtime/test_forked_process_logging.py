"""Logging of forked processes: one handler, from INFO; and the streams of a fork server whose template has none."""

from __future__ import annotations

import subprocess
import sys

_LOGGING = """
import logging, sys
from podium.sweep.runtime import forked_process_logging

forked_process_logging.set_level()
assert logging.getLogger().level == logging.INFO and not logging.getLogger().handlers
logging.getLogger().addHandler(logging.NullHandler())  # of an imported package
forked_process_logging.log_to(forked_process_logging.handler_of("%(levelname)s %(name)s %(message)s"))
logging.getLogger("some.package").info("shown")
logging.getLogger("some.package").debug("not shown")
logging.getLogger().setLevel(logging.ERROR)
forked_process_logging.log_to(forked_process_logging.handler_of("%(message)s"))
logging.getLogger("some.package").info("also shown")
"""
_STREAMS = """
import logging, sys
from podium.sweep.trial_process import attempt_runner

attempt_runner.prepare()
print([stream.seekable() for stream in (sys.stdout, sys.stderr)], repr(sys.stdin.read()), "\\udcff")
logging.getLogger("some.package").info("shown")
"""


def errors_of(program: str) -> tuple[str, str]:
    """What a program prints to its standard output and to its standard error."""
    run = subprocess.run(
        [sys.executable, "-c", program], input="not read", capture_output=True, text=True, check=True, timeout=120
    )
    return run.stdout, run.stderr


def test_log_has_one_handler_and_starts_at_info() -> None:
    assert errors_of(_LOGGING) == ("", "INFO some.package shown\nalso shown\n")


def test_fork_server_opens_the_streams_that_its_template_could_not() -> None:
    printed, logged = errors_of(_STREAMS)
    assert printed == "[False, False] '' \\udcff\n"
    assert logged == "INFO:some.package:shown\n"
