"""Built-in networks: raw rows as input, outputs in the units of the target."""

from __future__ import annotations

import json
from typing import Any

import torch

from podium.sweep.networks import models

SETTINGS = {"hidden": 4, "layers": 0, "dropout": 0.0, "activation": "relu"}
IMAGES: dict[str, Any] = {"model": "mlp", "settings": SETTINGS, "image": [1, 1, 3], "classes": 2}
TABLE = {**IMAGES, "mean": (1.0, 100.0, -3.0), "deviation": (0.5, 20.0, 1e-3)}
VALUES = {**TABLE, "task": "regression", "target_mean": (150.0, -1.0), "target_deviation": (77.0, 0.1)}
ROWS = torch.tensor([[1.0, 120.0, -3.001], [1.5, 100.0, -3.0]])
STANDARDIZED = torch.tensor([[0.0, 1.0, -1.0], [1.0, 0.0, 0.0]])


def test_each_column_of_a_table_is_standardized_separately() -> None:
    network = models.build(TABLE)
    torch.testing.assert_close(network(ROWS), network.get_submodule("1")(STANDARDIZED), rtol=1e-3, atol=1e-3)


def test_one_mean_for_all_pixels_equals_the_same_mean_for_each() -> None:
    """A model file of either kind loads."""
    torch.manual_seed(0)
    one = models.build({**IMAGES, "mean": 4.0, "deviation": 2.0})
    torch.manual_seed(0)
    each = models.build({**IMAGES, "mean": [4.0] * 3, "deviation": [2.0] * 3})
    assert torch.equal(one(ROWS), each(ROWS))


def test_outputs_are_in_the_units_of_the_target() -> None:
    network = models.build(VALUES)
    standardized = network.get_submodule("1")(network.get_submodule("0")(ROWS))
    torch.testing.assert_close(network(ROWS), standardized * torch.tensor([77.0, 0.1]) + torch.tensor([150.0, -1.0]))


def test_untrained_regression_network_starts_near_the_target_mean() -> None:
    network = models.build(VALUES)
    for parameter in network.parameters():
        torch.nn.init.zeros_(parameter)
    torch.testing.assert_close(network(ROWS), torch.tensor([[150.0, -1.0]] * 2))


def test_regression_network_is_rebuilt_from_json() -> None:
    network, again = models.build(VALUES), models.build(json.loads(json.dumps(VALUES)))
    again.load_state_dict(network.state_dict())
    assert torch.equal(network(ROWS), again(ROWS))
