"""The patterns that find metrics in what a script prints; pure, api and trial process."""

from __future__ import annotations

import re
from collections.abc import Mapping

from sweep.errors import BadReportError

STEP = "step"  # the name, in `program.metrics` or of a group, by which a line says where the training is
MAX_PATTERN = 1000  # characters
MAX_WIDE_RANGES = 3  # each letter of a range may be looked up when a pattern is compiled: some 10 ms a range
MAX_LINE = 4096  # characters of a line that patterns are tried on
_WIDE_RANGE = re.compile(r"-(?:\\[uUN]|[^\x00-\xff])")
_AFTER_A_NUMBER = ".,;:%)"


def complaint_about_pattern(pattern: str) -> str | None:
    """What is wrong with a pattern of `program.metrics`, or None."""
    if len(pattern) > MAX_PATTERN:
        return f"a pattern has {MAX_PATTERN:,} characters at most"
    if len(_WIDE_RANGE.findall(pattern)) > MAX_WIDE_RANGES:
        return f"more than {MAX_WIDE_RANGES} ranges beyond Latin letters take long to compile; write . in their place"
    try:
        compiled = re.compile(pattern)
    except (re.error, RecursionError, OverflowError) as error:
        return f"not a regular expression: {error}"
    if not [group for group in range(1, compiled.groups + 1) if group != compiled.groupindex.get(STEP)]:
        return f"has no group for the value; write {pattern!r} with ([-+0-9.e]+) where the number stands"
    return None


class Patterns:
    """Finds the values in the lines of one script, and the step that they belong to.

    The first group of a pattern is the value, or the one that is called `value`. A group called `step` says the step
    of that line; a pattern called `step` says it for its line and all that follow. Without either, each metric counts
    its values from 0.
    """

    def __init__(self, patterns: Mapping[str, str]) -> None:
        self._step_pattern = re.compile(patterns[STEP]) if STEP in patterns else None
        self._patterns = {name: re.compile(text) for name, text in patterns.items() if name != STEP}
        self._step: int | None = None
        self._counts: dict[str, int] = {}

    def __bool__(self) -> bool:
        return bool(self._patterns)

    def found_in(self, line: str) -> list[tuple[int, str, float]]:
        """Step, metric and value of all that the line says. Raises `BadReportError` for what is no number."""
        line = line[:MAX_LINE]
        if self._step_pattern is not None and (match := self._step_pattern.search(line)) is not None:
            self._step = _whole(_value_in(match), line)
        found = []
        for name, pattern in self._patterns.items():
            match = pattern.search(line)
            if match is not None and (text := _value_in(match)) is not None:
                found.append((self._step_of(name, match, line), name, _number(name, text, line)))
        return found

    def _step_of(self, name: str, match: re.Match[str], line: str) -> int:
        count = self._counts[name] = self._counts.get(name, -1) + 1
        if (text := match.groupdict().get(STEP)) is not None:
            return _whole(text, line)
        return count if self._step is None else self._step


def _value_in(match: re.Match[str]) -> str | None:
    """The group called `value`, or the first that is not the step; None where it took no part in the match."""
    groups: dict[str, int] = dict(match.re.groupindex)
    if "value" in groups:
        return match["value"]
    position = next(group for group in range(1, match.re.groups + 1) if group != groups.get(STEP))
    text: str | None = match[position]
    return text


def _number(name: str, text: str, line: str) -> float:
    try:
        return float(text.strip().rstrip(_AFTER_A_NUMBER))
    except ValueError:
        message = f"program.metrics.{name} found {text!r:.60}, which is no number, in the line {line.strip()!r:.200}"
        raise BadReportError(message) from None


def _whole(text: str | None, line: str) -> int:
    try:
        step = float((text or "").strip().rstrip(_AFTER_A_NUMBER))
        if step >= 0 and step.is_integer():
            return int(step)
    except ValueError:
        pass
    raise BadReportError(f"a step is a whole number from 0, not {text!r:.60}, in the line {line.strip()!r:.200}")
