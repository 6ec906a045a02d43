"""Weights on disk: safetensors, written whole, checked by SHA-256 when read; trial and member processes."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file

from podium.sweep.runtime.atomic_files import check_plain, named, sha256_of
from podium.sweep.values.errors import EnsembleError, UserCodeError


def save_weights(model: torch.nn.Module, path: Path, metadata: Mapping[str, str]) -> None:
    """Write the state of `model` so that `path` is the old file or the whole new one, never a part."""
    save_whole(weights_of(model), path, metadata)


def weights_of(model: torch.nn.Module) -> dict[str, torch.Tensor]:
    """The state of `model` on the CPU; what layers share is there once for each, since a file shares nothing.

    Raises `UserCodeError` for state that is no tensor.
    """
    found: dict[str, torch.Tensor] = {}
    known: set[int] = set()
    for name, value in model.state_dict().items():
        if not isinstance(value, torch.Tensor):
            raise UserCodeError(f"the network's state {name!r} is a {type(value).__name__}; only tensors can be kept")
        tensor = value.detach().cpu().contiguous()
        memory = tensor.untyped_storage().data_ptr()
        found[name] = tensor.clone() if memory in known else tensor
        known.add(memory)
    return found


def save_arrays(arrays: Mapping[str, np.ndarray], path: Path, metadata: Mapping[str, str]) -> None:
    """Write named arrays, predictions say, in the same way."""
    save_whole({name: torch.from_numpy(array) for name, array in arrays.items()}, path, metadata)


def load_weights(path: Path, sha256: str | None = None) -> tuple[dict[str, torch.Tensor], dict[str, str]]:
    """Tensors by name and the metadata. Raises `EnsembleError` when the file is missing, changed or damaged."""
    try:
        check_plain(path)
        if sha256 is not None and sha256_of(path) != sha256:
            raise EnsembleError(f"{named(path)} is damaged: its SHA-256 is not the one recorded")
        with safe_open(path, framework="pt") as file:
            metadata = dict(file.metadata() or {})
        return load_file(path), metadata
    except OSError as error:
        raise EnsembleError(f"cannot read {named(path)}: {error.strerror}") from error
    except EnsembleError:
        raise
    except Exception as error:
        raise EnsembleError(f"{named(path)} is damaged: {error}") from error


def architecture_of(metadata: Mapping[str, str]) -> dict[str, object]:
    """What to build before the weights go in, as `training` wrote it."""
    if "architecture" not in metadata:
        raise EnsembleError("the model file does not say its architecture; it was not saved by a built-in model")
    architecture: dict[str, object] = json.loads(metadata["architecture"])
    return architecture


def save_whole(tensors: dict[str, torch.Tensor], path: Path, metadata: Mapping[str, str]) -> None:
    """Write beside the target, sync, and rename: a reader sees the old file or the new one."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        save_file(tensors, temporary, metadata=dict(metadata))
        with temporary.open("rb") as file:
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
