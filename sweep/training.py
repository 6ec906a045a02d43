"""The built-in fit loop: one network, one device, top to bottom; trial process."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import nn

from sweep import catalog, checkpoints, datasets, models
from sweep.criterion import Criterion, criterion_of
from sweep.handle import Trial
from sweep.resuming import Checkpoint, Pace
from sweep.trial import Scalar

EVALUATION_ROWS = 4096


def program(spec: Mapping[str, Any], split: Mapping[str, Any]) -> Callable[[Trial], dict[str, float]]:
    """The built-in program of a sweep as a function of the trial."""
    return lambda trial: fit(trial, spec, split)


def fit(trial: Trial, spec: Mapping[str, Any], split: Mapping[str, Any]) -> dict[str, float]:
    """Train, report every epoch, keep the best epoch's weights and its predictions; returns its metrics.

    The first of `trial.objectives`, all of them of `catalog.METRICS` for the task of the data, decides which epoch is
    the best; its values of all of them are returned.
    The same seed on the same device with the same number of threads gives the same numbers, with or without an
    interruption: a checkpoint is kept now and then, and the trial's next attempt goes on from it.
    """
    torch.use_deterministic_algorithms(True, warn_only=trial.device.type == "cuda")
    data = datasets.load(spec["data"], split, trial.data_cache)
    settings = complete_settings(spec["model"], trial.params)
    architecture = _architecture(data, settings, spec, split)
    model = models.build(architecture).to(trial.device)
    optimizer = _optimizer(model, settings)
    train_x, train_y = _tensors(data, "train", trial.device)
    shuffle = torch.Generator().manual_seed(trial.seed)
    criterion = criterion_of(data, trial.device)
    first_objective = trial.objectives[0]
    minimize = catalog.METRICS[data.task][first_objective] == "minimize"
    results: dict[str, float] = {}  # of the best epoch
    best, best_epoch, first = math.inf if minimize else -math.inf, -1, 0
    if (checkpoint := trial.resume()) is not None:
        first, best, best_epoch = checkpoint.epoch + 1, checkpoint.extra["best"], checkpoint.extra["best_epoch"]
        results = dict(checkpoint.extra["results"])
        _resume(trial, checkpoint, model, optimizer, shuffle, _metadata(architecture, best_epoch))
    pace = Pace()
    for epoch in range(first, int(settings["epochs"])):
        train_loss = _train_epoch(model, criterion, optimizer, train_x, train_y, int(settings["batch_size"]), shuffle)
        measured = evaluate(model, criterion, data, "validation", trial.device)
        value = measured[first_objective]
        trial.log({"train_loss": train_loss, **measured}, step=epoch)
        if value < best if minimize else value > best:
            best, best_epoch = value, epoch
            results = {name: measured[name] for name in trial.objectives}
            checkpoints.save_weights(model, trial.directory.model, _metadata(architecture, epoch))
        trial.report(measured[trial.metric], step=epoch)
        if trial.should_prune():
            raise trial.Pruned
        if settings["patience"] and epoch - best_epoch >= settings["patience"]:
            break
        extra = {"best": best, "best_epoch": best_epoch, "results": results, "shuffle": shuffle.get_state()}
        pace.save_if_due(partial(_save_checkpoint, trial, model, optimizer, epoch, extra))
    weights, _ = checkpoints.load_weights(trial.directory.model)
    model.load_state_dict(weights)
    _keep(trial, model, criterion, data)
    return results


def _save_checkpoint(
    trial: Trial, model: nn.Module, optimizer: torch.optim.Optimizer, epoch: int, extra: Mapping[str, Any]
) -> None:
    """With the best weights so far, since the next attempt has a folder of its own."""
    weights, _ = checkpoints.load_weights(trial.directory.model)
    trial.save_checkpoint(model, optimizer, epoch, {**extra, "weights": weights})


def _resume(
    trial: Trial,
    checkpoint: Checkpoint,
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    shuffle: torch.Generator,
    metadata: Mapping[str, str],
) -> None:
    """Go on as if nothing had happened: the same numbers follow."""
    checkpoints.save_whole(checkpoint.extra["weights"], trial.directory.model, metadata)
    shuffle.set_state(checkpoint.extra["shuffle"])
    checkpoint.load_into(model, optimizer)


def _metadata(architecture: Mapping[str, Any], epoch: int) -> dict[str, str]:
    return {"architecture": json.dumps(architecture), "epoch": str(epoch)}


def _architecture(
    data: datasets.Dataset, settings: Mapping[str, Any], spec: Mapping[str, Any], split: Mapping[str, Any]
) -> dict[str, Any]:
    """What `models.build` needs and what an ensemble has to know; it goes into the model file as JSON."""
    architecture = {
        "model": spec["model"],
        "settings": settings,
        "task": data.task,
        "image": data.image,
        "classes": len(data.classes),
        "labels": data.classes,
        "mean": data.mean,
        "deviation": data.deviation,
        "data": spec["data"],
        "split": split,
    }
    if data.task == "regression":
        architecture |= {"target_mean": data.target_mean, "target_deviation": data.target_deviation}
    return architecture


def complete_settings(model: str, params: Mapping[str, Scalar]) -> dict[str, Any]:
    """Every setting of the model and the loop: the trial's values over the defaults."""
    defaults = {name: setting.default for name, setting in catalog.settings_of(model).items()}
    return {**defaults, **params}


def _train_epoch(
    model: nn.Module,
    criterion: Criterion,
    optimizer: torch.optim.Optimizer,
    inputs: torch.Tensor,
    targets: torch.Tensor,
    batch_size: int,
    shuffle: torch.Generator,
) -> float:
    """One pass over the training rows; returns the mean loss."""
    model.train()
    total = torch.zeros((), device=inputs.device)
    order = torch.randperm(len(inputs), generator=shuffle).to(inputs.device)
    for rows in torch.split(order, batch_size):
        optimizer.zero_grad(set_to_none=True)
        loss = criterion.loss(model(inputs[rows]), targets[rows])
        torch.autograd.backward(loss)
        optimizer.step()
        total += loss.detach() * len(rows)
    return float(total) / len(inputs)


def evaluate(
    model: nn.Module, criterion: Criterion, data: datasets.Dataset, split: str, device: torch.device
) -> Mapping[str, float]:
    """The criterion's metrics on a split."""
    _, targets = data.split(split)
    return criterion.measure(outputs_of(model, data, split, device), torch.from_numpy(targets))


def outputs_of(model: nn.Module, data: datasets.Dataset, split: str, device: torch.device) -> torch.Tensor:
    """Logits (n, classes) or values (n, outputs) of a split, in the order of `data.split`; float32, on the CPU."""
    model.eval()
    with torch.inference_mode():
        return torch.cat([model(batch.to(device)).cpu() for batch in _batches(data, split)])


def _batches(data: datasets.Dataset, split: str) -> Iterator[torch.Tensor]:
    rows = data.rows[split]
    for start in range(0, len(rows), EVALUATION_ROWS):
        yield torch.from_numpy(data.inputs[rows[start : start + EVALUATION_ROWS]])


def _tensors(data: datasets.Dataset, split: str, device: torch.device) -> tuple[torch.Tensor, torch.Tensor]:
    inputs, targets = data.split(split)
    return torch.from_numpy(inputs).to(device), torch.from_numpy(targets).to(device)


def _optimizer(model: nn.Module, settings: Mapping[str, Any]) -> torch.optim.Optimizer:
    lr, decay = float(settings["lr"]), float(settings["weight_decay"])
    if settings["optimizer"] == "sgd":
        return torch.optim.SGD(model.parameters(), lr=lr, momentum=float(settings["momentum"]), weight_decay=decay)
    if settings["optimizer"] == "adamw":
        return torch.optim.AdamW(model.parameters(), lr=lr, weight_decay=decay)
    return torch.optim.Adam(model.parameters(), lr=lr, weight_decay=decay)


def _keep(trial: Trial, model: nn.Module, criterion: Criterion, data: datasets.Dataset) -> None:
    """Model and predictions of the best epoch: selection and fitting need no model later.

    Both arrays, `validation` and `calibration`, are float32: probabilities (n, classes) or values (n, outputs). Row i
    is row i of `data.split`, so they go with its targets.
    """
    trial.keep(trial.directory.model)
    predictions = {
        split: np.ascontiguousarray(criterion.predictions(outputs_of(model, data, split, trial.device)).numpy())
        for split in ("validation", "calibration")
    }
    checkpoints.save_arrays(predictions, trial.directory.predictions, {})
    trial.keep(trial.directory.predictions)
