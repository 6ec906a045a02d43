"""Logging of forked processes: one handler, from INFO."""

from __future__ import annotations

import subprocess
import sys

_PROGRAM = """
import logging
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


def test_log_has_one_handler_and_starts_at_info() -> None:
    run = subprocess.run([sys.executable, "-c", _PROGRAM], capture_output=True, text=True, check=True, timeout=120)
    assert (run.stdout, run.stderr) == ("", "INFO some.package shown\nalso shown\n")
