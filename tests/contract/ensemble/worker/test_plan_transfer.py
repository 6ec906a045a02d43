"""Plans that one process has chosen compute the same in another one that has the same networks."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn

from podium.ensemble.worker import plan_selection, plan_transfer
from podium.ensemble.worker.execution_plans import RECORDED, Plan
from podium.ensemble.worker.in_graph_network import InGraphNetwork
from podium.ensemble.worker.plan_selection import SIZES, GroupChoices, NetworkChoices, PlanChoice
from podium.ensemble.worker.tensor_graph_recording import STANDARD_NAMES, RecordedProgram
from tests.networks import CPU, ROWS, network, placed, traced_network

ANY_PLAN = (Plan.STACKED, *RECORDED)


def ensemble(*kinds: str) -> InGraphNetwork:
    """A network as each of the two processes has it."""
    return traced_network([placed(network(seed, kind)) for seed, kind in enumerate(kinds)])


@torch.inference_mode()
def chosen(whole: InGraphNetwork, plan: Plan) -> NetworkChoices:
    """The plan for all sizes, without a benchmark."""
    samples = plan_selection.samples(64, CPU)
    groups = [
        GroupChoices(
            {
                size: PlanChoice(size, plan, group_plans.prepare(plan, samples[size]), {Plan.LOOP: 2.0, plan: 1.0})
                for size in SIZES
            }
        )
        for group_plans in whole.plans
    ]
    threads = dict.fromkeys(SIZES, 1)
    return NetworkChoices(groups, threads, dict.fromkeys(SIZES, False), {1: {"at once": 3.0}}, 1.5)


def moved(choices: NetworkChoices, sender: InGraphNetwork, receiver: InGraphNetwork) -> NetworkChoices:
    return plan_transfer.unpack(plan_transfer.pack(choices, sender.plans), receiver.plans)


def used(whole: InGraphNetwork) -> list[str]:
    """The plan of each size of the first group."""
    return [size["plan"] for size in whole.plan()["groups"][0]["sizes"]]


@pytest.mark.parametrize(
    ("kinds", "plan"),
    [
        *((("mlp", "mlp", "mlp"), plan) for plan in ANY_PLAN),
        pytest.param(("cnn", "cnn"), Plan.STACKED, marks=pytest.mark.slow),
        # a recording of stacked convolutions is valid for its number of rows only
        pytest.param(("cnn", "cnn"), Plan.RECORDED_LOOP, marks=pytest.mark.slow),
        (("mlp", "cnn", "mlp"), Plan.RECORDED_LOOP),
    ],
)
def test_moved_plan_computes_the_same_bits(kinds: Sequence[str], plan: Plan) -> None:
    sender, receiver = ensemble(*kinds), ensemble(*kinds)
    choices = chosen(sender, plan)
    receiver.adopt(moved(choices, sender, receiver), 64)
    sender.adopt(choices, 64)
    assert used(receiver) == [plan] * 3
    assert receiver.plan() == sender.plan()
    assert (receiver.plan()["state"], receiver.plan()["warm_s"]) == ("chosen", 1.5)
    for rows in (ROWS[:1], ROWS[:5], ROWS, np.tile(ROWS, (5, 1))):
        np.testing.assert_array_equal(receiver.predict(rows).predictions, sender.predict(rows).predictions)


@pytest.mark.parametrize("plan", RECORDED)
def test_constants_that_are_stored_in_weights_are_not_copied(plan: Plan) -> None:
    sender, receiver = ensemble("mlp", "mlp"), ensemble("mlp", "mlp")
    (group,) = moved(chosen(sender, plan), sender, receiver).groups
    weights = {
        weight.untyped_storage().data_ptr() for group_plans in receiver.plans for weight in group_plans.weights()
    }
    program = group.choices[64].compute
    assert isinstance(program, RecordedProgram)
    copied = [held for held in program.constants.values() if held.untyped_storage().data_ptr() not in weights]
    assert len(copied) < len(program.constants)
    assert all(held.numel() <= 24 for held in copied), "only biases, of two members with 12 units"


def test_loop_replaces_a_plan_that_uses_an_object_of_its_process() -> None:
    sender, receiver = ensemble("mlp"), ensemble("mlp")
    source = "def forward(self, rows):\n    return local(rows)\n"
    programs = (
        RecordedProgram.bind(source, {**STANDARD_NAMES, "local": lambda rows: rows}, {}),
        RecordedProgram.bind(source, {**STANDARD_NAMES, "local": operator.neg}, {"held": nn.Linear(1, 1)}),
    )
    for program, why in zip(programs, ("its code uses <function", "a constant of type Linear"), strict=True):
        choices = chosen(sender, Plan.LOOP)
        local = replace(choices.groups[0].choices[1], plan=Plan.RECORDED_LOOP, compute=program)
        group = GroupChoices({**choices.groups[0].choices, 1: local}, "it failed once")
        (found,) = moved(replace(choices, groups=[group]), sender, receiver).groups
        assert found.choices[1].plan is Plan.LOOP and why in found.choices[1].refused[Plan.RECORDED_LOOP]
        assert found.fell_back == "it failed once"


@pytest.mark.parametrize("plan", ANY_PLAN)
def test_loop_replaces_a_plan_that_computes_something_else_here(plan: Plan) -> None:
    sender, receiver = ensemble("mlp", "mlp"), ensemble("mlp", "mlp")
    choices = moved(chosen(sender, plan), sender, receiver)
    right = choices.groups[0].choices

    def raises(_: torch.Tensor) -> torch.Tensor:
        raise RuntimeError("no such kernel")

    wrong = {1: replace(right[1], compute=lambda rows: right[1].compute(rows) + 1e-3), 64: right[64]}
    wrong[1024] = replace(right[1024], compute=raises)
    receiver.adopt(replace(choices, groups=[GroupChoices(wrong)]), 64)
    assert used(receiver) == ["loop", plan, "loop"]
    one, _, large = receiver.plan()["groups"][0]["sizes"]
    assert "differ from the loop's by 1.0e-03" in one["refused"][plan]
    assert large["refused"][plan] == "RuntimeError: no such kernel"
    np.testing.assert_allclose(receiver.predict(ROWS).predictions, sender.predict(ROWS).predictions, atol=1e-6)


def test_damaged_content_is_refused() -> None:
    whole = ensemble("mlp", "mlp")
    content = plan_transfer.pack(chosen(whole, Plan.RECORDED_LOOP), whole.plans)
    with pytest.raises(Exception, match=r".+"):
        plan_transfer.unpack(content[: len(content) // 2], whole.plans)
    assert whole.plan()["state"] == "preparing" and not whole.predict(ROWS).failed
