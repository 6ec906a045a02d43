"""Whether a process still runs, or is traced by a debugger; every process."""

from __future__ import annotations

from pathlib import Path


def is_running(pid: int) -> bool:
    """Whether a process exists and is not a zombie."""
    return _state(pid) not in ("", "Z", "X")


def is_traced(pid: int) -> bool:
    """Whether a debugger is attached to the main thread of a process."""
    try:
        status = Path(f"/proc/{pid}/status").read_text(errors="replace")
    except OSError:
        return False
    tracers = [line.partition(":")[2].strip() for line in status.splitlines() if line.startswith("TracerPid:")]
    return tracers not in ([], ["0"])


def _state(pid: int) -> str:
    """The letter of the state of a process; "" if there is none."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()[0]
    except OSError:
        return ""
