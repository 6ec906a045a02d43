"""The arithmetic of spares and of bounded staleness, against a simulation in plain numbers."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
import torch

from podium.sweep.parallel.gradient_synchronization_rules import (
    Apply,
    BoundedStaleness,
    FirstGradients,
    Outcome,
    Stale,
    SynchronizationRule,
)
from podium.sweep.values.errors import ParallelError


def recorded(rule_of: Callable[[Apply], SynchronizationRule]) -> tuple[SynchronizationRule, list[float]]:
    """A rule, and the gradients of its updates."""
    updates: list[float] = []
    return rule_of(lambda gradient: updates.append(float(gradient))), updates


def gradient(value: float) -> torch.Tensor:
    return torch.tensor([value], dtype=torch.float64)


def test_exactly_the_first_gradients_of_a_step_count() -> None:
    rule, updates = recorded(lambda apply: FirstGradients(apply, replicas=4, spares=1))
    assert [rule.receive(rank, 0, gradient(10.0**rank)) for rank in (3, 0)] == [Outcome.COUNTED] * 2
    assert updates == [] and not rule.may_continue(3, 0)
    assert rule.receive(2, 0, gradient(100.0)) is Outcome.COUNTED
    assert updates == [pytest.approx((1000 + 1 + 100) / 3)]
    assert rule.version == 1 and all(rule.may_continue(rank, 0) for rank in range(4))


def test_a_late_gradient_never_counts() -> None:
    """Not for its own step, and not for the current one."""
    rule, updates = recorded(lambda apply: FirstGradients(apply, replicas=3, spares=1))
    rule.receive(0, 0, gradient(1.0))
    rule.receive(1, 0, gradient(3.0))
    assert rule.receive(2, 0, gradient(1e9)) is Outcome.DROPPED
    assert rule.may_continue(2, 0)
    rule.receive(0, 1, gradient(5.0))
    assert rule.receive(2, 1, gradient(7.0)) is Outcome.COUNTED
    assert updates == [2.0, 6.0]


def test_the_others_do_not_wait_for_replicas_that_have_left() -> None:
    rule, updates = recorded(lambda apply: FirstGradients(apply, replicas=3, spares=0))
    rule.receive(0, 0, gradient(2.0))
    rule.leave(1)
    assert updates == []
    rule.leave(2)
    assert updates == [2.0]


@pytest.mark.parametrize("spares", [-1, 3, 4])
def test_spares_without_a_counted_replica_are_refused(spares: int) -> None:
    with pytest.raises(ParallelError, match=rf"spares is {spares}; it must be 0 to 2 with 3 replicas$"):
        FirstGradients(lambda gradient: None, replicas=3, spares=spares)


@pytest.mark.parametrize("stale", ["drop", "scale"])
@pytest.mark.parametrize("bound", [0, 1, 3, None])
def test_stale_gradients_as_in_a_simulation(bound: int | None, stale: Stale) -> None:
    """Replicas of random speed: each sends gradients, computed at the version that it read after the one before."""
    rule, updates = recorded(lambda apply: BoundedStaleness(apply, max_staleness=bound, stale=stale, warm_up_steps=0))
    drawn = random.Random(5)
    read, version, expected = [0] * 4, 0, []
    for _ in range(200):
        rank, value = drawn.choices(range(4), [8, 4, 2, 1])[0], drawn.uniform(-1, 1)
        staleness = version - read[rank]
        factor = 1.0
        if bound is not None and staleness > bound:
            factor = 0.0 if stale == "drop" else (bound + 1) / (staleness + 1)
        outcome = rule.receive(rank, read[rank], gradient(value))
        if factor:
            expected.append(value * factor)
            version += 1
        assert outcome is {0.0: Outcome.DROPPED, 1.0: Outcome.COUNTED}.get(factor, Outcome.SCALED)
        assert rule.version == version
        read[rank] = version
    assert updates == pytest.approx(expected)
    assert (len(expected) < 200) is (stale == "drop" and bound is not None)


def test_replica_0_trains_alone_until_the_end_of_the_warm_up() -> None:
    rule, _ = recorded(lambda apply: BoundedStaleness(apply, max_staleness=None, stale="drop", warm_up_steps=2))
    rule.receive(0, 0, gradient(1.0))
    assert rule.may_continue(0, 0) and not rule.may_continue(1, -1)
    rule.receive(0, 1, gradient(1.0))
    assert rule.may_continue(1, -1)


def test_the_warm_up_ends_when_replica_0_leaves() -> None:
    rule, _ = recorded(lambda apply: BoundedStaleness(apply, max_staleness=None, stale="drop", warm_up_steps=9))
    assert not rule.may_continue(1, -1)
    rule.leave(1)
    assert not rule.may_continue(2, -1)
    rule.leave(0)
    assert rule.may_continue(2, -1)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_staleness": -1}, "max_staleness is -1; it must be 0 or larger, or None"),
        ({"stale": "ignore"}, "stale is 'ignore'; it must be 'drop' or 'scale'"),
        ({"warm_up_steps": -2}, "warm_up_steps is -2; it must be 0 or larger"),
    ],
)
def test_values_without_meaning_are_refused(options: dict[str, object], message: str) -> None:
    given: dict[str, object] = {"max_staleness": 1, "stale": "drop", "warm_up_steps": 0, **options}
    with pytest.raises(ParallelError, match=message):
        BoundedStaleness(lambda gradient: None, **given)  # type: ignore[arg-type]
