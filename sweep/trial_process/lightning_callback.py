"""A callback for Lightning's Trainer that reports a metric to the trial, and stops a pruned trial; trial process.

Needs `pip install podium[lightning]`; nothing else of Podium imports this module.
"""

from __future__ import annotations

from typing import Any

from lightning.pytorch import Callback, LightningModule, Trainer

from podium.sweep.values.errors import UserCodeError


class PodiumCallback(Callback):  # type: ignore[misc] # Lightning is an extra, and not there for every type checker
    """`Trainer(callbacks=[PodiumCallback(trial, monitor="val_loss")])`.

    After each validation it reports the metric `monitor`, with the epoch as the step, logs the other metrics of the
    module, and raises `trial.Pruned` if the trial is to be pruned.
    """

    def __init__(self, trial: Any, monitor: str) -> None:
        self._trial = trial
        self._monitor = monitor

    def on_validation_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Raises `Pruned`, and `UserCodeError` if the module has not logged `monitor`."""
        if trainer.sanity_checking:  # Lightning's sanity check before the training
            return
        metrics = {name: float(value) for name, value in trainer.callback_metrics.items()}
        if self._monitor not in metrics:
            known = ", ".join(sorted(metrics)) or "nothing"
            raise UserCodeError(
                f"monitor={self._monitor!r}: not among the logged metrics ({known}); call "
                f"self.log({self._monitor!r}, …) in validation_step"
            )
        value = metrics.pop(self._monitor)
        self._trial.log(metrics, step=trainer.current_epoch)
        self._trial.report(value, step=trainer.current_epoch)
        if self._trial.should_prune():
            raise self._trial.Pruned
