"""Rebuilds users' networks from code and weights, and verifies their outputs; worker process."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import nn

from podium.ensemble.building import saved_trial_outputs
from podium.ensemble.worker import bundle_code
from podium.ensemble.worker.model_file_spec import ModelFile
from podium.sweep.networks import weight_files
from podium.sweep.networks.ensemble_network_adapter import FlatInputAdapter, build_network
from podium.sweep.runtime.layout import DataDirectory
from podium.sweep.values.errors import EnsembleError, UserCodeError
from podium.sweep.values.saved_network_manifest import ANSWERS, EXAMPLE, NetworkManifest, NotExportable, read_header

CLOSE = 5e-2  # relative to the largest output, or to 1 if larger: other devices compute in another order


@dataclass(frozen=True, slots=True)
class LoadedModel:
    """The content of a model file; `user` describes a user's network."""

    file: ModelFile
    weights: dict[str, torch.Tensor]
    metadata: dict[str, str]
    user: NetworkManifest | None


@dataclass(frozen=True, slots=True)
class RebuiltNetwork:
    """A user's network on the CPU, and the example rows saved by its trial."""

    network: FlatInputAdapter
    example: torch.Tensor


def read(file: ModelFile) -> LoadedModel:
    """Read a model file. Raises `EnsembleError` if it is missing, changed, or cannot be a member."""
    try:
        weights, metadata = weight_files.load_weights(Path(file.path), file.sha256)
    except EnsembleError as error:
        raise EnsembleError(f"{file.trial}: {error}" if file.trial else str(error)) from error
    try:
        header = read_header(metadata)
    except Exception as error:
        raise EnsembleError(f"{file.called} is damaged: {error}") from error
    if isinstance(header, NotExportable):
        raise EnsembleError(f"{file.called}: this network cannot join an ensemble: {header.reason}")
    return LoadedModel(file, weights, metadata, header)


def rebuild(files: Sequence[LoadedModel]) -> dict[int, RebuiltNetwork]:
    """Rebuild the users' networks among the files, by position. Raises `EnsembleError` naming the file."""
    folders = {position: _folder(one) for position, one in enumerate(files) if one.user is not None}
    found: dict[int, RebuiltNetwork] = {}
    several = len(set(folders.values())) > 1
    for folder in dict.fromkeys(folders.values()):
        with bundle_code.importable(folder, alone=not several):
            for position in [position for position, its in folders.items() if its == folder]:
                found[position] = _rebuilt(files[position], folder)
    for position, rebuilt in found.items():  # after all imports: modules imported later are missing
        _check_answers(files[position], rebuilt, several=several)
    return found


def _folder(one: LoadedModel) -> Path:
    assert one.user is not None
    with _name_in_errors(one):
        return saved_trial_outputs.check_code(
            DataDirectory(Path(one.file.data_dir)), one.user.bundle, one.user.code_sha256
        )


def _rebuilt(one: LoadedModel, folder: Path) -> RebuiltNetwork:
    assert one.user is not None
    weights = dict(one.weights)
    with _name_in_errors(one):
        example = weights.pop(EXAMPLE, None)
        if example is None or weights.pop(ANSWERS, None) is None:
            raise EnsembleError("the file has no example")
        return RebuiltNetwork(
            build_network(bundle_code.load_function(folder, one.user.build), one.user, weights), example
        )


def _check_answers(one: LoadedModel, rebuilt: RebuiltNetwork, *, several: bool) -> None:
    """Raise unless the network gives the outputs recorded in its trial: otherwise it is a different network."""
    with _name_in_errors(one):
        try:
            with torch.inference_mode():
                outputs, expected = rebuilt.network(rebuilt.example), one.weights[ANSWERS]
        except Exception as error:
            hint = "; if it imports modules when it runs, use mode between_graph" if several else ""
            raise EnsembleError(f"the network failed on its example: {type(error).__name__}: {error}{hint}") from error
        allowed = CLOSE * max(1.0, float(expected.nan_to_num().abs().max()))
        if outputs.shape != expected.shape or not torch.allclose(
            outputs, expected, rtol=0, atol=allowed, equal_nan=True
        ):
            raise EnsembleError(
                "its outputs differ from those in its trial; check that it reads no files or state outside its code"
            )


@contextlib.contextmanager
def _name_in_errors(one: LoadedModel) -> Iterator[None]:
    """Add the file's name to errors."""
    try:
        yield
    except (EnsembleError, UserCodeError) as error:
        raise EnsembleError(f"{one.file.called}: {error}") from error


def guard_embeddings(network: nn.Module) -> None:
    """Check indices before each embedding: on a GPU, an index out of range would break the whole process."""
    for layer in network.modules():
        if isinstance(layer, nn.Embedding | nn.EmbeddingBag):
            layer.register_forward_pre_hook(_check_indices)


def _check_indices(layer: nn.Module, arguments: tuple[Any, ...]) -> None:
    rows, known = arguments[0], int(layer.num_embeddings)  # type: ignore[arg-type]
    if bool(((rows < 0) | (rows >= known)).any()):
        raise IndexError(f"embedding index out of range: expected 0 to {known - 1}")
