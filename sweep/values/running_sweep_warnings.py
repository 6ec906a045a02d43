"""Warnings of a running sweep: codes, messages, and checks of results and stop metrics; scheduler."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

from podium.sweep.values.attempt_assignment import Params

MIN_TRIALS = 5  # finished trials before identical values cause a warning
SAME_VALUE = "all trials report the same value; does the program read its parameters?"


class WarningCode(StrEnum):
    """The warnings of a sweep; each is active at most once at a time."""

    IDENTICAL_RESULTS = "identical_results"
    UNKNOWN_STOP_METRIC = "unknown_stop_metric"
    SLOW_IMPORTS = "slow_imports"


class StopCheck:
    """Checks that the metrics of `stop` conditions are reported."""

    def __init__(self, metrics: Iterable[str]) -> None:
        self._missing = dict.fromkeys(metrics)

    def record(self, names: Iterable[str]) -> None:
        """A trial has reported these metrics."""
        if self._missing:
            for name in names:
                self._missing.pop(name, None)

    @property
    def warning(self) -> str:
        """The warning after a trial has finished, or ""."""
        if not self._missing:
            return ""
        names = ", ".join(map(repr, self._missing))
        return f"stop: no trial has reported {names}; use step, training_iteration, or a metric that trials report"


class ResultCheck:
    """Checks whether all finished trials have the same values although their parameters differ; O(1) per trial."""

    def __init__(self) -> None:
        self._finished = 0
        self._values: tuple[float, ...] | None = None  # of the first one
        self._params: Params = {}
        self._values_differ = False
        self._params_differ = False

    def record(self, params: Params, values: tuple[float, ...] | None) -> None:
        """A trial has finished."""
        if self._finished == 0:
            self._params, self._values = dict(params), values
        self._finished += 1
        self._values_differ = self._values_differ or values != self._values
        self._params_differ = self._params_differ or params != self._params

    @property
    def warning(self) -> str:
        """The warning, or ""."""
        suspicious = self._finished >= MIN_TRIALS and self._params_differ and not self._values_differ
        return SAME_VALUE if suspicious else ""
