"""What a user's trial leaves for ensembles: its network, checked at once to come back the same; trial process."""

from __future__ import annotations

import contextlib
import importlib
import random
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from podium.sweep.data import datasets
from podium.sweep.networks import checkpoints
from podium.sweep.networks.flat_input import Build, RowsIn, answers_of, built, dtype_of
from podium.sweep.values.errors import UserCodeError
from podium.sweep.values.network_manifest import (
    ANSWERS,
    EXAMPLE,
    EXAMPLE_ROWS,
    HEADER,
    Outputs,
    Unfit,
    UserNetwork,
    code_digest,
    read_header,
)
from podium.sweep.values.trial import Assignment

# Of the largest answer, or of 1 if that is more: for another number of rows another kernel rounds in another way.
CLOSE = 1e-3
ROUGHLY = 2e-2  # with half precision, or on a GPU, whose convolutions leave out digits (TF32)
CHECKED_ROWS = 32
_RESERVED = (HEADER, "architecture")

Example = torch.Tensor | np.ndarray
Header = UserNetwork | Unfit


def save(
    assignment: Assignment,
    path: Path,
    model: nn.Module,
    metadata: Mapping[str, str],
    *,
    example: Example | None,
    outputs: str | None,
    classes: Sequence[str] | None,
    params: Mapping[str, Any] | None,
) -> Header:
    """Write the weights of `model` to `path`, with what an ensemble must know; returns that, or why it is not enough.

    Raises `UserCodeError` when there is a `build`, but what it builds is not the network that was given.
    """
    if taken := [name for name in _RESERVED if name in metadata]:
        raise UserCodeError(f"save_model(metadata=…): the name {taken[0]!r} is Podium's own; take another")
    model = _plain(model)
    weights = checkpoints.weights_of(model)
    with _untouched(model):
        found = _described(assignment, model, weights, example, outputs, classes, params)
    header, extra = found if isinstance(found, tuple) else (found, {})
    checkpoints.write_tensors({**weights, **extra}, path, {**metadata, HEADER: header.to_json()})
    return header


def data_of(assignment: Assignment) -> datasets.Dataset | None:
    """The shared splits that the sweep file names, or None."""
    data = assignment.program.get("data")
    return None if data is None else datasets.load(data, assignment.split, Path(assignment.data_cache))


def check_predictions(
    assignment: Assignment,
    path: Path,
    predictions: Mapping[str, Any],
    data: datasets.Dataset,
    device: torch.device,
) -> None:
    """Raises `UserCodeError` unless the network that was saved to `path` says the same of the data's own rows.

    `predictions` are those that were kept, by split, computed on `device`. A network that takes rows of another width
    is let be.
    """
    weights, metadata = checkpoints.load_weights(path)
    header, found = read_header(metadata), find_build(assignment.program)
    if not isinstance(header, UserNetwork) or isinstance(found, Unfit) or header.features != data.inputs.shape[1]:
        return
    twin = built(found[1], header, {name: value for name, value in weights.items() if name not in (EXAMPLE, ANSWERS)})
    close = _close(device, *(tensor.dtype for tensor in weights.values()))
    for split, said in predictions.items():
        rows = torch.from_numpy(data.inputs[data.rows[split][:CHECKED_ROWS]]).float()
        answers = _of_twin(twin, header, rows)
        if answers.shape[1] != said.shape[1] or _apart(torch.from_numpy(said[:CHECKED_ROWS]), answers, close):
            raise UserCodeError(
                f"save_predictions: of the first rows of {split}, as they are in program.data, the network that was "
                "saved last says something else. A member is given rows as they are: what your code does to them "
                "before the network (scaling, say) belongs into the network"
            )


def _plain(model: nn.Module) -> nn.Module:
    """Without what `torch.compile` or `DataParallel` put around it: other names for the same weights."""
    if isinstance(model, nn.DataParallel | nn.parallel.DistributedDataParallel):
        inside: nn.Module = model.module
        return _plain(inside)
    original = getattr(model, "_orig_mod", None)
    return _plain(original) if isinstance(original, nn.Module) else model


@contextlib.contextmanager
def _untouched(model: nn.Module) -> Iterator[None]:
    """Leaves each layer in the mode it was in, and all generators as they were: training goes on as if not asked."""
    training = {layer: layer.training for layer in model.modules()}
    python, arrays = random.getstate(), np.random.get_state()
    try:
        with torch.random.fork_rng():
            yield
    finally:
        random.setstate(python)
        np.random.set_state(arrays)
        for layer, mode in training.items():
            layer.training = mode


def _described(
    assignment: Assignment,
    model: nn.Module,
    weights: Mapping[str, torch.Tensor],
    example: Example | None,
    outputs: str | None,
    classes: Sequence[str] | None,
    params: Mapping[str, Any] | None,
) -> tuple[UserNetwork, dict[str, torch.Tensor]] | Unfit:
    found = find_build(assignment.program)
    if isinstance(found, Unfit):
        return found
    name, build = found
    rows = _rows(model, example)
    if isinstance(rows, Unfit):
        return rows
    said = _asked(model, rows, given=example is not None)
    if isinstance(said, Unfit):
        return said
    data = data_of(assignment)
    kind = _kind(said, outputs, data)
    answers = answers_of(said, len(rows), kind)
    header = UserNetwork(
        build=name,
        bundle=assignment.program.get("bundle"),
        code_sha256="" if assignment.code is None else code_digest(Path(assignment.code)),
        params=dict(assignment.params if params is None else params),
        shape=tuple(rows.shape[1:]),
        dtype=str(rows.dtype).removeprefix("torch."),
        outputs=kind,
        classes=_names(answers.shape[1], kind, classes, data),
        data=assignment.program.get("data"),
        split=assignment.split if data is not None else {},
        rows_sha256=None if data is None else data.sha256,
    )
    header = _as_read(header)
    flat = rows.reshape(len(rows), -1).float()
    _check_type(rows, flat)
    _check_same(build, header, model, weights, flat, answers)
    return header, {EXAMPLE: flat.cpu().contiguous(), ANSWERS: answers.cpu().contiguous()}


def _as_read(header: UserNetwork) -> UserNetwork:
    """As a member will have it: what JSON makes of the parameters."""
    try:
        return UserNetwork.from_json(header.to_json())
    except (TypeError, ValueError) as error:
        raise UserCodeError(f"save_model(params=…): numbers, texts, lists and dictionaries only: {error}") from error


def find_build(program: Mapping[str, Any]) -> tuple[str, Build] | Unfit:
    """The user's function that builds the network, and its name. Raises `UserCodeError` for one named but missing."""
    objective = program.get("function")
    if objective is None:
        return Unfit("only the network of a function of your own, objective(trial), can be built again")
    module, _, _ = objective.partition(":")
    name = program.get("build") or f"{module}:build"
    module, _, function = name.partition(":")
    found = getattr(importlib.import_module(module), function, None)
    if callable(found):
        build: Build = found
        return name, build
    if program.get("build"):
        raise UserCodeError(f"program.build: {module} has no function {function!r}")
    return Unfit(
        f"{module} has no function build(params) that returns the network without its weights; write one there, or "
        "name it as program.build"
    )


def _rows(model: nn.Module, example: Example | None) -> torch.Tensor | Unfit:
    """A few rows as the network takes them, where its weights are; of its first layer's width if none are given."""
    first = next(model.parameters(), None)
    device = torch.device("cpu") if first is None else first.device
    if example is None:
        layer = next((layer for layer in model.modules() if list(layer.parameters(recurse=False))), None)
        if not isinstance(layer, nn.Linear):
            return Unfit("it is not known what rows it takes; say it: trial.save_model(model, example=batch)")
        return torch.randn(EXAMPLE_ROWS, layer.in_features, device=device, dtype=layer.weight.dtype)
    rows = torch.from_numpy(example) if isinstance(example, np.ndarray) else example
    if not isinstance(rows, torch.Tensor):
        raise UserCodeError(
            f"save_model(example=…): a {type(example).__name__}; give one tensor, the batch that goes into the network "
            "(a network of several inputs cannot join an ensemble)"
        )
    if rows.ndim == 0 or not len(rows) or not rows.numel():
        raise UserCodeError(f"save_model(example=…): shape {tuple(rows.shape)}; give a batch, rows first")
    return rows[:EXAMPLE_ROWS].detach().to(device)


def _asked(model: nn.Module, rows: torch.Tensor, *, given: bool) -> Any:
    """What the network says of the rows, at rest; a network that takes no rows that we guess is just not known."""
    model.eval()
    try:
        with torch.no_grad():  # and not inference mode: what the network keeps for later may be trained with
            return model(rows.clone())
    except Exception as error:
        if not given:
            return Unfit(
                f"it takes other rows than those its first layer looks like ({type(error).__name__}: {error}); say "
                "which: trial.save_model(model, example=batch)"
            )
        raise UserCodeError(
            f"save_model(example=…): the network raised on it, in eval mode: {type(error).__name__}: {error}"
        ) from error


def _kind(said: Any, wanted: str | None, data: datasets.Dataset | None) -> Outputs:
    """What the outputs are: as the user says, as the data is, or as they look."""
    if wanted is not None:
        if wanted not in set(Outputs):
            raise UserCodeError(f"save_model(outputs={wanted!r}): one of {', '.join(Outputs)} is wanted")
        return Outputs(wanted)
    if data is not None and data.task == "regression":
        return Outputs.VALUES
    if isinstance(said, torch.Tensor) and (said.ndim < 2 or said.shape[1] == 1) and data is None:
        raise UserCodeError(
            "save_model: one output may be a value or a class; say which: outputs='values', 'logits' or 'probabilities'"
        )
    return Outputs.PROBABILITIES if _are_probabilities(said) else Outputs.LOGITS


def _are_probabilities(said: Any) -> bool:
    if not isinstance(said, torch.Tensor) or said.ndim != 2 or said.shape[1] == 1:
        return False
    return bool((said >= 0).all()) and bool((said.float().sum(dim=1) - 1).abs().max() < CLOSE)


def _names(
    columns: int, kind: Outputs, classes: Sequence[str] | None, data: datasets.Dataset | None
) -> tuple[str, ...]:
    """Of the classes, or of the values."""
    names = data.classes if classes is None and data is not None else classes
    if names is None:
        return tuple(f"value {number}" if kind is Outputs.VALUES else str(number) for number in range(columns))
    if len(names) != columns:
        whose = "classes=…" if classes is not None else "the data"
        raise UserCodeError(f"save_model: {whose} has {len(names)} names, the network {columns} outputs")
    return tuple(map(str, names))


def _check_type(rows: torch.Tensor, flat: torch.Tensor) -> None:
    if not rows.dtype.is_floating_point and not torch.equal(flat.to(rows.dtype), rows.reshape(flat.shape)):
        raise UserCodeError(
            "save_model(example=…): whole numbers above 16,777,216; rows travel as float32, which holds none larger"
        )
    dtype_of(str(rows.dtype).removeprefix("torch."))


def _check_same(
    build: Build,
    header: UserNetwork,
    model: nn.Module,
    weights: Mapping[str, torch.Tensor],
    flat: torch.Tensor,
    answers: torch.Tensor,
) -> None:
    """Raises `UserCodeError` unless the network, built again, answers each row as the one that was trained does."""
    with torch.no_grad():
        again = answers_of(model(_shaped(flat, header)), len(flat), header.outputs)
    close = _close(flat.device, *(tensor.dtype for tensor in weights.values()))
    if _apart(again, answers, close):
        raise UserCodeError(
            "the network answers the same rows differently each time, in eval mode: something in it is drawn at random"
        )
    twin = built(build, header, weights).to(flat.device)
    said = _of_twin(twin, header, flat)
    if said.shape != answers.shape or _apart(said, answers, close):
        raise UserCodeError(
            f"{header.build} gives a network that takes the same weights but answers otherwise: it must depend on "
            "params alone, and whatever else the answers depend on must be a parameter or a buffer (register_buffer)"
        )
    if len(flat) > 1 and _apart(_of_twin(twin, header, flat[:1]), answers[:1], close):
        raise UserCodeError(
            "what the network answers to a row depends on the rows beside it: is the first dimension that of the rows "
            "(batch_first=True), and does BatchNorm keep running statistics?"
        )


def _shaped(flat: torch.Tensor, header: UserNetwork) -> torch.Tensor:
    return flat.reshape(len(flat), *header.shape).to(dtype_of(header.dtype), copy=True)


def _of_twin(twin: RowsIn, header: UserNetwork, flat: torch.Tensor) -> torch.Tensor:
    try:
        with torch.inference_mode():
            said: torch.Tensor = twin(flat)
            return said
    except UserCodeError:
        raise
    except Exception as error:
        raise UserCodeError(
            f"the network that {header.build} gives raised on {len(flat)} rows of the example: "
            f"{type(error).__name__}: {error}"
        ) from error


def _close(device: torch.device, *dtypes: torch.dtype) -> float:
    """How far apart two answers of one network may be, as a share of the largest."""
    exact = device.type == "cpu" and not {torch.bfloat16, torch.float16} & set(dtypes)
    return CLOSE if exact else ROUGHLY


def _apart(some: torch.Tensor, others: torch.Tensor, close: float) -> bool:
    allowed = close * max(1.0, float(others.nan_to_num().abs().max()))
    return not torch.allclose(some, others, rtol=0.0, atol=allowed, equal_nan=True)
