"""Runs a program of `db` in a separate process, which loads SQLAlchemy and Alembic; CLI and `podium serve`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import IO, Any

from podium.api.serve.child_process import start_process
from podium.sweep.values.errors import DatabaseError

_CHECK_S = 0.1  # between two checks whether the service is stopping
_FOLDER = "podium.db."


def run(program: str, *arguments: str | Path) -> dict[str, Any]:
    """The JSON output of `python -m podium.db.PROGRAM ARGUMENTS`. Raises `DatabaseError` with its last line."""
    command = [sys.executable, "-P", "-m", f"{_FOLDER}{program}", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, umask=0o077)
    return _answer(program, done.returncode, done.stdout, done.stderr)


def run_reporting(program: str, *arguments: str | Path, say: Callable[[str], None]) -> dict[str, Any]:
    """The JSON output of `python -m podium.db.PROGRAM ARGUMENTS`, which reports its progress by lines.

    Raises `DatabaseError` with its last line.
    """
    command = [sys.executable, "-P", "-m", f"{_FOLDER}{program}", *map(str, arguments)]
    last = ""
    with (
        tempfile.TemporaryFile() as output,
        subprocess.Popen(command, stdout=output, stderr=subprocess.PIPE, text=True, umask=0o077) as process,
    ):
        assert process.stderr is not None
        for line in process.stderr:
            if last:
                say(last)
            last = line.strip()
        status = process.wait()
        if last and status <= 0:  # it ended without an error message, or was killed
            say(last)
        return _answer(program, status, _content(output), last if status > 0 else "")


class BackgroundProgram:
    """A program of `db` that `podium serve` forks, and that runs while this process does something else."""

    def __init__(self, program: str, *arguments: str | Path) -> None:
        self._program = program
        with ExitStack() as opened:
            nothing = opened.enter_context(Path(os.devnull).open("rb"))
            self._output = os.fdopen(os.memfd_create("output"), "r+b")
            self._errors = os.fdopen(os.memfd_create("errors"), "r+b")
            self._process = start_process(
                f"{_FOLDER}{program}",
                [str(argument) for argument in arguments],
                os.environ,
                (nothing.fileno(), self._output.fileno(), self._errors.fileno()),
            )

    def answer(self, is_stopping: Callable[[], bool]) -> dict[str, Any]:
        """Wait for its JSON output, or kill it if `is_stopping`. Raises `DatabaseError` with its last line."""
        with self._output, self._errors:
            while self._process.poll() is None:
                if is_stopping():
                    self._process.kill()
                with suppress(subprocess.TimeoutExpired):
                    self._process.wait(_CHECK_S)
            return _answer(self._program, self._process.wait(), _content(self._output), _content(self._errors))


def _answer(program: str, status: int, output: str, errors: str) -> dict[str, Any]:
    if status != 0:
        lines = errors.strip().splitlines()
        raise DatabaseError(lines[-1] if lines else f"{program} exited with status {status}")
    answer: dict[str, Any] = json.loads(output)
    return answer


def _content(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode(errors="replace")
