"""Check that no process that uses a folder is left: `check_processes.py FOLDER`; Linux, run by .ci/run.

A process uses the folder if its command line, its environment or its working directory contains the path. Processes
that are just ending get a few seconds. Exits with 1 and prints one line for each remaining process.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

GRACE_S = 5.0


def main() -> int:
    """Wait for processes that are ending, then print the remaining ones."""
    folder = sys.argv[1]
    end = time.monotonic() + GRACE_S
    while (left := mentioning(folder)) and time.monotonic() < end:
        time.sleep(0.1)
    for pid, command in left.items():
        print(f"process {pid} is still running: {command}", file=sys.stderr)
    if left:
        return 1
    print("no process is still running")
    return 0


def mentioning(folder: str) -> dict[int, str]:
    """The running processes that use the folder, except this one and its ancestors: pid to command."""
    mine = ancestors()
    found = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) not in mine and mentions(entry, folder):
            found[int(entry.name)] = command(entry)
    return found


def mentions(process: Path, folder: str) -> bool:
    try:
        if folder in str((process / "cwd").readlink()):
            return True
        needle = folder.encode()
        return needle in (process / "cmdline").read_bytes() or needle in (process / "environ").read_bytes()
    except OSError:  # it ended, or belongs to another user
        return False


def command(process: Path) -> str:
    try:
        return (process / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
    except OSError:
        return "(ended meanwhile)"


def ancestors() -> set[int]:
    """This process and its ancestors."""
    found: set[int] = set()
    pid = os.getpid()
    while pid > 0 and pid not in found:
        found.add(pid)
        pid = parent(pid)
    return found


def parent(pid: int) -> int:
    try:
        status = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return 0
    return int(status.rpartition(")")[2].split()[1])


if __name__ == "__main__":
    sys.exit(main())
