"""Linear layers in int8: close to float32, and the outputs of a row do not depend on the other rows."""

from __future__ import annotations

import copy
from collections import OrderedDict

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from podium.ensemble.values.ensemble_spec import Precision, Task
from podium.ensemble.worker import int8_linear
from podium.ensemble.worker.architecture_groups import PlacedNetwork, groups
from podium.ensemble.worker.execution_plans import GroupPlans, Plan
from podium.ensemble.worker.int8_linear import LEVELS, Int8Linear
from podium.ensemble.worker.network_loading import ServingModule
from podium.ensemble.worker.plan_selection import PlanBenchmark
from podium.sweep.values.errors import EnsembleError
from tests.networks import CPU


def layer(inputs: int, outputs: int, seed: int = 0, *, bias: bool = True) -> nn.Linear:
    torch.manual_seed(seed)
    return nn.Linear(inputs, outputs, bias=bias)


def rows(count: int, inputs: int, seed: int = 1) -> torch.Tensor:
    return torch.randn((count, inputs), generator=torch.Generator().manual_seed(seed))


@given(st.integers(1, 40), st.integers(1, 40), st.integers(1, 9), st.integers(0, 99), st.booleans())
def test_outputs_differ_from_float32_by_no_more_than_the_rounding(
    inputs: int, outputs: int, count: int, seed: int, bias: bool
) -> None:
    exact = layer(inputs, outputs, seed, bias=bias)
    found = rows(count, inputs, seed)
    with torch.inference_mode():
        difference = (Int8Linear(exact)(found) - exact(found)).abs()
    # Each factor is rounded by at most half a step: |ab - a'b'| <= |a| step_b / 2 + |b| step_a / 2 + step_a step_b / 4.
    step_row = found.abs().amax(dim=1, keepdim=True) / LEVELS
    step_weight = exact.weight.detach().abs().amax(dim=1) / LEVELS
    bound = (
        found.abs().sum(dim=1, keepdim=True) * step_weight / 2
        + exact.weight.detach().abs().sum(dim=1) * step_row / 2
        + inputs * step_row * step_weight / 4
    )
    assert bool((difference <= bound + 1e-5).all())


@pytest.mark.parametrize("inputs", [1, 2, 7, 16, 65])
@pytest.mark.parametrize("outputs", [1, 2, 10, 33])
def test_products_are_exact_whatever_the_strides(inputs: int, outputs: int) -> None:
    quantized = Int8Linear(layer(inputs, outputs))
    quantized.check()
    wide = rows(inputs, 20).t()
    with torch.inference_mode():
        assert torch.equal(quantized(wide), quantized(wide.contiguous()))


def test_wrong_product_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """As `torch._int_mm` of PyTorch 2.13 gives it for one input, if the strides of the weights are both 1."""
    quantized = Int8Linear(layer(3, 4))
    product = int8_linear.integer_product
    monkeypatch.setattr(int8_linear, "integer_product", lambda rows, weight: product(rows, weight) + (len(rows) == 3))
    with pytest.raises(EnsembleError, match="3 rows in int8 with a layer of 3 inputs and 4 outputs is wrong"):
        int8_linear.check(nn.Sequential(quantized))


def test_integers_with_a_scale_of_one_are_exact() -> None:
    exact = nn.Linear(3, 2)
    with torch.no_grad():
        exact.weight.copy_(torch.tensor([[127.0, -5.0, 0.0], [1.0, 127.0, -127.0]]))
        exact.bias.copy_(torch.tensor([0.5, -1.0]))
    found = Int8Linear(exact)(torch.tensor([[127.0, 2.0, 1.0], [-127.0, 0.0, 3.0]]))
    torch.testing.assert_close(found, exact(torch.tensor([[127.0, 2.0, 1.0], [-127.0, 0.0, 3.0]])), rtol=1e-6, atol=0)


def test_a_row_has_the_same_outputs_in_every_batch_bit_for_bit() -> None:
    quantized = Int8Linear(layer(50, 20))
    found = rows(33, 50) * torch.logspace(-3, 3, 33).unsqueeze(1)
    with torch.inference_mode():
        together = quantized(found)
        alone = torch.cat([quantized(found[at : at + 1]) for at in range(len(found))])
    assert torch.equal(together, alone)


def test_zeros_stay_zeros_and_values_that_are_not_finite_are_not_hidden() -> None:
    quantized = Int8Linear(layer(4, 3, bias=False))
    assert torch.equal(quantized(torch.zeros(2, 4)), torch.zeros(2, 3))
    assert quantized(torch.zeros(0, 4)).shape == (0, 3)
    for wrong in (torch.nan, torch.inf):
        assert not torch.isfinite(quantized(torch.tensor([[1.0, wrong, 0.0, 2.0]]))).any()


def test_other_shapes_and_dtypes_are_those_of_the_layer() -> None:
    exact = layer(6, 5)
    found = torch.randn(2, 3, 6)
    quantized = Int8Linear(exact)
    assert quantized(found).shape == (2, 3, 5)
    assert quantized(found.to(torch.bfloat16)).dtype is torch.bfloat16
    torch.testing.assert_close(quantized(found)[1, 2], quantized(found[1, 2:3])[0], rtol=0, atol=0)


def test_weights_take_a_quarter_of_the_memory() -> None:
    exact = layer(512, 256)
    quantized = Int8Linear(exact)
    assert sum(buffer.nbytes for buffer in quantized.buffers()) < 0.26 * sum(p.nbytes for p in exact.parameters())
    assert not list(quantized.parameters())


def test_layers_that_compute_something_else_stay_as_they_are() -> None:
    class Doubled(nn.Linear):
        def forward(self, rows: torch.Tensor) -> torch.Tensor:
            return 2 * super().forward(rows)

    hooked = nn.Linear(4, 4)
    hooked.register_forward_hook(lambda *_: None)
    weight_norm = nn.utils.parametrizations.weight_norm(nn.Linear(4, 4))
    shared = nn.Linear(4, 4)
    network = nn.Sequential(
        OrderedDict(a=Doubled(4, 4), b=hooked, c=weight_norm, d=shared, e=nn.Sequential(shared), f=nn.ReLU())
    )
    assert int8_linear.quantize(network) == 1
    kept = [name for name, one in network.named_children() if not isinstance(one, Int8Linear)]
    assert kept == ["a", "b", "c", "e", "f"]
    assert network.d is network.get_submodule("e.0"), "a shared layer is quantized once"


def test_plans_of_int8_are_loops_that_give_the_same_bits() -> None:
    members = []
    for seed in range(3):
        torch.manual_seed(seed)
        model = nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 4))
        int8_linear.quantize(model)
        members.append(PlacedNetwork(ServingModule(model, Task.CLASSIFICATION).eval(), CPU, precision=Precision.INT8))
    exact = [PlacedNetwork(copy.deepcopy(one.module), CPU) for one in members]
    (group, other) = groups([*members, *exact])
    assert (group.precision, other.precision) == (Precision.INT8, Precision.FLOAT32)
    plans = GroupPlans(group)
    assert plans.candidates(slow=False) == (Plan.RECORDED_LOOP,)
    with torch.inference_mode():
        for count in (1, 17):
            sample = rows(count, 64)
            compute = plans.prepare(Plan.RECORDED_LOOP, sample)
            assert torch.equal(compute(sample), plans.run_loop(sample))
            assert not PlanBenchmark(plans, CPU, Precision.INT8).mismatch(compute, sample)


@pytest.mark.parametrize("precision", [Precision.BFLOAT16, Precision.FLOAT16])
def test_networks_in_a_lower_precision_are_not_stacked(precision: Precision) -> None:
    members = [PlacedNetwork(nn.Linear(3, 2), CPU, precision=precision) for _ in range(2)]
    (group,) = groups(members)
    assert GroupPlans(group).candidates(slow=False) == (Plan.RECORDED_LOOP,)
