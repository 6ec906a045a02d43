"""Runs a program of `db` in a separate process, which loads SQLAlchemy and Alembic; CLI and `podium serve`."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from podium.sweep.values.errors import DatabaseError


def run(program: str, *arguments: str | Path) -> dict[str, Any]:
    """The JSON output of `python -m podium.db.schema.PROGRAM ARGUMENTS`. Raises `DatabaseError` with its last line."""
    command = [sys.executable, "-P", "-m", f"podium.db.schema.{program}", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, umask=0o077)
    if done.returncode != 0:
        lines = done.stderr.strip().splitlines()
        raise DatabaseError(lines[-1] if lines else f"podium.db.schema.{program} exited with status {done.returncode}")
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer
