"""A recorded computation computes the same bits as the loop, and nothing twice."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from podium.ensemble.worker.architecture_groups import groups
from podium.ensemble.worker.execution_plans import GroupPlans, Plan
from podium.ensemble.worker.tensor_graph_recording import RecordedProgram
from tests.networks import ROWS, network, placed

SAMPLE = torch.from_numpy(ROWS)


@torch.inference_mode()
def recorded(*modules: nn.Module) -> tuple[RecordedProgram, GroupPlans]:
    (group,) = groups([placed(module) for module in modules])
    plans = GroupPlans(group)
    program = plans.prepare(Plan.RECORDED_LOOP, SAMPLE)
    assert isinstance(program, RecordedProgram)
    return program, plans


@torch.inference_mode()
def assert_computes_what_the_loop_does(program: RecordedProgram, plans: GroupPlans) -> None:
    for rows in (SAMPLE, SAMPLE[:2]):
        assert torch.equal(program(rows), plans.run_loop(rows))
    alone = plans.prepare(Plan.RECORDED_LOOP, SAMPLE[:1])
    assert torch.equal(alone(SAMPLE[:1]), plans.run_loop(SAMPLE[:1]))


@pytest.mark.parametrize("model", ["mlp", "cnn"])
def test_members_of_equal_statistics_share_the_standardized_rows(model: str) -> None:
    program, plans = recorded(*(network(seed, model) for seed in range(3)))
    assert program.source.count("torch.div(") == 1
    values = [(constant.shape, constant.detach().numpy().tobytes()) for constant in program.constants.values()]
    assert len(values) == len(set(values))
    assert_computes_what_the_loop_does(program, plans)


def test_members_of_other_statistics_standardize_rows_themselves() -> None:
    program, plans = recorded(network(0), network(1), network(2, mean=4.8))
    assert program.source.count("torch.div(") == 2
    assert_computes_what_the_loop_does(program, plans)


class UserNetwork(nn.Module):
    """Calls its layers one by one, dropout included."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.dropout, self.last = nn.Linear(64, 12), nn.Dropout(0.5), nn.Linear(12, 4)

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        outputs: torch.Tensor = self.last(self.dropout(torch.relu(self.first(inputs))))
        return outputs


def test_dropout_that_is_off_copies_nothing() -> None:
    program, plans = recorded(UserNetwork().eval(), UserNetwork().eval())
    assert "clone" not in program.source
    assert_computes_what_the_loop_does(program, plans)


class WritesToItsValues(nn.Module):
    """Computes the product twice, and changes the first before the second."""

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        first = inputs[:, :4] * 2
        kept = first.clone()
        first.add_(1)
        return first + inputs[:, :4] * 2 - kept


def test_computation_that_writes_to_its_values_is_kept_as_it_is() -> None:
    program, plans = recorded(WritesToItsValues(), WritesToItsValues())
    assert "clone" in program.source
    assert_computes_what_the_loop_does(program, plans)


class UnusualConstants(nn.Module):
    """Has statistics in the columns of one buffer, and one value for all columns."""

    stats: torch.Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("stats", torch.arange(8.0).reshape(4, 2) + 1)

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        standardized = (inputs[:, :4] - self.stats[:, 0]) / self.stats[:, 1]
        return standardized * self.stats[:1, 0].expand(4) + self.stats[:1, 1]


def test_constants_may_be_views() -> None:
    program, plans = recorded(UnusualConstants(), UnusualConstants())
    assert program.source.count("torch.div(") == 1
    assert_computes_what_the_loop_does(program, plans)


class DropoutOfSlice(nn.Module):
    """Views a copy as no slice can be viewed."""

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        return inputs[:, :32].clone().view(-1, 4, 8).sum(dim=2)


def test_copies_of_slices_are_kept() -> None:
    program, plans = recorded(DropoutOfSlice(), DropoutOfSlice())
    assert program.source.count("clone(") == 1
    assert_computes_what_the_loop_does(program, plans)


class EqualNumbers(nn.Module):
    """Multiplies by numbers that Python calls equal."""

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        whole = inputs[:, :4].long()
        signs = torch.copysign(inputs[:, :4], torch.full_like(inputs[:, :4], 0.0))
        others = torch.copysign(inputs[:, :4], torch.full_like(inputs[:, :4], -0.0))
        return (whole * 2**33 - whole * float(2**33)).float() + signs - others


def test_equal_numbers_of_other_types_or_signs_are_different_arguments() -> None:
    program, plans = recorded(EqualNumbers(), EqualNumbers())
    assert program.source.count("full_like(") == 2
    assert_computes_what_the_loop_does(program, plans)


class Training(nn.Module):
    """Updates its statistics with each call."""

    mean: torch.Tensor
    variance: torch.Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(64))
        self.register_buffer("variance", torch.ones(64))

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        return nn.functional.batch_norm(inputs, self.mean, self.variance, training=True)


def test_each_member_that_trains_updates_its_own_statistics() -> None:
    members = Training(), Training()
    program, _ = recorded(*members)
    for member in members:
        member.mean.zero_()
    program(SAMPLE)
    assert all(member.mean.any() for member in members)


class Noisy(nn.Module):
    """Adds noise that differs between calls."""

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        return inputs[:, :4] + torch.rand_like(inputs[:, :4])


def test_each_member_draws_its_own_noise() -> None:
    program, _ = recorded(Noisy(), Noisy())
    first, second = program(SAMPLE)
    assert not torch.equal(first, second)
