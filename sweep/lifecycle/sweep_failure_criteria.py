"""When a sweep fails: too many consecutive failures, or the same error from the start. Pure; scheduler process."""

from __future__ import annotations

import re

from podium.sweep.spec.retries import Retries
from podium.sweep.values.failure_causes import Cause

# Causes that are likely to recur with any parameters. Divergence, memory and time limits depend on the parameters, so
# other trials may succeed; a lost slot or machine is a device fault.
PROGRAM_CAUSES = frozenset(
    {Cause.USER_ERROR, Cause.BAD_REPORT, Cause.EXITED, Cause.SIGNAL, Cause.START_TIMEOUT, Cause.DISK_FULL}
)
_MAX_NORMALIZED = 1000  # characters
_REPLACED = (
    (re.compile(r"(?<!\w)(?:'[^'\n]*'|\"[^\"\n]*\"|`[^`\n]*`)(?!\w)"), "<value>"),
    (re.compile(r"\b0x[0-9a-fA-F]+\b"), "<address>"),
    (re.compile(r"(?<![\w/])(?:\w:)?[.~]*/[^\s'\"`,;:()\[\]{}<>]+"), "<path>"),
    (re.compile(r"\b(?=[a-fA-F-]*\d)[0-9a-fA-F]{8}[0-9a-fA-F-]*\b"), "<id>"),
    (
        re.compile(r"(?<!\w)[-+]?(?:\d[\d_]*(?:,\d{3})*\.?\d*|\.\d+)(?:[eE][-+]?\d+)?|(?<!\w)[-+]?(?:nan|inf)\b"),
        "<number>",
    ),
    (re.compile(r"\s+"), " "),
)


class ConsecutiveFailures:
    """The failed trials of a sweep since the last counted one, in the order in which they ended."""

    def __init__(self, retries: Retries) -> None:
        self._retries = retries
        self.last = ""  # the cause and message of the last failed trial
        self.clear()

    def clear(self) -> None:
        """Reset the counters: a trial counted, or a client resumed the sweep."""
        self._in_a_row = 0
        self._identical = 0
        self._error: tuple[Cause | None, str] | None = None
        self._reported = False

    def record(self, cause: Cause | None, message: str, *, reported: bool) -> None:
        """Record a failed trial; `reported`: whether it had reported its metric before."""
        self._in_a_row += 1
        self.last = f"{cause}: {message}" if message else str(cause or "")
        error = (cause, normalized_error(message)) if message and cause in PROGRAM_CAUSES else None
        if error is None or error != self._error:
            self._identical, self._reported = 0, False
        self._error = error
        self._identical += error is not None
        self._reported |= reported

    def reason(self, *, counted: int, other_reports: bool) -> str:
        """Why the sweep must fail, or "" if it need not.

        `counted`: the number of finished and pruned trials. `other_reports`: whether a running trial has reported its
        metric, so that it may not hit the error of the others.
        """
        limit = self._retries.identical_failures
        waits = other_reports and not self._reported
        if limit is not None and not counted and self._identical >= limit and not waits:
            trials = "a trial" if self._identical == 1 else f"{self._identical} consecutive trials"
            same = "" if self._identical == 1 else " the same error"
            return f"no trial has finished, and {trials} failed with{same} {self.last}"
        if self._in_a_row >= self._retries.max_consecutive_failures:
            return f"{self._in_a_row} consecutive trials failed, the last one with {self.last}"
        return ""


def normalized_error(message: str) -> str:
    """The message without details that differ between trials: numbers, addresses, paths, quoted values."""
    text = message[: 4 * _MAX_NORMALIZED]
    for pattern, replacement in _REPLACED:
        text = pattern.sub(replacement, text)
    return text.strip()[:_MAX_NORMALIZED]
