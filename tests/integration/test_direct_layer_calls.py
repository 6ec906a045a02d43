"""Layers as functions of tensors: equal outputs, or the modules as they were."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn.modules.module import register_module_forward_hook
from torch.nn.utils import parametrize

from podium.ensemble.values.ensemble_spec import Precision, Task
from podium.ensemble.worker.direct_layer_calls import DirectSequence, call_directly
from podium.ensemble.worker.network_loading import ServingModule, SingleNetwork
from podium.ensemble.worker.precision_conversion import convert_built_in
from tests.integration.test_in_graph import loaded
from tests.networks import MLP, ROWS, network, saved

FEATURES = 64
ROW_TENSOR = torch.from_numpy(ROWS)
SAMPLES = (ROW_TENSOR[:1], ROW_TENSOR)


class Doubled(nn.Linear):
    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        return 2 * super().forward(rows)


class Noise(nn.Module):
    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        return rows + torch.rand_like(rows)


class FailsLater(nn.Module):
    """Fails from its third call on."""

    calls = 0

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        self.calls += 1
        if self.calls > 2:
            raise RuntimeError("out of memory")
        return rows


class Keeps(nn.Module):
    """Its rows are the bias of `Adds`."""

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        Adds.kept = rows - 5
        return Adds.kept


class Adds(nn.Module):
    kept: torch.Tensor

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        return rows + self.kept


class Calls(nn.Linear):
    """A class with its own call."""

    def __init__(self) -> None:
        super().__init__(FEATURES, 4)

    def __call__(self, rows: torch.Tensor) -> torch.Tensor:
        outputs: torch.Tensor = super().__call__(rows)
        return 2 * outputs


class Negative(nn.Module):
    def forward(self, weight: torch.Tensor) -> torch.Tensor:
        return -weight


def hooked() -> nn.Linear:
    layer = nn.Linear(FEATURES, 4)
    layer.register_forward_hook(lambda _module, _inputs, outputs: 3 * outputs)
    return layer


def clamped() -> nn.Linear:
    layer = nn.Linear(FEATURES, 4)
    layer.forward = lambda rows: nn.functional.linear(rows, layer.weight, layer.bias).clamp(-1, 1)  # type: ignore[method-assign,assignment]
    return layer


def compiled() -> nn.Linear:
    """A layer whose compiled code computes twice its outputs. Dynamo does not compile PyTorch's own layers alone."""
    layer = Doubled(FEATURES, 4)
    layer.compile(backend=lambda graph, _: lambda *inputs: tuple(2 * each for each in graph(*inputs)))
    with torch.inference_mode():
        assert torch.equal(layer(ROW_TENSOR), 2 * layer.forward(ROW_TENSOR))
    return layer


def negated() -> nn.Module:
    layer = nn.Linear(FEATURES, 4)
    parametrize.register_parametrization(layer, "weight", Negative())
    return layer


def outputs_of(module: ServingModule) -> list[torch.Tensor]:
    with torch.inference_mode():
        return [module(ROW_TENSOR[:rows]) for rows in (1, 2, len(ROWS))]


def called(serving: ServingModule) -> list[type[nn.Module]]:
    """The classes of the modules that are called for a prediction, outermost last."""
    found: list[type[nn.Module]] = []
    with register_module_forward_hook(lambda module, _inputs, _outputs: found.append(type(module))):
        serving(ROW_TENSOR)
    return found


def direct(serving: ServingModule) -> ServingModule:
    """The same network with direct calls, which give the outputs of its modules."""
    expected = outputs_of(serving)
    call_directly(serving, SAMPLES)
    assert isinstance(serving.model, DirectSequence)
    assert all(torch.equal(one, other) for one, other in zip(outputs_of(serving), expected, strict=True))
    return serving


@pytest.mark.parametrize("precision", [Precision.FLOAT32, Precision.BFLOAT16, Precision.INT8])
@pytest.mark.parametrize(
    ("model", "changes"),
    [
        ("mlp", {"settings": {**MLP, "activation": "relu"}}),
        ("mlp", {"settings": {**MLP, "activation": "gelu"}}),
        ("mlp", {"settings": {**MLP, "activation": "tanh", "dropout": 0.0}}),
        ("mlp", {"settings": {**MLP, "layers": 0}}),
        ("mlp", {"mean": [2.0] * FEATURES, "deviation": [3.0] * FEATURES}),
        ("mlp", {"task": "regression", "target_mean": [1.0] * 4, "target_deviation": [2.0] * 4}),
        ("cnn", {}),
    ],
    ids=str,
)
def test_built_in_networks_have_the_same_outputs(model: str, changes: dict[str, Any], precision: Precision) -> None:
    built = convert_built_in(network(1, model, **changes), precision)
    serving = direct(ServingModule(built, Task.CLASSIFICATION).eval())
    assert called(serving) == [DirectSequence, ServingModule]


@pytest.mark.parametrize(
    ("layers", "as_modules"),
    [
        (lambda: [nn.Linear(FEATURES, 4, bias=False), nn.ReLU(inplace=True)], []),
        (lambda: [nn.Sequential(nn.Linear(FEATURES, 8), nn.Tanh()), nn.Sequential(), nn.Linear(8, 4)], []),
        (lambda: [nn.Unflatten(1, (8, 8)), nn.Linear(8, 3), nn.GELU("tanh"), nn.Flatten()], []),
        (lambda: [Doubled(FEATURES, 4), nn.Softplus()], []),
        (lambda: [Keeps(), nn.ReLU(inplace=True), Adds()], []),
        (lambda: [hooked(), nn.ReLU()], [nn.Linear]),
        (lambda: [clamped(), nn.ReLU()], [nn.Linear]),
        (lambda: [Calls(), nn.ReLU()], [Calls]),
        (lambda: [nn.Sequential(hooked(), nn.ReLU()), nn.Linear(4, 4)], [nn.Linear]),
    ],
)
def test_layers_that_are_more_than_their_class_are_called_as_modules(
    layers: Callable[[], list[nn.Module]], as_modules: list[type[nn.Module]]
) -> None:
    torch.manual_seed(3)
    serving = direct(ServingModule(nn.Sequential(*layers()), Task.REGRESSION).eval())
    assert called(serving) == [*as_modules, DirectSequence, ServingModule]


@pytest.mark.parametrize("layer", [negated, compiled])
def test_parametrized_and_compiled_layers_have_the_same_outputs(layer: Callable[[], nn.Module]) -> None:
    direct(ServingModule(nn.Sequential(layer(), nn.Tanh()), Task.REGRESSION).eval())


@pytest.mark.parametrize("changed", ["hook", "forward", "global hook"])
def test_sequence_that_is_more_than_its_class_is_called_as_a_module(
    changed: str, caplog: pytest.LogCaptureFixture
) -> None:
    sequence = nn.Sequential(nn.Linear(FEATURES, 4))
    serving = ServingModule(sequence, Task.REGRESSION)
    with contextlib.ExitStack() as undoing:
        if changed == "hook":
            sequence.register_forward_hook(lambda _module, _inputs, outputs: 3 * outputs)
        elif changed == "forward":
            sequence.forward = lambda rows: 3 * rows  # type: ignore[method-assign]
        else:
            undoing.enter_context(register_module_forward_hook(lambda _module, _inputs, outputs: 3 * outputs))
        call_directly(serving, SAMPLES)
    assert serving.model is sequence and not caplog.records, "without a comparison"


@pytest.mark.parametrize("layer", [Noise, FailsLater])
def test_modules_stay_if_the_outputs_differ_or_cannot_be_computed(layer: Callable[[], nn.Module]) -> None:
    sequence = nn.Sequential(nn.Linear(FEATURES, 4), layer())
    serving = ServingModule(sequence, Task.REGRESSION)
    call_directly(serving, SAMPLES)
    assert serving.model is sequence


def test_network_that_cannot_compute_the_samples_stays() -> None:
    sequence = nn.Sequential(nn.Linear(3, 4))
    serving = ServingModule(sequence, Task.REGRESSION)
    call_directly(serving, SAMPLES)
    assert serving.model is sequence


def test_network_that_is_not_a_sequence_stays() -> None:
    serving = ServingModule(nn.Linear(FEATURES, 4), Task.CLASSIFICATION)
    call_directly(serving, SAMPLES)
    assert type(serving.model) is nn.Linear


def test_member_calls_its_layers_directly_when_it_is_warm(tmp_path: Path) -> None:
    single = loaded([saved(tmp_path, 1)])
    assert isinstance(single, SingleNetwork)
    before, bytes_before = single.predict(ROWS).predictions, single.weights_bytes()
    single.warm(FEATURES)
    assert isinstance(single.placed.module.model, DirectSequence)
    assert (single.predict(ROWS).predictions == before).all()
    assert single.weights_bytes() == bytes_before
