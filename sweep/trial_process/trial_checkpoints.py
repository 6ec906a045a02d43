"""Checkpoints of a trial: written whole, found again by its next attempt, read without running anything; trial process.

One file an attempt, safetensors: the tensors of model, optimizer and `extra`, and their structure with the state of all
chance as JSON in its metadata. A checksum over both tells a damaged file from a whole one.
"""

from __future__ import annotations

import json
import random
import sys
import time
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from podium.sweep.networks import checkpoints
from podium.sweep.runtime.layout import AttemptDirectory
from podium.sweep.trial_process.state_trees import put_together, take_apart

SHARE = 0.02  # of a trial's time, for checkpoints that nobody asked for
_FIRST_GUESS_S = 0.02


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """Where an earlier attempt of this trial was: what `trial.resume()` returns."""

    epoch: int
    extra: Any  # what was given as `extra`
    _state: dict[str, Any] = field(repr=False)

    @property
    def owner(self) -> str:
        """The trial that wrote it."""
        return str(self._state["owner"])

    def load_into(self, model: torch.nn.Module, optimizer: torch.optim.Optimizer | None = None) -> None:
        """Put the weights, the optimizer's state and the state of all chance back, so that training goes on the same.

        Chance is Python's, numpy's and torch's own generators. Call it last, after all else is built.
        """
        model.load_state_dict(self._state["model"])
        if optimizer is not None and self._state["optimizer"] is not None:
            optimizer.load_state_dict(self._state["optimizer"])
        _restore_chance(self._state["chance"])


def save(
    path: Path,
    model: torch.nn.Module,
    optimizer: torch.optim.Optimizer | None,
    epoch: int,
    extra: Any = None,
    owner: str = "",
) -> None:
    """Write a checkpoint; `path` is the one before or the whole new one, never a part. `owner` names the trial."""
    state = {
        "owner": owner,
        "model": dict(model.state_dict()),
        "optimizer": None if optimizer is None else optimizer.state_dict(),
        "chance": _chance(),
        "epoch": int(epoch),
        "extra": extra,
    }
    tensors: dict[str, torch.Tensor] = {}
    structure = json.dumps(take_apart(state, tensors))
    checkpoints.write_tensors(tensors, path, {"structure": structure, "crc32": str(_checksum(structure, tensors))})


def load(path: Path) -> Checkpoint:
    """Read a checkpoint. Raises `EnsembleError`, `ValueError` or `KeyError` when it is damaged."""
    tensors, metadata = checkpoints.load_weights(path)
    if int(metadata["crc32"]) != _checksum(metadata["structure"], tensors):
        raise ValueError("its checksum is not the one recorded")
    state = put_together(json.loads(metadata["structure"]), tensors)
    return Checkpoint(state["epoch"], state["extra"], state)


def newest(directory: AttemptDirectory, attempt: int, owner: str = "") -> Checkpoint | None:
    """The newest whole checkpoint of the trial's attempts before number `attempt`, whose folder `directory` is.

    A damaged one is passed over, with a line in the log; so is one of another trial of this number, which lies there
    when an older database was restored.
    """
    for earlier in directory.earlier(attempt):
        if not earlier.checkpoint.exists():
            continue
        try:
            found = load(earlier.checkpoint)
            if found.owner != owner:
                raise ValueError("it is of another trial")
            return found
        except Exception as error:  # noqa: BLE001 - whatever is wrong with it, an older one or none will do
            print(f"podium: the checkpoint of attempt {earlier.root.name} is not used: {error}", file=sys.stderr)
    return None


class Pace:
    """When to save unasked: so seldom that it takes 2 % of the time; after every epoch where epochs are long."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._cost_s = _FIRST_GUESS_S
        self._last_s = clock()

    def save_if_due(self, save: Callable[[], None]) -> None:
        """Save, if enough time has gone by since the last time."""
        began_s = self._clock()
        if began_s - self._last_s < self._cost_s / SHARE:
            return
        save()
        self._last_s = self._clock()
        self._cost_s = self._last_s - began_s


def _chance() -> dict[str, Any]:
    numpy = sys.modules["numpy"]
    kind, keys, *rest = numpy.random.get_state()
    return {
        "python": random.getstate(),
        "numpy": (kind, keys.tolist(), *rest),
        "torch": torch.get_rng_state(),
        "cuda": _cuda_chance(),
    }


def _cuda_chance() -> torch.Tensor | None:
    used: bool = torch.cuda.is_initialized()  # type: ignore[no-untyped-call]
    return torch.cuda.get_rng_state() if used else None


def _restore_chance(chance: dict[str, Any]) -> None:
    random.setstate(chance["python"])
    sys.modules["numpy"].random.set_state(chance["numpy"])
    torch.set_rng_state(chance["torch"])
    if chance["cuda"] is not None and torch.cuda.is_available():
        torch.cuda.set_rng_state(chance["cuda"])


def _checksum(structure: str, tensors: dict[str, torch.Tensor]) -> int:
    checksum = zlib.crc32(structure.encode())
    for name in sorted(tensors):
        checksum = zlib.crc32(tensors[name].reshape(-1).view(torch.uint8).numpy().data, checksum)
    return checksum
