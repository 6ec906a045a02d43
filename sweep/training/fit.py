"""The built-in training loop: one network on one device, or by one rank on each of several; trial process."""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from podium.sweep.data import memory_mapped_datasets
from podium.sweep.networks import weight_files
from podium.sweep.networks.dataset_batches import TrainingRows
from podium.sweep.training import cross_validation
from podium.sweep.training.best_epoch_record import BestEpoch
from podium.sweep.training.learner import Learner, architecture_of, complete_settings, outputs_of
from podium.sweep.trial_process.trial_checkpoints import Checkpoint, CheckpointInterval
from podium.sweep.trial_process.trial_handle import Trial

if TYPE_CHECKING:
    from podium.sweep.parallel.process_group import Group


def program(spec: Mapping[str, Any], split: Mapping[str, Any]) -> Callable[[Trial], dict[str, float]]:
    """The built-in program as a function of the trial."""
    return lambda trial: fit(trial, spec, split)


def fit(trial: Trial, spec: Mapping[str, Any], split: Mapping[str, Any]) -> dict[str, float]:
    """Train, report every epoch, and save the best weights and their predictions.

    Returns the objectives at the best epoch, by the first objective. All objectives are metrics of
    `builtin_catalog.METRICS` for the task of the data. The same seed on the same device with the same number of threads
    gives the same results, also after an interruption: the next attempt resumes from the last checkpoint.
    """
    trial.early_finish.defer()
    torch.use_deterministic_algorithms(True, warn_only=trial.device.type == "cuda")
    data = memory_mapped_datasets.load(spec["data"], split, trial.data_cache)
    settings = complete_settings(spec["model"], trial.params)
    architecture = architecture_of(data, settings, spec, split)
    if split.get("folds"):
        folds = memory_mapped_datasets.load_folds(spec["data"], split, trial.data_cache)
        each = [architecture_of(fold, settings, spec, split) for fold in folds]
        best = cross_validation.fit(trial, folds, each)
        learner = _refit(trial, data, architecture, epochs=best.epoch + 1)
    elif trial.world_size > 1:
        with process_group().join() as group:
            learner, best = _fit_one(trial, data, architecture, group)
    else:
        learner, best = _fit_one(trial, data, architecture)
    if trial.rank == 0:
        _save_results(trial, learner)
    return best.results


def process_group() -> Any:
    """Imported only by the trials that need it."""
    return importlib.import_module("podium.sweep.parallel.process_group")


def _fit_one(
    trial: Trial, data: memory_mapped_datasets.Dataset, architecture: Mapping[str, Any], group: Group | None = None
) -> tuple[Learner, BestEpoch]:
    """The network with the weights of its best epoch.

    The ranks of `group` train and measure the same network, so they agree on the end. Only rank 0 saves.
    """
    settings = architecture["settings"]
    learner = _learner(trial, data, architecture, group)
    best, first = BestEpoch(data.task, trial.objectives), 0
    if (checkpoint := trial.resume()) is not None:
        first = checkpoint.epoch + 1
        best.restore(checkpoint.extra["best"])
        _resume(trial, checkpoint, learner, _metadata(architecture, best.epoch))
    interval = CheckpointInterval()
    in_intervals = trial.interval_end.exists  # then the last epoch counts: the best one may be a donor's
    for epoch in range(first, int(settings["epochs"])):
        train_loss = learner.train_epoch()
        measured = learner.measure()
        trial.log({"train_loss": train_loss, **measured}, step=epoch)
        if in_intervals:
            best.set(epoch, measured)
        elif best.improved(epoch, measured) and trial.rank == 0:
            weight_files.save_weights(learner.model, trial.directory.model, _metadata(architecture, epoch))
        trial.report(measured[trial.metric], step=epoch)
        if trial.should_prune():
            raise trial.Pruned
        if settings["patience"] and epoch - best.epoch >= settings["patience"]:
            break
        if trial.early_finish.should_end():
            break
        extra = {"best": best.to_dict(), "shuffle": learner.shuffle.get_state()}
        save = partial(_save_checkpoint, trial, learner, epoch, extra)
        if trial.interval_end.is_reached and epoch + 1 < int(settings["epochs"]):
            save()  # ends the attempt
        if trial.rank == 0:
            interval.save_if_due(save)
    if in_intervals:
        weight_files.save_weights(learner.model, trial.directory.model, _metadata(architecture, best.epoch))
        return learner, best
    if trial.rank == 0:
        weights, _ = weight_files.load_weights(trial.directory.model)
        learner.model.load_state_dict(weights)
    return learner, best


def _refit(
    trial: Trial, data: memory_mapped_datasets.Dataset, architecture: Mapping[str, Any], *, epochs: int
) -> Learner:
    """After cross-validation, train one network on the train split, for the number of epochs that was best."""
    learner = _learner(trial, data, architecture)
    for epoch in range(epochs):
        train_loss = learner.train_epoch()
        trial.log({"refit_train_loss": train_loss}, step=epoch)
    measured = learner.measure()
    trial.log({f"refit_{name}": value for name, value in measured.items()}, step=epochs - 1)
    weight_files.save_weights(learner.model, trial.directory.model, _metadata(architecture, epochs - 1))
    return learner


def _learner(
    trial: Trial, data: memory_mapped_datasets.Dataset, architecture: Mapping[str, Any], group: Group | None = None
) -> Learner:
    rows = TrainingRows(data, data.rows["train"], trial.device)
    if group is not None:
        replicated = importlib.import_module("podium.sweep.training.distributed_learner")
        found: Learner = replicated.DistributedLearner(group, data, architecture, rows, trial.device, trial.seed)
        return found
    return Learner(data, architecture, rows, trial.device, trial.seed)


def _save_checkpoint(trial: Trial, learner: Learner, epoch: int, extra: Mapping[str, Any]) -> None:
    """Save a checkpoint with the best weights so far, since the next attempt has another folder."""
    weights = {} if trial.interval_end.exists else weight_files.load_weights(trial.directory.model)[0]
    trial.save_checkpoint(learner.model, learner.optimizer, epoch, {**extra, "weights": weights})


def _resume(trial: Trial, checkpoint: Checkpoint, learner: Learner, metadata: Mapping[str, str]) -> None:
    """Restore the learner; the resumed training gives the same results as an uninterrupted one."""
    if trial.rank == 0 and checkpoint.extra["weights"]:
        weight_files.write_tensors(checkpoint.extra["weights"], trial.directory.model, metadata)
    learner.shuffle.set_state(checkpoint.extra["shuffle"])
    checkpoint.load_into(learner.model, learner.optimizer)


def _metadata(architecture: Mapping[str, Any], epoch: int) -> dict[str, str]:
    return {"architecture": json.dumps(architecture), "epoch": str(epoch)}


def _save_results(trial: Trial, learner: Learner) -> None:
    """Save the model and its predictions, so that selecting and fitting ensembles needs no model.

    Both arrays, `validation` and `calibration`, are float32: probabilities (n, classes) or values (n, outputs), in the
    row order of `data.split`.
    """
    trial.keep(trial.directory.model)
    predictions = {split: _predictions(learner, split) for split in ("validation", "calibration")}
    weight_files.save_arrays(predictions, trial.directory.predictions, {})
    trial.keep(trial.directory.predictions)


def _predictions(learner: Learner, split: str) -> np.ndarray:
    outputs = outputs_of(learner.model, learner.data, split, learner.device)
    return np.ascontiguousarray(learner.criterion.predictions(outputs).numpy())
