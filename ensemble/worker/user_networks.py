"""Users' networks built again from their code and weights, and asked at once what their trial asked; worker."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import nn

from podium.ensemble.building import trial_outputs
from podium.ensemble.worker import bundle_code
from podium.ensemble.worker.network import ModelFile
from podium.sweep.networks import checkpoints
from podium.sweep.networks.flat_input import RowsIn, built
from podium.sweep.runtime.atomic_files import named
from podium.sweep.runtime.layout import DataDirectory
from podium.sweep.values.errors import EnsembleError, UserCodeError
from podium.sweep.values.network_manifest import ANSWERS, EXAMPLE, Unfit, UserNetwork, read_header

CLOSE = 5e-2  # of the largest answer, or of 1 if that is more: another device may compute in other steps


@dataclass(frozen=True, slots=True)
class LoadedModel:
    """A model's file, read: its tensors, its metadata, and what it says if it is a user's."""

    file: ModelFile
    weights: dict[str, torch.Tensor]
    metadata: dict[str, str]
    user: UserNetwork | None


@dataclass(frozen=True, slots=True)
class RebuiltNetwork:
    """A user's network, on the CPU, and the rows that its trial tried it on."""

    network: RowsIn
    example: torch.Tensor


def read(file: ModelFile) -> LoadedModel:
    """Raises `EnsembleError` for a file that is missing, changed, or cannot be a member."""
    weights, metadata = checkpoints.load_weights(Path(file.path), file.sha256)
    try:
        header = read_header(metadata)
    except Exception as error:
        raise EnsembleError(f"{named(Path(file.path))} is damaged: {error}") from error
    if isinstance(header, Unfit):
        raise EnsembleError(f"{named(Path(file.path))}: this network cannot join an ensemble: {header.reason}")
    return LoadedModel(file, weights, metadata, header)


def rebuild(files: Sequence[LoadedModel]) -> dict[int, RebuiltNetwork]:
    """The users' networks among the files, by position. Raises `EnsembleError` naming the file it is about."""
    folders = {position: _folder(one) for position, one in enumerate(files) if one.user is not None}
    found: dict[int, RebuiltNetwork] = {}
    several = len(set(folders.values())) > 1
    for folder in dict.fromkeys(folders.values()):
        with bundle_code.importable(folder, alone=not several):
            for position in [position for position, its in folders.items() if its == folder]:
                found[position] = _rebuilt(files[position], folder)
    for position, rebuilt in found.items():  # after the last import: what is imported later is not there
        _check_answers(files[position], rebuilt, several=several)
    return found


def _folder(one: LoadedModel) -> Path:
    assert one.user is not None
    with _naming(one):
        return trial_outputs.check_code(DataDirectory(Path(one.file.data_dir)), one.user.bundle, one.user.code_sha256)


def _rebuilt(one: LoadedModel, folder: Path) -> RebuiltNetwork:
    assert one.user is not None
    weights = dict(one.weights)
    with _naming(one):
        example = weights.pop(EXAMPLE, None)
        if example is None or weights.pop(ANSWERS, None) is None:
            raise EnsembleError("its example is missing")
        return RebuiltNetwork(built(bundle_code.load_function(folder, one.user.build), one.user, weights), example)


def _check_answers(one: LoadedModel, rebuilt: RebuiltNetwork, *, several: bool) -> None:
    """What was said in the trial is said here: else it is another network, whatever its weights."""
    with _naming(one):
        try:
            with torch.inference_mode():
                said, expected = rebuilt.network(rebuilt.example), one.weights[ANSWERS]
        except Exception as error:
            more = "; it may import as it runs, which needs mode between_graph beside other code" if several else ""
            raise EnsembleError(f"it raised on the rows of its trial: {type(error).__name__}: {error}{more}") from error
        allowed = CLOSE * max(1.0, float(expected.nan_to_num().abs().max()))
        if said.shape != expected.shape or not torch.allclose(said, expected, rtol=0, atol=allowed, equal_nan=True):
            raise EnsembleError("it answers otherwise than in its trial; does it read anything beside its code?")


@contextlib.contextmanager
def _naming(one: LoadedModel) -> Iterator[None]:
    """Errors name the file."""
    try:
        yield
    except (EnsembleError, UserCodeError) as error:
        raise EnsembleError(f"{named(Path(one.file.path))}: {error}") from error


def guard_embeddings(network: nn.Module) -> None:
    """An index out of range is an error of its request: a GPU would fail for good, for everybody on it."""
    for layer in network.modules():
        if isinstance(layer, nn.Embedding | nn.EmbeddingBag):
            layer.register_forward_pre_hook(_check_indices)


def _check_indices(layer: nn.Module, arguments: tuple[Any, ...]) -> None:
    rows, known = arguments[0], int(layer.num_embeddings)  # type: ignore[arg-type]
    if bool(((rows < 0) | (rows >= known)).any()):
        raise IndexError(f"index out of range: {known} are embedded, from 0 to {known - 1}")
