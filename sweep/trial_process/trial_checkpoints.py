"""Checkpoints of a trial: written atomically, loaded by its next attempt, without unpickling; trial process.

One safetensors file per attempt: the tensors of model, optimizer and `extra`, and as JSON in its metadata their
structure and the states of the random number generators. A checksum of both detects damage.
"""

from __future__ import annotations

import json
import random
import sys
import time
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import torch

from podium.sweep.networks import weight_files
from podium.sweep.runtime.attempt_directory import AttemptDirectory
from podium.sweep.trial_process.pickle_free_serialization import from_plain, to_plain
from podium.sweep.values.attempt_assignment import Params
from podium.sweep.values.errors import UserCodeError

SHARE = 0.02  # of a trial's time, for checkpoints of the built-in loop
_INITIAL_COST_S = 0.02


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The state of an earlier attempt of this trial, as `trial.resume()` returns it."""

    epoch: int
    extra: Any  # the argument `extra` of `save_checkpoint`
    _state: dict[str, Any] = field(repr=False)
    has_new_params: bool = False  # of a population: the trial continues it with other parameters

    @property
    def owner(self) -> str:
        """The trial that saved it."""
        return str(self._state["owner"])

    @property
    def progress(self) -> dict[str, Any] | None:
        """The reports, constraints and user attributes before it; None in a file of an earlier version."""
        found: dict[str, Any] | None = self._state.get("progress")
        return found

    def load_into(self, model: torch.nn.Module, optimizer: torch.optim.Optimizer | None = None) -> None:
        """Restore the weights, the optimizer, and the states of Python's, numpy's and torch's random generators.

        Call it last, since building other objects may draw random numbers. If the parameters of the trial have changed
        since, in a population, the hyperparameters of `optimizer` are kept, such as its learning rate.
        """
        model.load_state_dict(self._state["model"])
        if optimizer is not None and self._state["optimizer"] is not None:
            own = [dict(group) for group in optimizer.param_groups]
            optimizer.load_state_dict(self._state["optimizer"])
            if self.has_new_params:
                _keep_hyperparameters(optimizer, own)
        _restore_rng(self._state["chance"])


def save(
    path: Path,
    model: torch.nn.Module,
    optimizer: torch.optim.Optimizer | None,
    epoch: int,
    extra: Any = None,
    owner: str = "",
    progress: Mapping[str, Any] | None = None,
) -> None:
    """Write a checkpoint to `path` atomically. `owner` identifies the trial; `progress`: see `Checkpoint`."""
    state = {
        "owner": owner,
        "model": dict(model.state_dict()),
        "optimizer": None if optimizer is None else optimizer.state_dict(),
        "chance": _rng_states(),
        "epoch": int(epoch),
        "extra": extra,
        "progress": None if progress is None else dict(progress),
    }
    tensors: dict[str, torch.Tensor] = {}
    structure = json.dumps(to_plain(state, tensors))
    weight_files.write_tensors(tensors, path, {"structure": structure, "crc32": str(_checksum(structure, tensors))})


def load(path: Path) -> Checkpoint:
    """Read a checkpoint. Raises `EnsembleError`, `ValueError` or `KeyError` if it is damaged."""
    tensors, metadata = weight_files.load_weights(path)
    if int(metadata["crc32"]) != _checksum(metadata["structure"], tensors):
        raise ValueError("its checksum differs from the recorded one")
    state = from_plain(json.loads(metadata["structure"]), tensors)
    return Checkpoint(state["epoch"], state["extra"], state)


def of_interval(directory: AttemptDirectory, params: Params) -> Checkpoint:
    """The checkpoint at the end of an interval of a population; `params`: of the next interval.

    Raises `UserCodeError` if it cannot be read.
    """
    try:
        found = load(directory.checkpoint)
        return replace(found, has_new_params=json.loads(found.owner)[-1] != params)
    except Exception as error:
        raise UserCodeError(
            f"the checkpoint that the interval starts from cannot be loaded: {directory.checkpoint}: "
            f"{type(error).__name__}: {error}"
        ) from error


def newest(directory: AttemptDirectory, attempt: int, owner: str = "", first: int = 1) -> Checkpoint | None:
    """The newest valid checkpoint of the trial's attempts from `first` to before `attempt`, the one of `directory`.

    Skips, with a line in the log, a damaged checkpoint, and one of another owner: a trial of the same number before a
    backup of the database was restored.
    """
    for earlier in directory.earlier(attempt, first):
        if not earlier.checkpoint.exists():
            continue
        try:
            found = load(earlier.checkpoint)
            if found.owner != owner:
                raise ValueError("it belongs to another trial")
            return found
        except Exception as error:  # noqa: BLE001 - whatever the error, an older checkpoint or none is used
            print(f"podium: skipping the checkpoint of attempt {earlier.root.name}: {error}", file=sys.stderr)
    return None


class CheckpointInterval:
    """Limits periodic checkpoints to 2 % of the training time; long epochs are all followed by one."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._cost_s = _INITIAL_COST_S
        self._last_s = clock()

    def save_if_due(self, save: Callable[[], None]) -> None:
        """Save if enough time has passed since the last checkpoint."""
        started_s = self._clock()
        if started_s - self._last_s < self._cost_s / SHARE:
            return
        save()
        self._last_s = self._clock()
        self._cost_s = self._last_s - started_s


def _keep_hyperparameters(optimizer: torch.optim.Optimizer, own: list[dict[str, Any]]) -> None:
    """Set what an optimizer was constructed with again, after its state was loaded."""
    for group, mine in zip(optimizer.param_groups, own, strict=True):
        group.update({name: value for name, value in mine.items() if name != "params"})


def _rng_states() -> dict[str, Any]:
    numpy = sys.modules["numpy"]
    kind, keys, *rest = numpy.random.get_state()
    return {
        "python": random.getstate(),
        "numpy": (kind, keys.tolist(), *rest),
        "torch": torch.get_rng_state(),
        "cuda": _cuda_state(),
    }


def _cuda_state() -> torch.Tensor | None:
    used: bool = torch.cuda.is_initialized()  # type: ignore[no-untyped-call]
    return torch.cuda.get_rng_state() if used else None


def _restore_rng(states: dict[str, Any]) -> None:
    random.setstate(states["python"])
    sys.modules["numpy"].random.set_state(states["numpy"])
    torch.set_rng_state(states["torch"])
    if states["cuda"] is not None and torch.cuda.is_available():
        torch.cuda.set_rng_state(states["cuda"])


def _checksum(structure: str, tensors: dict[str, torch.Tensor]) -> int:
    checksum = zlib.crc32(structure.encode())
    for name in sorted(tensors):
        checksum = zlib.crc32(tensors[name].reshape(-1).view(torch.uint8).numpy().data, checksum)
    return checksum
