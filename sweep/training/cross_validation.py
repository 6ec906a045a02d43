"""k-fold cross-validation: one network per fold, trained in parallel epochs, reported as their mean; trial process."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import nn

from podium.sweep.data.memory_mapped_datasets import Dataset
from podium.sweep.networks.dataset_batches import TrainingRows
from podium.sweep.training.best_epoch_record import BestEpoch
from podium.sweep.training.learner import Learner
from podium.sweep.trial_process.trial_checkpoints import Checkpoint, CheckpointInterval
from podium.sweep.trial_process.trial_handle import Trial


def fit(trial: Trial, folds: Sequence[Dataset], architectures: Sequence[Mapping[str, Any]]) -> BestEpoch:
    """Train a network on each fold; returns the best epoch by the means over the folds.

    After each epoch of all networks the means are reported, so pruning and early stopping consider all folds. Each mean
    comes with `<name>_std`, the sample standard deviation over the folds.
    """
    settings = architectures[0]["settings"]
    learners = _learners(trial, folds, architectures)
    best, first = BestEpoch(folds[0].task, trial.objectives), 0
    if (checkpoint := trial.resume()) is not None:
        first = checkpoint.epoch + 1
        best.restore(checkpoint.extra["best"])
        _resume(checkpoint, learners)
    interval = CheckpointInterval()
    for epoch in range(first, int(settings["epochs"])):
        train_loss = statistics.fmean([learner.train_epoch() for learner in learners])
        means = _over_folds([learner.measure() for learner in learners])
        trial.log({"train_loss": train_loss, **means}, step=epoch)
        best.improved(epoch, means)
        trial.report(means[trial.metric], step=epoch)
        if trial.should_prune():
            raise trial.Pruned
        if settings["patience"] and epoch - best.epoch >= settings["patience"]:
            break
        if trial.early_finish.should_end():
            break
        interval.save_if_due(partial(_save, trial, learners, epoch, {"best": best.to_dict()}))
    return best


def _learners(trial: Trial, folds: Sequence[Dataset], architectures: Sequence[Mapping[str, Any]]) -> list[Learner]:
    """One learner per fold; they share the rows."""
    pool = np.union1d(folds[0].rows["train"], folds[0].rows["validation"])
    rows = TrainingRows(folds[0], pool, trial.device)
    return [
        Learner(
            fold, architecture, rows, trial.device, trial.seed + number,
            positions=torch.from_numpy(np.searchsorted(pool, fold.rows["train"])),
        )
        for number, (fold, architecture) in enumerate(zip(folds, architectures, strict=True))
    ]  # fmt: skip


def _over_folds(measured: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Mean and sample standard deviation of each metric."""
    found: dict[str, float] = {}
    for name in measured[0]:
        values = [of_fold[name] for of_fold in measured]
        found[name] = statistics.fmean(values)
        found[f"{name}_std"] = statistics.stdev(values) if all(map(math.isfinite, values)) else math.nan
    return found


def _save(trial: Trial, learners: Sequence[Learner], epoch: int, extra: Mapping[str, Any]) -> None:
    networks = nn.ModuleList([learner.model for learner in learners])
    states = {
        "optimizers": [learner.optimizer.state_dict() for learner in learners],
        "shuffles": [learner.shuffle.get_state() for learner in learners],
    }
    trial.save_checkpoint(networks, None, epoch, {**extra, **states})


def _resume(checkpoint: Checkpoint, learners: Sequence[Learner]) -> None:
    """Restore the learners; the resumed training gives the same results as an uninterrupted one."""
    states = zip(learners, checkpoint.extra["optimizers"], checkpoint.extra["shuffles"], strict=True)
    checkpoint.load_into(nn.ModuleList([learner.model for learner in learners]))
    for learner, optimizer, shuffle in states:
        learner.optimizer.load_state_dict(optimizer)
        learner.shuffle.set_state(shuffle)
