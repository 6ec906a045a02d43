"""What a sweep warns of although it goes on: codes, texts, and the check for identical results; pure, scheduler."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

from podium.sweep.values.trial import Params

MIN_TRIALS = 5  # finished ones, before identical values are worth a warning
SAME_VALUE = "all trials report the same value; does the program read its parameters?"


class WarningCode(StrEnum):
    """What a sweep may warn of; each at most once at a time."""

    IDENTICAL_RESULTS = "identical_results"
    UNKNOWN_STOP_METRIC = "unknown_stop_metric"
    SLOW_IMPORTS = "slow_imports"


class StopCheck:
    """Whether the metrics that `stop` names are ever reported."""

    def __init__(self, metrics: Iterable[str]) -> None:
        self._missing = dict.fromkeys(metrics)

    def note(self, names: Iterable[str]) -> None:
        """A trial has reported these metrics."""
        if self._missing:
            for name in names:
                self._missing.pop(name, None)

    @property
    def warning(self) -> str:
        """The text of the warning after a trial has finished, or ""."""
        if not self._missing:
            return ""
        names = ", ".join(map(repr, self._missing))
        return f"stop: no trial has reported {names}; name step, training_iteration, or a metric that trials report"


class ResultCheck:
    """Whether all finished trials of a sweep have the same values although their parameters differ; O(1) a trial."""

    def __init__(self) -> None:
        self._finished = 0
        self._values: tuple[float, ...] | None = None  # of the first one
        self._params: Params = {}
        self._values_differ = False
        self._params_differ = False

    def note(self, params: Params, values: tuple[float, ...] | None) -> None:
        """A trial has finished."""
        if self._finished == 0:
            self._params, self._values = dict(params), values
        self._finished += 1
        self._values_differ = self._values_differ or values != self._values
        self._params_differ = self._params_differ or params != self._params

    @property
    def warning(self) -> str:
        """The text of the warning, or ""."""
        suspicious = self._finished >= MIN_TRIALS and self._params_differ and not self._values_differ
        return SAME_VALUE if suspicious else ""
