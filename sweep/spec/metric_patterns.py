"""The patterns that find metrics in what a script prints; pure, api and trial process."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import NoReturn

from podium.sweep.values.errors import BadReportError
from podium.sweep.values.number_patterns import AUTO, NUMBER, cut_number, expanded, passed_over, with_number

STEP = "step"  # the name, in `program.metrics` or of a group, by which a line says where the training is
MAX_PATTERN = 1000  # characters
MAX_WIDE_RANGES = 3  # each letter of a range may be looked up when a pattern is compiled: some 10 ms a range
MAX_LINE = 4096  # characters of a line that patterns are tried on
_WIDE_RANGE = re.compile(r"-(?:\\[uUN]|[^\x00-\xff])")
_AFTER_A_NUMBER = ".,;:%)"


def complaint_about_pattern(pattern: str) -> str | None:
    """What is wrong with a pattern of `program.metrics`, or None."""
    if pattern == AUTO:
        return None
    if len(pattern) > MAX_PATTERN:
        return f"a pattern has {MAX_PATTERN:,} characters at most"
    if len(_WIDE_RANGE.findall(pattern)) > MAX_WIDE_RANGES:
        return f"more than {MAX_WIDE_RANGES} ranges beyond Latin letters take long to compile; write . in their place"
    try:
        compiled = re.compile(expanded(pattern, ""))
    except (re.error, RecursionError, OverflowError) as error:
        return f"not a regular expression: {error}"
    if not [group for group in range(1, compiled.groups + 1) if group != compiled.groupindex.get(STEP)]:
        return f"has no group for the value; write {pattern!r} with {NUMBER} where the number stands, or {AUTO}"
    return None


class Patterns:
    """Finds the values in the lines of one script, and the step that they belong to.

    The first group of a pattern is the value, or the one that is called `value`. A group called `step` says the step
    of that line; a pattern called `step` says it for its line and all that follow. Without either, each metric counts
    its values from 0.
    """

    def __init__(self, patterns: Mapping[str, str]) -> None:
        self._step_pattern = re.compile(expanded(patterns[STEP], STEP)) if STEP in patterns else None
        self._patterns = {name: _Pattern(name, text) for name, text in patterns.items() if name != STEP}
        self._step: int | None = None
        self._counts: dict[str, int] = {}

    def __bool__(self) -> bool:
        return bool(self._patterns)

    def found_in(self, line: str) -> list[tuple[int, str, float]]:
        """Step, metric and value of all that the line says; a value may be NaN or an infinity.

        Raises `BadReportError` for what is no number, and for a part of one.
        """
        line = line[:MAX_LINE]
        if self._step_pattern is not None and (match := self._step_pattern.search(line)) is not None:
            self._step = _whole(_value_in(match), line)
        found = []
        for name, pattern in self._patterns.items():
            if (hit := pattern.found_in(line)) is not None:
                match, value = hit
                found.append((self._step_of(name, match, line), name, value))
        return found

    def _step_of(self, name: str, match: re.Match[str], line: str) -> int:
        count = self._counts[name] = self._counts.get(name, -1) + 1
        if (text := match.groupdict().get(STEP)) is not None:
            return _whole(text, line)
        return count if self._step is None else self._step


class _Pattern:
    """Finds the value of one metric in a line."""

    def __init__(self, name: str, text: str) -> None:
        self._name = name
        self._text = text
        self._compiled = re.compile(expanded(text, name))
        self._is_whole = text == AUTO or NUMBER in text  # takes whole numbers alone
        self._group = _value_group(self._compiled)
        wider = None if self._is_whole else passed_over(text, self._group)
        self._wider = None if wider is None else re.compile(wider)

    def found_in(self, line: str) -> tuple[re.Match[str], float] | None:
        """The match and its value, or None. Raises `BadReportError`."""
        match = self._compiled.search(line)
        text = None if match is None else _value_in(match)
        if match is None or text is None:
            return self._passed_over_in(line)
        try:
            number = float(text.strip().rstrip(_AFTER_A_NUMBER))
        except ValueError:
            return self._passed_over_in(line) or self._refuse(f"found {text!r:.60}, which is no number,", line)
        start, end = match.span(self._group)
        if (whole := cut_number(line, start, end)) is not None:
            self._refuse(f"found {text!r:.60}, a part of {whole!r:.60},", line)
        return match, number

    def _passed_over_in(self, line: str) -> tuple[re.Match[str], float] | None:
        """Where the pattern has room for digits alone: nan or an infinity that is printed in their place."""
        match = None if self._wider is None else self._wider.search(line)
        if match is None or match[self._group] is None:
            return None
        if math.isfinite(number := float(match[self._group])):  # a sign that the pattern has no room for
            self._refuse(f"passes over {match[self._group]!r}", line)
        return match, number

    def _refuse(self, what: str, line: str) -> NoReturn:
        raise BadReportError(f"program.metrics.{self._name} {what} in the line {line.strip()!r:.200}; {self._instead}")

    @property
    def _instead(self) -> str:
        if self._is_whole:
            return "print it without a thousands separator"
        better = with_number(self._text, self._group) or AUTO
        return f"write {self._name}: {better!r}"


def _value_group(pattern: re.Pattern[str]) -> int:
    """The number of the group called `value`, or of the first that is not the step."""
    groups: dict[str, int] = dict(pattern.groupindex)
    if "value" in groups:
        return groups["value"]
    return next(group for group in range(1, pattern.groups + 1) if group != groups.get(STEP))


def _value_in(match: re.Match[str]) -> str | None:
    """What the group of the value has; None where it took no part in the match."""
    text: str | None = match[_value_group(match.re)]
    return text


def _whole(text: str | None, line: str) -> int:
    try:
        step = float((text or "").strip().rstrip(_AFTER_A_NUMBER))
        if step >= 0 and step.is_integer():
            return int(step)
    except ValueError:
        pass
    raise BadReportError(f"a step is a whole number from 0, not {text!r:.60}, in the line {line.strip()!r:.200}")
