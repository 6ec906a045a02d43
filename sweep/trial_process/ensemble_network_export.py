"""Saves the network of a user's trial for ensembles, and verifies that it can be rebuilt; trial process."""

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

from podium.sweep.data import memory_mapped_datasets
from podium.sweep.networks import weight_files
from podium.sweep.networks.ensemble_network_adapter import (
    Build,
    FlatInputAdapter,
    build_network,
    dtype_of,
    forward_float32,
)
from podium.sweep.values.attempt_assignment import Assignment
from podium.sweep.values.errors import UserCodeError
from podium.sweep.values.saved_network_manifest import (
    ANSWERS,
    EXAMPLE,
    EXAMPLE_ROWS,
    HEADER,
    NetworkManifest,
    NotExportable,
    Outputs,
    code_digest,
    read_header,
)

# Relative to the largest output, or to 1 if that is larger: kernels for other numbers of rows round differently.
TOLERANCE = 1e-3
LOW_PRECISION_TOLERANCE = 2e-2  # with half precision, or on a GPU, whose convolutions use TF32
CHECKED_ROWS = 32
_RESERVED = (HEADER, "architecture")

Example = torch.Tensor | np.ndarray
Header = NetworkManifest | NotExportable


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
    """Write the weights and the manifest of `model` to `path`.

    Returns the manifest, or why the network cannot join ensembles. Raises `UserCodeError` if there is a `build`
    function that does not reproduce the network.
    """
    if reserved := [name for name in _RESERVED if name in metadata]:
        raise UserCodeError(f"save_model(metadata=…): the name {reserved[0]!r} is reserved; use another")
    model = _unwrapped(model)
    weights = weight_files.weights_of(model)
    with _preserved_state(model):
        found = _export(
            assignment, model, weights=weights, example=example, outputs=outputs, classes=classes, params=params
        )
    header, extra = found if isinstance(found, tuple) else (found, {})
    weight_files.write_tensors({**weights, **extra}, path, {**metadata, HEADER: header.to_json()})
    return header


def data_of(assignment: Assignment) -> memory_mapped_datasets.Dataset | None:
    """The data set of `program.data`, or None."""
    data = assignment.program.get("data")
    return None if data is None else memory_mapped_datasets.load(data, assignment.split, Path(assignment.data_cache))


def check_predictions(
    assignment: Assignment,
    path: Path,
    predictions: Mapping[str, Any],
    data: memory_mapped_datasets.Dataset,
    device: torch.device,
) -> None:
    """Raise `UserCodeError` unless the network in `path` gives the saved predictions for the rows of the data set.

    `predictions` are by split, computed on `device`. A network with inputs of another width is not checked.
    """
    weights, metadata = weight_files.load_weights(path)
    header, found = read_header(metadata), find_build(assignment.program)
    if (
        not isinstance(header, NetworkManifest)
        or isinstance(found, NotExportable)
        or header.features != data.inputs.shape[1]
    ):
        return
    rebuilt = build_network(
        found[1], header, {name: value for name, value in weights.items() if name not in (EXAMPLE, ANSWERS)}
    )
    tolerance = _tolerance(device, *(tensor.dtype for tensor in weights.values()))
    for split, saved in predictions.items():
        rows = torch.from_numpy(data.inputs[data.rows[split][:CHECKED_ROWS]]).float()
        answers = _outputs_of_rebuilt(rebuilt, header, rows)
        if answers.shape[1] != saved.shape[1] or _is_different(
            torch.from_numpy(saved[:CHECKED_ROWS]), answers, tolerance
        ):
            raise UserCodeError(
                f"save_predictions: the network that was saved last gives other predictions for the first rows of "
                f"{split} in program.data. A member gets rows as they are in the data: preprocessing such as scaling "
                "must be part of the network"
            )


def _unwrapped(model: nn.Module) -> nn.Module:
    """The model without the wrappers of `torch.compile` and `DataParallel`, which rename the weights."""
    if isinstance(model, nn.DataParallel | nn.parallel.DistributedDataParallel):
        inside: nn.Module = model.module
        return _unwrapped(inside)
    original = getattr(model, "_orig_mod", None)
    return _unwrapped(original) if isinstance(original, nn.Module) else model


@contextlib.contextmanager
def _preserved_state(model: nn.Module) -> Iterator[None]:
    """Restore the mode of each layer and all random number generators, so that training is unaffected."""
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


def _export(
    assignment: Assignment,
    model: nn.Module,
    weights: Mapping[str, torch.Tensor],
    example: Example | None,
    outputs: str | None,
    classes: Sequence[str] | None,
    params: Mapping[str, Any] | None,
) -> tuple[NetworkManifest, dict[str, torch.Tensor]] | NotExportable:
    found = find_build(assignment.program)
    if isinstance(found, NotExportable):
        return found
    name, build = found
    rows = _rows(model, example)
    if isinstance(rows, NotExportable):
        return rows
    raw = _outputs_of(model, rows, given=example is not None)
    if isinstance(raw, NotExportable):
        return raw
    data = data_of(assignment)
    kind = _kind(raw, outputs, data)
    answers = forward_float32(raw, len(rows), kind)
    header = NetworkManifest(
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
    header = _read_back(header)
    flat = rows.reshape(len(rows), -1).float()
    _check_dtype(rows, flat)
    _check_rebuilt(build, header, model=model, weights=weights, flat=flat, answers=answers)
    return header, {EXAMPLE: flat.cpu().contiguous(), ANSWERS: answers.cpu().contiguous()}


def _read_back(header: NetworkManifest) -> NetworkManifest:
    """The manifest after a JSON round trip, as a member reads it."""
    try:
        return NetworkManifest.from_json(header.to_json())
    except (TypeError, ValueError) as error:
        raise UserCodeError(f"save_model(params=…): expected numbers, strings, lists and dicts: {error}") from error


def find_build(program: Mapping[str, Any]) -> tuple[str, Build] | NotExportable:
    """The user's function that builds the network, and its name.

    Raises `UserCodeError` if `program.build` names a function that does not exist.
    """
    objective = program.get("function")
    if objective is None:
        return NotExportable("only the network of a function objective(trial) can be rebuilt, not that of a script")
    module, _, _ = objective.partition(":")
    name = program.get("build") or f"{module}:build"
    module, _, function = name.partition(":")
    found = getattr(importlib.import_module(module), function, None)
    if callable(found):
        build: Build = found
        return name, build
    if program.get("build"):
        raise UserCodeError(f"program.build: {module} has no function {function!r}")
    return NotExportable(
        f"{module} has no function build(params) that returns the untrained network; add one, or name another as "
        "program.build"
    )


def _rows(model: nn.Module, example: Example | None) -> torch.Tensor | NotExportable:
    """A few input rows on the device of the weights; without an example, random ones for a linear first layer."""
    first = next(model.parameters(), None)
    device = torch.device("cpu") if first is None else first.device
    if example is None:
        layer = next((layer for layer in model.modules() if list(layer.parameters(recurse=False))), None)
        if not isinstance(layer, nn.Linear):
            return NotExportable(
                "the shape of its input rows is unknown; pass it: trial.save_model(model, example=batch)"
            )
        return torch.randn(EXAMPLE_ROWS, layer.in_features, device=device, dtype=layer.weight.dtype)
    rows = torch.from_numpy(example) if isinstance(example, np.ndarray) else example
    if not isinstance(rows, torch.Tensor):
        raise UserCodeError(
            f"save_model(example=…): expected one tensor, a batch of inputs, got a {type(example).__name__} (a network "
            "with several inputs cannot join an ensemble)"
        )
    if rows.ndim == 0 or not len(rows) or not rows.numel():
        raise UserCodeError(f"save_model(example=…): expected a batch, rows first, got shape {tuple(rows.shape)}")
    return rows[:EXAMPLE_ROWS].detach().to(device)


def _outputs_of(model: nn.Module, rows: torch.Tensor, *, given: bool) -> Any:
    """The outputs of the network in evaluation mode; `NotExportable` if it rejects rows that were not `given`."""
    model.eval()
    try:
        with torch.no_grad():  # not inference mode: the network may cache tensors that it trains with later
            return model(rows.clone())
    except Exception as error:
        if not given:
            return NotExportable(
                f"it rejects rows of the width of its first layer ({type(error).__name__}: {error}); pass an example: "
                "trial.save_model(model, example=batch)"
            )
        raise UserCodeError(
            f"save_model(example=…): the network in evaluation mode raised {type(error).__name__}: {error}"
        ) from error


def _kind(raw: Any, given: str | None, data: memory_mapped_datasets.Dataset | None) -> Outputs:
    """The kind of outputs: as given, by the task of the data, or by their values."""
    if given is not None:
        if given not in set(Outputs):
            raise UserCodeError(f"save_model(outputs={given!r}): expected one of {', '.join(Outputs)}")
        return Outputs(given)
    if data is not None and data.task == "regression":
        return Outputs.VALUES
    if isinstance(raw, torch.Tensor) and (raw.ndim < 2 or raw.shape[1] == 1) and data is None:
        raise UserCodeError(
            "save_model: a single output is ambiguous; pass outputs='values', 'logits' or 'probabilities'"
        )
    return Outputs.PROBABILITIES if _are_probabilities(raw) else Outputs.LOGITS


def _are_probabilities(raw: Any) -> bool:
    if not isinstance(raw, torch.Tensor) or raw.ndim != 2 or raw.shape[1] == 1:
        return False
    return bool((raw >= 0).all()) and bool((raw.float().sum(dim=1) - 1).abs().max() < TOLERANCE)


def _names(
    columns: int, kind: Outputs, classes: Sequence[str] | None, data: memory_mapped_datasets.Dataset | None
) -> tuple[str, ...]:
    """The names of the classes or values."""
    names = data.classes if classes is None and data is not None else classes
    if names is None:
        return tuple(f"value {number}" if kind is Outputs.VALUES else str(number) for number in range(columns))
    if len(names) != columns:
        whose = "classes=…" if classes is not None else "the data"
        raise UserCodeError(f"save_model: {whose} has {len(names)} names, but the network has {columns} outputs")
    return tuple(map(str, names))


def _check_dtype(rows: torch.Tensor, flat: torch.Tensor) -> None:
    if not rows.dtype.is_floating_point and not torch.equal(flat.to(rows.dtype), rows.reshape(flat.shape)):
        raise UserCodeError(
            "save_model(example=…): integers above 16,777,216 are not exact in float32, the type of rows in requests"
        )
    dtype_of(str(rows.dtype).removeprefix("torch."))


def _check_rebuilt(
    build: Build,
    header: NetworkManifest,
    model: nn.Module,
    weights: Mapping[str, torch.Tensor],
    flat: torch.Tensor,
    answers: torch.Tensor,
) -> None:
    """Raise `UserCodeError` unless the rebuilt network gives the same outputs as the trained one."""
    with torch.no_grad():
        again = forward_float32(model(_shaped(flat, header)), len(flat), header.outputs)
    tolerance = _tolerance(flat.device, *(tensor.dtype for tensor in weights.values()))
    if _is_different(again, answers, tolerance):
        raise UserCodeError(
            "the network in evaluation mode is not deterministic: it gives different outputs for the same rows"
        )
    rebuilt = build_network(build, header, weights).to(flat.device)
    outputs = _outputs_of_rebuilt(rebuilt, header, flat)
    if outputs.shape != answers.shape or _is_different(outputs, answers, tolerance):
        raise UserCodeError(
            f"{header.build} returned a network with the same weights but different outputs: it must depend on params "
            "only, and any other state must be a parameter or a buffer (register_buffer)"
        )
    if len(flat) > 1 and _is_different(_outputs_of_rebuilt(rebuilt, header, flat[:1]), answers[:1], tolerance):
        raise UserCodeError(
            "the output for a row depends on the other rows of the batch; check that the first dimension is the rows "
            "(batch_first=True), and that BatchNorm tracks running statistics"
        )


def _shaped(flat: torch.Tensor, header: NetworkManifest) -> torch.Tensor:
    return flat.reshape(len(flat), *header.shape).to(dtype_of(header.dtype), copy=True)


def _outputs_of_rebuilt(rebuilt: FlatInputAdapter, header: NetworkManifest, flat: torch.Tensor) -> torch.Tensor:
    try:
        with torch.inference_mode():
            outputs: torch.Tensor = rebuilt(flat)
            return outputs
    except UserCodeError:
        raise
    except Exception as error:
        raise UserCodeError(
            f"the network that {header.build} returned failed on {len(flat)} rows of the example: "
            f"{type(error).__name__}: {error}"
        ) from error


def _tolerance(device: torch.device, *dtypes: torch.dtype) -> float:
    """The largest difference between equal outputs, relative to the largest output."""
    exact = device.type == "cpu" and not {torch.bfloat16, torch.float16} & set(dtypes)
    return TOLERANCE if exact else LOW_PRECISION_TOLERANCE


def _is_different(some: torch.Tensor, others: torch.Tensor, tolerance: float) -> bool:
    allowed = tolerance * max(1.0, float(others.nan_to_num().abs().max()))
    return not torch.allclose(some, others, rtol=0.0, atol=allowed, equal_nan=True)
