"""A callback for Lightning's Trainer: reports a metric to the trial, and ends a training that is pruned; trial process.

Needs `pip install podium[lightning]`; nothing else of Podium imports this module.
"""

from __future__ import annotations

from typing import Any

from lightning.pytorch import Callback, LightningModule, Trainer

from podium.sweep.values.errors import UserCodeError


class PodiumCallback(Callback):  # type: ignore[misc] # Lightning is an extra, and not there for every type checker
    """`Trainer(callbacks=[PodiumCallback(trial, monitor="val_loss")])`.

    After each validation it reports what the module has logged as `monitor`, at the number of the epoch, records the
    other metrics that it has logged, and raises `trial.Pruned` when the trial is to give up.
    """

    def __init__(self, trial: Any, monitor: str) -> None:
        self._trial = trial
        self._monitor = monitor

    def on_validation_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Raises `Pruned`, and `UserCodeError` where nothing was logged as `monitor`."""
        if trainer.sanity_checking:  # Lightning's trial run before the training
            return
        metrics = {name: float(value) for name, value in trainer.callback_metrics.items()}
        if self._monitor not in metrics:
            known = ", ".join(sorted(metrics)) or "nothing"
            raise UserCodeError(
                f"monitor={self._monitor!r}: the module has logged {known}; call self.log({self._monitor!r}, …) in "
                "validation_step"
            )
        value = metrics.pop(self._monitor)
        self._trial.log(metrics, step=trainer.current_epoch)
        self._trial.report(value, step=trainer.current_epoch)
        if self._trial.should_prune():
            raise self._trial.Pruned
