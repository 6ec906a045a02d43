"""What a function logs to Weights & Biases, as reports and curves of its trial; trial process."""

from __future__ import annotations

import json
import os
import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

from podium.sweep.trial_process.trial_handle import Pruned, Trial
from podium.sweep.trial_process.wandb_hook.podium_wandb_hook import install
from podium.sweep.values.objective_values import finite_number


class WandbSink:
    """Gets the numbers of `wandb.log` and `wandb.summary`; see `podium.sweep.trial_process.wandb_hook`.

    The sweep's metric is reported, and a trial that is pruned ends with `Pruned` in `wandb.log`, until the code itself
    calls `trial.report`: from then on only other metrics are taken from here.
    """

    def __init__(self) -> None:
        self._trial: Trial | None = None
        self._process = os.getpid()
        self._from_threads: deque[tuple[dict[str, float], int]] = deque()  # the channel is for the main thread
        self._last: dict[str, float] = {}

    def install(self, objectives: Sequence[str]) -> None:
        """Have wandb forward to this sink, whether or not it is imported yet."""
        install(self, json.dumps([*objectives]))

    def run(self, function: Callable[[Trial], Any], trial: Trial) -> Any:
        """What the function returns, or where that is nothing, the values of the objectives that it logged."""
        self._trial = trial
        result = function(trial)
        self._take_from_threads(trial)
        if result is None and all(name in self._last for name in trial.objectives):
            return trial.early_finish.chosen(dict(self._last))
        return result

    def log(self, values: dict[str, float], step: int) -> None:
        """One point of each metric. Raises `NonFiniteError` for the sweep's metric, and `Pruned`."""
        if self._trial is None or os.getpid() != self._process:
            return
        if threading.current_thread() is not threading.main_thread():
            self._from_threads.append((values, step))
            return
        self._take_from_threads(self._trial)
        self._log(self._trial, values, step)

    def summarize(self, values: dict[str, float]) -> None:
        """Values that are final unless others follow."""
        self._last |= values

    def _take_from_threads(self, trial: Trial) -> None:
        while self._from_threads:
            self._log(trial, *self._from_threads.popleft())

    def _log(self, trial: Trial, values: dict[str, float], step: int) -> None:
        self._last |= values
        taken = dict(values)
        if trial.metric not in taken or trial.has_own_reports:
            taken.pop(trial.metric, None)
            if taken:
                trial.log(taken, step)
            return
        finite_number(taken[trial.metric], f"wandb.log({{{trial.metric!r}: {taken[trial.metric]!r}}})")
        trial.log(taken, step)
        if trial.should_prune():
            raise Pruned
