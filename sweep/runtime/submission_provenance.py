"""The provenance of a submission: git commit of its code, and command line without secrets; CLI and api process."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from podium.sweep.values.errors import BadRequestError

HEADER = "Podium-Provenance"
MAX_HEADER = 16_000  # characters
GIT_S = 3.0  # timeout of all git commands together
MAX_WORDS, MAX_WORD = 50, 200
REDACTED = "[redacted]"
_NOT_CODE = [f":(top,exclude,glob)**/{name}/**" for name in ("podium-data", "__pycache__")]  # created by running code
_SECRET_NAME = re.compile(r"token|secret|password|passwd|credential|(?:api|access|private|auth)[-_]?key", re.IGNORECASE)
_URL_USER = re.compile(r"(?<=://)[^/@\s]+@")


class Provenance(BaseModel):
    """The provenance of a sweep, as stated by the client; all fields are optional."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    git_commit: str | None = Field(None, pattern="^[0-9a-f]{7,64}$")
    git_dirty: bool | None = None  # whether there are uncommitted changes
    command: list[str] = Field(default_factory=list, max_length=MAX_WORDS + 1)  # each word at most 200 characters

    def to_header(self) -> str:
        """A header value in ASCII; a long command line is truncated."""
        kept = self.model_dump(exclude_none=True)
        while len(text := json.dumps(kept)) > MAX_HEADER:
            kept["command"].pop()
        return text

    @classmethod
    def from_header(cls, text: str | None) -> Provenance | None:
        """The inverse. Raises `BadRequestError`."""
        if text is None:
            return None
        try:
            return cls.model_validate_json(text)
        except ValidationError as error:
            raise BadRequestError(f"{HEADER}: {error.errors()[0]['msg']}") from None


def provenance_of_document(document: Mapping[str, Any]) -> Provenance:
    """The provenance of a submission of this document by this process; see `provenance_of`."""
    program = document.get("program")
    code = program.get("code") if isinstance(program, Mapping) else None
    return provenance_of(None if code is None else Path(code))


def provenance_of(code: Path | None, argv: Sequence[str] | None = None, *, git_s: float = GIT_S) -> Provenance:
    """The provenance of a submission by this process with the code in a folder; never raises, bounded by `git_s`."""
    commit, dirty = (None, None) if code is None else _git(code, git_s)
    return Provenance(git_commit=commit, git_dirty=dirty, command=redact(sys.argv if argv is None else argv))


def redact(argv: Sequence[str]) -> list[str]:
    """The words of a command line, with the program's file name only and likely secrets redacted."""
    words = [Path(argv[0]).name, *argv[1:]] if argv else []
    shown: list[str] = []
    hide = False
    for word in words[:MAX_WORDS]:
        name, equals, _ = word.partition("=")
        secret = bool(_SECRET_NAME.search(name)) and (word.startswith("-") or bool(equals))
        if hide and not word.startswith("-"):
            shown.append(REDACTED)
        elif secret and equals:
            shown.append(f"{name}={REDACTED}")
        else:
            shown.append(_URL_USER.sub(f"{REDACTED}@", word))
        hide = secret and not equals
    shown = [word.encode(errors="replace").decode()[:MAX_WORD] for word in shown]
    return [*shown, "…"] if len(words) > MAX_WORDS else shown


def _git(folder: Path, timeout_s: float) -> tuple[str | None, bool | None]:
    """The checked-out commit, and whether there are uncommitted changes; None if unknown or after a timeout."""
    end_s = time.monotonic() + timeout_s
    commit = _git_output(folder, end_s, "rev-parse", "--verify", "HEAD")
    if commit is None or re.fullmatch(r"[0-9a-f]{7,64}", commit.strip()) is None:
        return None, None
    status = _git_output(folder, end_s, "status", "--porcelain", "--", ":(top)", *_NOT_CODE)
    return commit.strip(), None if status is None else bool(status.strip())


def _git_output(folder: Path, end_s: float, *arguments: str) -> str | None:
    """The output of a git command; None if it fails, times out or git is missing. Starts no file monitor."""
    command = ["git", "-c", "core.fsmonitor=false", "-C", str(folder), *arguments]
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            errors="replace",
            stdin=subprocess.DEVNULL,
            timeout=max(0.1, end_s - time.monotonic()),
            check=False,
            env={**os.environ, "GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"},
        )
    except (OSError, ValueError, subprocess.SubprocessError):
        return None
    return done.stdout if done.returncode == 0 else None
