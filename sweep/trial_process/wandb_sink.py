"""Reports the metrics that a function logs to Weights & Biases; trial process."""

from __future__ import annotations

import json
import os
import sys
import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

from podium.sweep.trial_process.trial_handle import Pruned, Trial
from podium.sweep.trial_process.wandb_hook.podium_wandb_hook import install
from podium.sweep.values.errors import UserCodeError
from podium.sweep.values.return_value_conversion import finite_number


class WandbSink:
    """Receives the numbers and images of `wandb.log` and `wandb.summary`; see `podium.sweep.trial_process.wandb_hook`.

    Reports the sweep's metric, and raises `Pruned` in `wandb.log` if the trial is to be pruned. After the first call of
    `trial.report` by the user's code, it only logs the other metrics.
    """

    def __init__(self) -> None:
        self._trial: Trial | None = None
        self._process = os.getpid()
        self._from_threads: deque[tuple[dict[str, float], int]] = deque()  # only the main thread may use the channel
        self._has_warned = False
        self._images_from_threads: deque[tuple[str, bytes, int]] = deque()
        self._last: dict[str, float] = {}

    def install(self, objectives: Sequence[str]) -> None:
        """Forward from wandb to this sink, now or after its import."""
        install(self, json.dumps([*objectives]))

    def run(self, function: Callable[[Trial], Any], trial: Trial) -> Any:
        """The result of the function; if None, the logged values of the objectives."""
        self._trial = trial
        result = function(trial)
        self._log_from_threads(trial)
        if result is None and all(name in self._last for name in trial.objectives):
            return trial.early_finish.reduced_values(dict(self._last))
        return result

    def log(self, values: dict[str, float], step: int) -> None:
        """Log a point of each metric. Raises `NonFiniteError` for the sweep's metric, and `Pruned`."""
        if self._trial is None or os.getpid() != self._process:
            return
        if threading.current_thread() is not threading.main_thread():
            self._from_threads.append((values, step))
            return
        self._log_from_threads(self._trial)
        self._log(self._trial, values, step)

    def summarize(self, values: dict[str, float]) -> None:
        """Set final values, until later ones replace them."""
        self._last |= values

    def log_image(self, name: str, png: bytes, step: int) -> None:
        """Log an image. One that is refused is reported on standard error: the run of wandb has it."""
        if self._trial is None or os.getpid() != self._process:
            return
        if threading.current_thread() is not threading.main_thread():
            self._images_from_threads.append((name, png, step))
            return
        self._log_image(self._trial, name, png, step)

    def _log_from_threads(self, trial: Trial) -> None:
        while self._images_from_threads:
            self._log_image(trial, *self._images_from_threads.popleft())
        while self._from_threads:
            self._log(trial, *self._from_threads.popleft())

    def _log_image(self, trial: Trial, name: str, png: bytes, step: int) -> None:
        if trial.rank > 0:
            return
        try:
            trial.log_image(name, png, step)
        except UserCodeError as error:
            if not self._has_warned:
                self._has_warned = True
                print(f"podium: an image of wandb.log is not kept: {error}", file=sys.stderr)

    def _log(self, trial: Trial, values: dict[str, float], step: int) -> None:
        self._last |= values
        numbers = dict(values)
        if trial.metric not in numbers or trial.has_own_reports:
            numbers.pop(trial.metric, None)
            if numbers:
                trial.log(numbers, step)
            return
        finite_number(numbers[trial.metric], f"wandb.log({{{trial.metric!r}: {numbers[trial.metric]!r}}})")
        trial.log(numbers, step)
        if trial.should_prune():
            raise Pruned
