"""Loads model files as networks that output probabilities or values; worker process."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from podium.ensemble.values.ensemble_snapshot import Combination
from podium.ensemble.values.ensemble_spec import Precision, Task
from podium.ensemble.worker import (
    direct_layer_calls,
    int8_linear,
    model_parallel_stages,
    plan_selection,
    precision_conversion,
    user_networks,
)
from podium.ensemble.worker.architecture_groups import PlacedNetwork
from podium.ensemble.worker.in_graph_network import InGraphNetwork, known_rows
from podium.ensemble.worker.model_file_spec import ModelFile
from podium.ensemble.worker.neural_network_interface import NetworkOutputs
from podium.ensemble.worker.user_networks import LoadedModel, RebuiltNetwork
from podium.sweep.networks import models, weight_files
from podium.sweep.networks.ensemble_network_adapter import check_rows
from podium.sweep.values.errors import EnsembleError

__all__ = ["InGraphNetwork", "ModelFile", "ServingModule", "SingleNetwork", "load"]

WARM_ROWS = (1, 64)


class ServingModule(nn.Module):
    """A network with outputs in float32 (rows, outputs): probabilities, or values for regression."""

    def __init__(self, model: nn.Module, task: Task) -> None:
        super().__init__()
        self.model = model
        self._classifies = task is Task.CLASSIFICATION

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        outputs: torch.Tensor = self.model(rows).float()
        return torch.softmax(outputs, dim=1) if self._classifies else outputs

    def extra_repr(self) -> str:
        return "probabilities" if self._classifies else "values"


class SingleNetwork:
    """The network of one between-graph member. Implements `Network`."""

    def __init__(self, placed: PlacedNetwork) -> None:
        self._placed = placed

    @property
    def placed(self) -> PlacedNetwork:
        """The network and its device."""
        return self._placed

    @torch.inference_mode()
    def predict(self, inputs: NDArray[np.float32]) -> NetworkOutputs:
        """Compute the outputs of the member. Raises the error of the network."""
        rows = torch.from_numpy(inputs if inputs.flags.writeable else inputs.copy())
        check_rows(self._placed.module, rows)
        answers = self._placed.module(rows.to(self._placed.device))
        return NetworkOutputs(answers.unsqueeze(0).cpu().numpy(), {}, None)

    def warm(self, features: int) -> None:
        """Compute typical batch sizes once: the first computation is slow. Raises the error of the network."""
        self.call_layers_directly(features)
        for rows in WARM_ROWS:
            self.predict(self.known_rows(rows, features))

    def call_layers_directly(self, features: int) -> None:
        """Call its layers as functions from now on, if the outputs stay the same; see `direct_layer_calls`."""
        samples = plan_selection.sample_rows(max(WARM_ROWS), features, self._placed.example).to(self._placed.device)
        direct_layer_calls.call_directly(self._placed.module, [samples[:rows] for rows in WARM_ROWS])

    def known_rows(self, rows: int, features: int) -> NDArray[np.float32]:
        """Input rows that the network accepts."""
        return known_rows(rows, features, self._placed.example)

    def weights_bytes(self) -> int:
        """The bytes of parameters and buffers, each counted once."""
        module = self._placed.module
        tensors = {tensor.data_ptr(): tensor.nbytes for tensor in [*module.parameters(), *module.buffers()]}
        return sum(tensors.values())

    def plan(self) -> dict[str, Any]:
        """Empty: there is no execution plan to choose."""
        return {}


def load(
    files: Sequence[ModelFile], *, in_graph: bool, combination: Combination, threads: int | None = None
) -> SingleNetwork | InGraphNetwork:
    """Load the network of a worker; `threads` as in `InGraphNetwork`.

    Raises `EnsembleError` naming the file that is missing, damaged or invalid.
    """
    loaded = [user_networks.read(file) for file in files]
    rebuilt = user_networks.rebuild(loaded)
    members = [
        _place_user_network(one, rebuilt[position]) if position in rebuilt else _place_built_in(one)
        for position, one in enumerate(loaded)
    ]
    if in_graph:
        return InGraphNetwork(members, combination, threads=threads)
    (member,) = members
    return SingleNetwork(member)


def _place_built_in(one: LoadedModel) -> PlacedNetwork:
    try:
        architecture: dict[str, Any] = weight_files.architecture_of(one.metadata)
        model = models.build(architecture)
        model.load_state_dict(one.weights)
        task = Task(architecture.get("task", Task.CLASSIFICATION))
    except Exception as error:
        raise EnsembleError(f"{one.file.called} is not a Podium model: {error}") from error
    device, precision = _device_and_precision(one.file)
    model = model_parallel_stages.place(precision_conversion.convert_built_in(model, precision), _devices(one.file))
    network = ServingModule(model, task).eval()
    int8_linear.check(network)
    return PlacedNetwork(network, device, one.file.device_index, precision=precision)


def _place_user_network(one: LoadedModel, rebuilt: RebuiltNetwork) -> PlacedNetwork:
    """Place a user's network. Its outputs need no conversion."""
    device, precision = _device_and_precision(one.file)
    network = precision_conversion.convert_users(rebuilt.network, precision)
    if device.type == "cuda":
        user_networks.guard_embeddings(network)
    network.network = model_parallel_stages.place(network.network, _devices(one.file))
    network = network.eval()
    int8_linear.check(network)
    return PlacedNetwork(network, device, one.file.device_index, rebuilt.example, precision)


def _devices(file: ModelFile) -> list[torch.device]:
    """The device of each stage."""
    return [_device(index) for index in file.stages or (file.device_index,)]


def _device(index: int) -> torch.device:
    return torch.device("cuda", index) if torch.cuda.is_available() else torch.device("cpu")


def _device_and_precision(file: ModelFile) -> tuple[torch.device, Precision]:
    device = _device(file.device_index)
    precision = Precision(file.precision)
    precision_conversion.check_device(precision, device)
    return device, precision
