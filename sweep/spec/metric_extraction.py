"""Extracts metrics from a script's output with the patterns of `program.metrics`; api and trial process."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import NoReturn

from podium.sweep.values.errors import BadReportError
from podium.sweep.values.number_patterns import (
    AUTO,
    NUMBER,
    expand_pattern,
    skipped_number_pattern,
    truncated_number,
    with_number,
)

STEP = "step"  # the name of the pattern, or of the group, that matches the training step
MAX_PATTERN = 1000  # characters
MAX_WIDE_RANGES = 3  # compiling a range looks up each character of it: about 10 ms for a wide range
MAX_LINE = 4096  # characters of a line that patterns are tried on
_WIDE_RANGE = re.compile(r"-(?:\\[uUN]|[^\x00-\xff])")
_AFTER_A_NUMBER = ".,;:%)"


def invalid_pattern_reason(pattern: str) -> str | None:
    """Why a pattern of `program.metrics` is invalid, or None."""
    if pattern == AUTO:
        return None
    if len(pattern) > MAX_PATTERN:
        return f"must have at most {MAX_PATTERN:,} characters"
    if len(_WIDE_RANGE.findall(pattern)) > MAX_WIDE_RANGES:
        return f"must have at most {MAX_WIDE_RANGES} character ranges beyond Latin-1, which are slow; use . instead"
    try:
        compiled = re.compile(expand_pattern(pattern, ""))
    except (re.error, RecursionError, OverflowError) as error:
        return f"invalid regular expression: {error}"
    if not [group for group in range(1, compiled.groups + 1) if group != compiled.groupindex.get(STEP)]:
        return f"has no capturing group for the value; use {NUMBER} for the number in {pattern!r}, or {AUTO}"
    return None


class MetricExtractor:
    """Extracts values and their steps from the output lines of one script.

    The value is the group named `value`, else the first group. A group named `step` sets the step of its line; a
    pattern named `step` sets it for its line and all following ones. Without either, the values of each metric are
    numbered from `first_step`.
    """

    def __init__(self, patterns: Mapping[str, str], first_step: int = 0) -> None:
        self._first_step = first_step
        self._step_pattern = re.compile(expand_pattern(patterns[STEP], STEP)) if STEP in patterns else None
        self._patterns = {name: _Pattern(name, text) for name, text in patterns.items() if name != STEP}
        self._step: int | None = None
        self._counts: dict[str, int] = {}

    def __bool__(self) -> bool:
        return bool(self._patterns)

    def extract(self, line: str) -> list[tuple[int, str, float]]:
        """Step, metric and value of each match; a value may be NaN or infinite.

        Raises `BadReportError` if a match is not a number, or only part of one.
        """
        line = line[:MAX_LINE]
        if self._step_pattern is not None and (match := self._step_pattern.search(line)) is not None:
            self._step = _whole(_value_in(match), line)
        found = []
        for name, pattern in self._patterns.items():
            if (hit := pattern.search(line)) is not None:
                match, value = hit
                found.append((self._step_of(name, match, line), name, value))
        return found

    def _step_of(self, name: str, match: re.Match[str], line: str) -> int:
        count = self._counts[name] = self._counts.get(name, self._first_step - 1) + 1
        if (text := match.groupdict().get(STEP)) is not None:
            return _whole(text, line)
        return count if self._step is None else self._step


class _Pattern:
    """Extracts the value of one metric from a line."""

    def __init__(self, name: str, text: str) -> None:
        self._name = name
        self._text = text
        self._compiled = re.compile(expand_pattern(text, name))
        self._is_whole = text == AUTO or NUMBER in text  # matches complete numbers only
        self._group = _value_group(self._compiled)
        wider = None if self._is_whole else skipped_number_pattern(text, self._group)
        self._wider = None if wider is None else re.compile(wider)

    def search(self, line: str) -> tuple[re.Match[str], float] | None:
        """The match and its value, or None. Raises `BadReportError`."""
        match = self._compiled.search(line)
        text = None if match is None else _value_in(match)
        if match is None or text is None:
            return self._skipped_in(line)
        try:
            number = float(text.strip().rstrip(_AFTER_A_NUMBER))
        except ValueError:
            return self._skipped_in(line) or self._refuse(f"matched {text!r:.60}, which is not a number,", line)
        start, end = match.span(self._group)
        if (whole := truncated_number(line, start, end)) is not None:
            self._refuse(f"matched {text!r:.60}, only part of {whole!r:.60},", line)
        return match, number

    def _skipped_in(self, line: str) -> tuple[re.Match[str], float] | None:
        """NaN, an infinity or a signed number where the pattern matches digits only."""
        match = None if self._wider is None else self._wider.search(line)
        if match is None or match[self._group] is None:
            return None
        if math.isfinite(number := float(match[self._group])):  # a sign that the pattern does not match
            self._refuse(f"does not match {match[self._group]!r}", line)
        return match, number

    def _refuse(self, what: str, line: str) -> NoReturn:
        raise BadReportError(f"program.metrics.{self._name} {what} in the line {line.strip()!r:.200}; {self._instead}")

    @property
    def _instead(self) -> str:
        if self._is_whole:
            return "print the number without a thousands separator"
        better = with_number(self._text, self._group) or AUTO
        return f"write {self._name}: {better!r}"


def _value_group(pattern: re.Pattern[str]) -> int:
    """The number of the group named `value`, else of the first group that is not the step."""
    groups: dict[str, int] = dict(pattern.groupindex)
    if "value" in groups:
        return groups["value"]
    return next(group for group in range(1, pattern.groups + 1) if group != groups.get(STEP))


def _value_in(match: re.Match[str]) -> str | None:
    """The text of the value group; None if it did not participate in the match."""
    text: str | None = match[_value_group(match.re)]
    return text


def _whole(text: str | None, line: str) -> int:
    try:
        step = float((text or "").strip().rstrip(_AFTER_A_NUMBER))
        if step >= 0 and step.is_integer():
            return int(step)
    except ValueError:
        pass
    raise BadReportError(f"step must be a non-negative integer, got {text!r:.60} in the line {line.strip()!r:.200}")
