"""Every accepted plan gives the results of the loop, and no plan slower than the loop is chosen."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from podium.ensemble.values.ensemble_spec import Precision, Task
from podium.ensemble.worker import plan_selection
from podium.ensemble.worker.architecture_groups import Group, PlacedNetwork, groups, signature
from podium.ensemble.worker.execution_plans import QUICK, GroupPlans, Plan
from podium.ensemble.worker.plan_selection import PlanBenchmark
from tests.networks import CNN, CPU, MLP, FailsOnValue, network, placed

LONG_S = 1e9


def group(*modules: nn.Module) -> Group:
    (only,) = groups([placed(module) for module in modules])
    return only


def trial(*modules: nn.Module, slow: bool = False) -> PlanBenchmark:
    return PlanBenchmark(GroupPlans(group(*modules)), CPU, Precision.FLOAT32, slow)


def rows(count: int, features: int = 64) -> torch.Tensor:
    return plan_selection.samples(features, CPU)[1024][:count]


MLPS = st.fixed_dictionaries(
    {
        "hidden": st.integers(1, 20),
        "layers": st.integers(0, 3),
        "dropout": st.sampled_from([0.0, 0.4]),
        "activation": st.sampled_from(["relu", "gelu", "tanh"]),
    }
)
CNNS = st.fixed_dictionaries(
    {
        "channels": st.integers(1, 4),
        "blocks": st.integers(1, 4),
        "hidden": st.integers(1, 9),
        "dropout": st.sampled_from([0.0, 0.4]),
    }
)


@pytest.mark.slow
@settings(max_examples=8, deadline=None)
@given(
    st.one_of(st.tuples(st.just("mlp"), MLPS), st.tuples(st.just("cnn"), CNNS)),
    st.integers(1, 4),
    st.sampled_from([1, 33, 64]),
)
@torch.inference_mode()
def test_accepted_plans_equal_the_loop_on_any_rows_of_their_size(
    kind: tuple[str, dict[str, Any]], members: int, size: int
) -> None:
    model, chosen = kind
    tried = trial(*(network(seed, model, settings=chosen) for seed in range(members)))
    ready, refused = tried.candidates(rows(size), loop_s=LONG_S, until_s=float("inf"))
    assert set(ready) | set(refused) == set(tried.plans.candidates(slow=False))
    assert Plan.RECORDED_LOOP in ready
    for count in {1} if size == 1 else {2, 3, size - 1}:
        expected = tried.plans.run_loop(rows(count))
        for plan, compute in ready.items():
            torch.testing.assert_close(compute(rows(count)), expected, atol=1e-6, rtol=1e-6, msg=plan.value)


@pytest.mark.parametrize("model", ["mlp", "cnn"])
@pytest.mark.parametrize("plan", QUICK)
@torch.inference_mode()
def test_every_plan_computes_one_row(plan: Plan, model: str) -> None:
    ways = GroupPlans(group(*(network(seed, model) for seed in range(3))))
    found = ways.prepare(plan, rows(1))(rows(1))
    torch.testing.assert_close(found, ways.run_loop(rows(1)), atol=1e-6, rtol=1e-6)


@pytest.mark.parametrize("model", ["mlp", "cnn"])
@torch.inference_mode()
def test_accepted_plans_compute_batches_as_the_loop_does(model: str) -> None:
    tried = trial(*(network(seed, model) for seed in range(3)))
    ready, _ = tried.candidates(rows(33), loop_s=LONG_S, until_s=float("inf"))
    assert Plan.RECORDED_LOOP in ready
    for count in (2, 33):
        expected = tried.plans.run_loop(rows(count))
        for plan, compute in ready.items():
            torch.testing.assert_close(compute(rows(count)), expected, atol=1e-6, rtol=1e-6, msg=plan.value)


@pytest.mark.parametrize("plan", [pytest.param(Plan.COMPILED_LOOP, marks=pytest.mark.slow), Plan.COMPILED_STACKED])
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # raised by torch.compile itself
@torch.inference_mode()
def test_compiled_plans_compute_any_number_of_rows(plan: Plan) -> None:
    eager = "eager"  # the default compiler takes many seconds
    ways = GroupPlans(group(*(network(seed) for seed in range(3))), backend=eager)
    for sample in (rows(1), rows(64)):
        compute = ways.prepare(plan, sample)
        torch.testing.assert_close(compute(sample), ways.run_loop(sample), atol=1e-6, rtol=1e-6)
    torch.testing.assert_close(compute(rows(9)), ways.run_loop(rows(9)), atol=1e-6, rtol=1e-6)


@torch.inference_mode()
def test_stacked_weights_share_the_storage_of_the_members() -> None:
    """No weight is stored twice, and the loop still gives the results of each member."""
    modules = [network(seed) for seed in range(3)]
    before = torch.stack([torch.softmax(module(rows(5)), dim=1) for module in modules])
    ways = GroupPlans(group(*modules))
    assert torch.equal(ways.run_loop(rows(5)), before)
    first, second = (next(module.parameters()) for module in modules[:2])
    assert first.untyped_storage().data_ptr() == second.untyped_storage().data_ptr()


class Branching(nn.Module):
    """A network whose computation depends on the values of the rows."""

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        return inputs[:, :4] if inputs.sum() > 1e6 else inputs[:, 4:8]


class Counting(nn.Module):
    """A network whose result depends on the number of rows."""

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        return inputs[:, :4] * float(len(inputs))


@pytest.mark.parametrize("odd", [Branching, Counting])
@torch.inference_mode()
def test_unusual_network_is_refused_with_a_reason_or_computed_correctly(odd: type[nn.Module]) -> None:
    tried = trial(odd(), odd())
    ready, refused = tried.candidates(rows(64), LONG_S, float("inf"))
    assert all(refused.values())
    for compute, count in itertools.product(ready.values(), (2, 21, 64)):
        torch.testing.assert_close(compute(rows(count)), tried.plans.run_loop(rows(count)))


def test_network_that_checks_its_input_is_not_recorded() -> None:
    tried = trial(FailsOnValue(network(0), at=5.0), FailsOnValue(network(1), at=7.0))
    with torch.inference_mode():
        ready, refused = tried.candidates(rows(64), LONG_S, float("inf"))
    assert not ready and set(refused) == set(QUICK)


# The choice.


class Ticking:
    """A clock that each plan advances by a given time."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, takes_s: dict[Plan, float]) -> None:
        self.now_s = 0.0
        whole = GroupPlans.prepare

        def prepare(ways: GroupPlans, plan: Plan, sample: torch.Tensor) -> Any:
            return self.slowed(whole(ways, plan, sample), takes_s.get(plan, 1.0))

        monkeypatch.setattr(GroupPlans, "prepare", prepare)
        monkeypatch.setattr(GroupPlans, "run_loop", self.slowed_method(GroupPlans.run_loop, takes_s[Plan.LOOP]))

    def slowed(self, compute: Any, takes_s: float) -> Any:
        def computed(sample: torch.Tensor) -> torch.Tensor:
            before_s = self.now_s
            found: torch.Tensor = compute(sample)
            self.now_s = before_s + takes_s
            return found

        return computed

    def slowed_method(self, method: Any, takes_s: float) -> Any:
        return lambda ways, sample: self.slowed(lambda inputs: method(ways, inputs), takes_s)(sample)

    def __call__(self) -> float:
        return self.now_s


@pytest.mark.parametrize(
    ("takes_ms", "taken"),
    [
        ({Plan.LOOP: 1, Plan.STACKED: 1.1, Plan.RECORDED_LOOP: 0.7, Plan.RECORDED_STACKED: 0.5}, Plan.RECORDED_STACKED),
        ({Plan.LOOP: 1, Plan.STACKED: 0.4, Plan.RECORDED_LOOP: 0.7, Plan.RECORDED_STACKED: 0.5}, Plan.STACKED),
        ({Plan.LOOP: 1, Plan.STACKED: 9, Plan.RECORDED_LOOP: 1.1, Plan.RECORDED_STACKED: 0.94}, Plan.LOOP),
        ({Plan.LOOP: 1, Plan.STACKED: 9, Plan.RECORDED_LOOP: 0.95, Plan.RECORDED_STACKED: 0.94}, Plan.RECORDED_LOOP),
    ],
    ids=["the fastest", "any plan", "not within the noise", "the loop's operations without noise"],
)
def test_fastest_plan_is_chosen_if_clearly_faster_than_the_loop(
    takes_ms: dict[Plan, float], taken: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Ticking(monkeypatch, {plan: ms / 1000 for plan, ms in takes_ms.items()})
    tried = PlanBenchmark(GroupPlans(group(network(0), network(1))), CPU, Precision.FLOAT32, clock=clock)
    with torch.inference_mode():
        choice = tried.choose(rows(64), budget_s=1.0)
    assert choice.plan is taken
    hopeless = {plan for plan, ms in takes_ms.items() if ms > plan_selection.MAX_SLOWDOWN}
    assert set(choice.refused) == hopeless
    for plan in set(takes_ms) - hopeless:
        assert choice.took_us[plan] == pytest.approx(takes_ms[plan] * 1000)
    assert clock.now_s < 1.1


@pytest.mark.parametrize(
    ("stacked", "taken"),
    [
        ([0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5], Plan.STACKED),
        ([0.5, 0.5, 0.5, 0.5, 0.5, 9.0, 9.0, 9.0], Plan.STACKED),  # three slow computations
        ([1.0, 1.0, 1.0, 0.8, 0.8, 0.8, 0.8, 0.8], Plan.LOOP),  # faster only with the load
        ([0.5, 0.5, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0], Plan.LOOP),  # faster only by the lower quartile
        ([0.95, 0.95, 0.95, 0.95, 0.95, 0.95, 0.95, 0.95], Plan.LOOP),
    ],
)
def test_times_are_compared_by_round(stacked: list[float], taken: Plan) -> None:
    """Other load that triples the times of half of the rounds does not change the choice."""
    load = [1, 1, 1, 1, 3, 3, 3, 3]
    times = {
        Plan.LOOP: [1.0 * factor for factor in load],
        Plan.STACKED: [time * factor for time, factor in zip(stacked, load, strict=True)],
        Plan.RECORDED_LOOP: [2.0 * factor for factor in load],
    }
    assert plan_selection.fastest(times) is taken


def test_no_plan_is_tried_without_time(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Ticking(monkeypatch, {Plan.LOOP: 0.2})
    tried = PlanBenchmark(GroupPlans(group(network(0), network(1))), CPU, Precision.FLOAT32, clock=clock)
    choice = tried.choose(rows(64), budget_s=1.0)
    assert choice.plan is Plan.LOOP
    assert choice.refused == dict.fromkeys(QUICK, "no time to compare")
    assert clock.now_s == pytest.approx(0.2)


def test_choice_reports_the_tried_plans() -> None:
    choice = plan_selection.PlanChoice(64, Plan.LOOP, rows, {Plan.LOOP: 12.345}, {Plan.STACKED: "why"})  # type: ignore[arg-type]
    assert choice.to_dict() == {
        "rows": 64, "plan": "loop", "took_us": {"loop": 12.3}, "refused": {"stacked": "why"},
    }  # fmt: skip


# Groups.


@pytest.fixture
def kinds() -> Iterator[dict[str, nn.Module]]:
    yield {
        "mlp": network(0),
        "mlp of other weights": network(1),
        "mlp with another dropout": network(2, settings={**MLP, "dropout": 0.1}),
        "wider": network(0, settings={**MLP, "hidden": 13}),
        "another activation": network(0, settings={**MLP, "activation": "tanh"}),
        "cnn": network(0, "cnn"),
        "cnn with more filters": network(0, "cnn", settings={**CNN, "channels": 4}),
    }


def test_networks_that_differ_only_in_weights_are_one_group(kinds: dict[str, nn.Module]) -> None:
    found = groups([placed(module) for module in kinds.values()])
    assert [part.positions for part in found] == [(0, 1, 2), (3,), (4,), (5,), (6,)]


def test_group_has_one_device() -> None:
    found = groups([placed(network(seed), slot=seed % 2) for seed in range(4)])
    assert [(part.slot, part.positions) for part in found] == [(0, (0, 2)), (1, (1, 3))]


def test_signature_includes_settings_of_layers_with_equal_weight_shapes() -> None:
    plain, strided = (nn.Conv2d(1, 1, 3, padding=padding) for padding in (0, 1))
    assert signature(plain) != signature(strided)
    assert signature(nn.Linear(2, 2)) != signature(nn.Linear(2, 2).to(torch.bfloat16))
    assert signature(nn.Linear(2, 2)) != signature(nn.Linear(2, 2, bias=False))


class UserLayer(nn.Module):
    """A user's layer, whose settings are plain attributes."""

    def __init__(self, **settings: Any) -> None:
        super().__init__()
        self.last = nn.Linear(2, 2)
        vars(self).update(settings)


def test_signature_includes_settings_of_user_layers() -> None:
    same = {"activation": torch.tanh, "sizes": [1, (2, 3)], "by": {"a": 0.5}, "kind": nn.GELU, "none": None}
    assert signature(UserLayer(**same)) == signature(UserLayer(**same))
    for name, other in (
        ("activation", torch.relu), ("sizes", [1, (2, 4)]), ("by", {"a": 0.6}), ("kind", nn.ReLU), ("none", 0)
    ):  # fmt: skip
        assert signature(UserLayer(**same)) != signature(UserLayer(**{**same, name: other})), name
    assert signature(UserLayer(scale=1)) != signature(UserLayer(scale=True))


@pytest.mark.parametrize("made", [lambda: torch.ones(2), lambda: object(), lambda: lambda rows, by=2.0: rows * by])
def test_values_that_cannot_be_compared_have_different_signatures(made: Any) -> None:
    assert signature(UserLayer(held=made())) != signature(UserLayer(held=made()))
    held = made()
    assert signature(UserLayer(held=held)) == signature(UserLayer(held=held))


def test_layers_of_equal_name_from_different_code_have_different_signatures() -> None:
    def build() -> nn.Module:
        class Local(nn.Linear):
            pass

        return Local(2, 2)

    assert signature(build()) != signature(build())


class Uncopied(nn.Linear):
    """A layer that cannot be copied, like a network that holds an open file or a lock."""

    def __deepcopy__(self, _: object) -> nn.Module:
        raise TypeError("cannot pickle '_thread.lock' object")


def test_networks_that_cannot_be_stacked_are_computed_in_a_loop() -> None:
    found = GroupPlans(group(Uncopied(64, 4), Uncopied(64, 4)))
    assert found.candidates(slow=False) == (Plan.RECORDED_LOOP,)
    assert found.run_loop(rows(3)).shape == (2, 3, 4)


def test_classification_and_regression_are_different_groups() -> None:
    module = network(0)
    found: list[PlacedNetwork] = [placed(module), placed(module, task=Task.REGRESSION)]
    assert len(groups(found)) == 2
