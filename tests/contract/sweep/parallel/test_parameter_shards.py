"""Parameters divided over servers: the same updates as by one optimizer, and complete state."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn

from podium.sweep.parallel import bfloat16_gradients, parameter_shards
from podium.sweep.parallel.parameter_shards import ShardOptimizer
from podium.sweep.values.errors import ParallelError

OptimizerOf = Callable[[nn.Module], torch.optim.Optimizer]


def network() -> nn.Sequential:
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(4, 6), nn.ReLU(), nn.Linear(6, 6), nn.ReLU(), nn.Linear(6, 2)).double()


def backward(model: nn.Module, seed: int) -> None:
    model.zero_grad(set_to_none=True)
    rows = torch.randn(8, 4, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    torch.autograd.backward(model(rows).square().mean())


def two_groups(model: nn.Module) -> torch.optim.Optimizer:
    """The bias terms without weight decay, as is common."""
    weights = [each for each in model.parameters() if each.ndim > 1]
    biases = [each for each in model.parameters() if each.ndim == 1]
    groups: list[dict[str, Any]] = [{"params": weights}, {"params": biases, "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, lr=0.01, weight_decay=0.1)


def momentum(model: nn.Module) -> torch.optim.Optimizer:
    return torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, nesterov=True)


@pytest.mark.parametrize("optimizer_of", [two_groups, momentum])
@pytest.mark.parametrize("servers", [1, 2, 3])
def test_shards_are_updated_as_by_one_optimizer(optimizer_of: OptimizerOf, servers: int) -> None:
    """From a state in the middle of a training, and with a learning rate that changes."""
    alone, divided = network(), network()
    optimizer, source = optimizer_of(alone), optimizer_of(divided)
    for model, each in ((alone, optimizer), (divided, source)):
        backward(model, seed=0)
        each.step()
    shards = parameter_shards.divide(divided, source, servers)
    served = [ShardOptimizer(shard, source) for shard in shards]
    for step in range(1, 4):
        for each in (optimizer, source):
            each.param_groups[0]["lr"] *= 0.5
        backward(alone, seed=step)
        optimizer.step()
        backward(divided, seed=step)
        for shard, server in zip(shards, served, strict=True):
            server.apply(shard.gradient(torch.float64))
            shard.load(server.values)
    for one, other in zip(alone.parameters(), divided.parameters(), strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=1e-15)
    state = {number: value for server in served for number, value in server.state().items()}
    for number, expected in optimizer.state_dict()["state"].items():
        torch.testing.assert_close(state[number], expected, rtol=0, atol=1e-15)


class Scaled(torch.optim.SGD):
    """An optimizer with an attribute, which SGD does not know."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__(model.parameters(), lr=0.1)
        self.scale = 0.5

    def step(self, closure: Any = None) -> Any:
        for group in self.param_groups:
            for parameter in group["params"]:
                parameter.grad.mul_(self.scale)
        return super().step(closure)


def clip(optimizer: torch.optim.Optimizer, arguments: Any, options: Any) -> None:
    """A hook before each step."""
    nn.utils.clip_grad_value_([each for group in optimizer.param_groups for each in group["params"]], 1e-3)


def test_attributes_hooks_and_a_scheduler_of_the_optimizer_are_kept() -> None:
    alone, divided = network(), network()
    optimizer, source = Scaled(alone), Scaled(divided)
    for each in (optimizer, source):
        each.register_step_pre_hook(clip)
        torch.optim.lr_scheduler.StepLR(each, 1)
    (shard,) = parameter_shards.divide(divided, source, 1)
    server = ShardOptimizer(shard, source)
    for model in (alone, divided):
        backward(model, seed=3)
    optimizer.step()
    server.apply(shard.gradient(torch.float64))
    shard.load(server.values)
    for one, other in zip(alone.parameters(), divided.parameters(), strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=1e-15)
    assert not any(
        torch.equal(one, other) for one, other in zip(alone.parameters(), network().parameters(), strict=True)
    )


def test_shards_have_about_the_same_size() -> None:
    model = network()
    sizes = [shard.size for shard in parameter_shards.divide(model, momentum(model), 2)]
    assert sum(sizes) == sum(each.numel() for each in model.parameters())
    assert max(sizes) - min(sizes) <= 6


def test_frozen_parameters_are_not_exchanged() -> None:
    model = network()
    model[0].requires_grad_(False)
    (shard,) = parameter_shards.divide(model, momentum(model), 1)
    assert shard.names == ("2.weight", "2.bias", "4.weight", "4.bias")


def test_a_parameter_without_gradient_is_named() -> None:
    model = network()
    (shard,) = parameter_shards.divide(model, momentum(model), 1)
    with pytest.raises(ParallelError, match=r"parameter '0\.weight' has no gradient; use it in every loss"):
        shard.gradient(torch.float64)


def test_more_servers_than_parameters_are_refused() -> None:
    model = nn.Linear(3, 1)
    with pytest.raises(ParallelError, match="servers is 3, but the optimizer has 2 parameters"):
        parameter_shards.divide(model, momentum(model), 3)


def test_parameters_of_another_model_and_of_several_dtypes_are_refused() -> None:
    model = network()
    with pytest.raises(ParallelError, match="6 parameters of the optimizer do not belong to the model"):
        parameter_shards.divide(network(), momentum(model), 1)
    model[4].float()
    with pytest.raises(ParallelError, match="several dtypes"):
        parameter_shards.divide(model, momentum(model), 1)


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32, torch.int8])
def test_only_bfloat16_compresses(dtype: torch.dtype) -> None:
    with pytest.raises(ParallelError, match=r"it must be torch\.bfloat16"):
        bfloat16_gradients.check(dtype, network())
    bfloat16_gradients.check(torch.bfloat16, network())
    bfloat16_gradients.check(None, network().half())


def test_compression_of_16_bit_parameters_is_refused() -> None:
    with pytest.raises(ParallelError, match=r"'0\.weight' is torch\.float16"):
        bfloat16_gradients.check(torch.bfloat16, network().half())
