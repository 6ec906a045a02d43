"""Sets up what the process template has forked for the host: its log, its name, and its end; members, measurements."""

from __future__ import annotations

import os
import threading

from podium.sweep.runtime.process_title import name_process


def set_up(name: str, output: int, owner: int) -> None:
    """Write the standard streams to `output`, and exit at the end-of-file of `owner`: Ray's guardian has exited."""
    for standard in (1, 2):
        os.dup2(output, standard)
    os.close(output)
    name_process(name)
    threading.Thread(target=_exit_with, args=(owner,), name="owner", daemon=True).start()


def _exit_with(owner: int) -> None:
    os.read(owner, 1)
    os._exit(0)
