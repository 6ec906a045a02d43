"""Model files: safetensors, written atomically, verified by SHA-256 when read; trial processes and members."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file

from podium.sweep.runtime.safe_file_reads import check_regular, display_path, sha256_of
from podium.sweep.values.errors import EnsembleError, UserCodeError


def save_weights(model: torch.nn.Module, path: Path, metadata: Mapping[str, str]) -> None:
    """Write the state of `model` to `path` atomically."""
    write_tensors(weights_of(model), path, metadata)


def weights_of(model: torch.nn.Module) -> dict[str, torch.Tensor]:
    """The state of `model` on the CPU. Tensors that layers share are copied, since safetensors stores no aliases.

    Raises `UserCodeError` for state that is not a tensor.
    """
    found: dict[str, torch.Tensor] = {}
    known: set[int] = set()
    for name, value in model.state_dict().items():
        if not isinstance(value, torch.Tensor):
            raise UserCodeError(f"state {name!r} of the network is a {type(value).__name__}; only tensors can be saved")
        tensor = value.detach().cpu().contiguous()
        memory = tensor.untyped_storage().data_ptr()
        found[name] = tensor.clone() if memory in known else tensor
        known.add(memory)
    return found


def save_arrays(arrays: Mapping[str, np.ndarray], path: Path, metadata: Mapping[str, str]) -> None:
    """Write named arrays, such as predictions, atomically."""
    write_tensors({name: torch.from_numpy(array) for name, array in arrays.items()}, path, metadata)


def load_weights(path: Path, sha256: str | None = None) -> tuple[dict[str, torch.Tensor], dict[str, str]]:
    """Tensors by name, and the metadata. Raises `EnsembleError` if the file is missing, changed or damaged."""
    try:
        check_regular(path)
        if sha256 is not None and sha256_of(path) != sha256:
            raise EnsembleError(f"{display_path(path)} is damaged: its SHA-256 differs from the recorded one")
        with safe_open(path, framework="pt") as file:
            metadata = dict(file.metadata() or {})
        return load_file(path), metadata
    except OSError as error:
        raise EnsembleError(f"cannot read {display_path(path)}: {error.strerror}") from error
    except EnsembleError:
        raise
    except Exception as error:
        raise EnsembleError(f"{display_path(path)} is damaged: {error}") from error


def architecture_of(metadata: Mapping[str, str]) -> dict[str, object]:
    """The architecture of a built-in network, as `podium.sweep.training` stored it. Raises `EnsembleError`."""
    if "architecture" not in metadata:
        raise EnsembleError("the model file has no architecture; it was not saved by a built-in model")
    architecture: dict[str, object] = json.loads(metadata["architecture"])
    return architecture


def write_tensors(tensors: dict[str, torch.Tensor], path: Path, metadata: Mapping[str, str]) -> None:
    """Write a temporary file, sync it, and rename it: readers see either the old file or the new one."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        save_file(tensors, temporary, metadata=dict(metadata))
        with temporary.open("rb") as file:
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
