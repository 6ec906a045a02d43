"""A mixture that was changed step by step equals one that was built at once."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution
from scipy.stats import norm

from podium.sweep.search.tpe.parzen_mixture import ParzenMixture

SPACE = {
    "rate": FloatDistribution(1e-5, 1e-1, log=True),
    "width": IntDistribution(1, 64),
    "kind": CategoricalDistribution(["a", "b", "c"]),
    "share": FloatDistribution(0.0, 1.0),
    "nodes": IntDistribution(1, 1000, log=True),
    "step": FloatDistribution(0.0, 1.0, step=0.25),
}


def _values(rng: random.Random) -> list[float]:
    return [
        10 ** rng.uniform(-5, -1), float(rng.randint(1, 64)), float(rng.randrange(3)), rng.random(),
        float(rng.randint(1, 1000)), rng.randrange(5) / 4,
    ]  # fmt: skip


def _points(count: int, seed: int = 1) -> np.ndarray[Any, Any]:
    rng = random.Random(seed)
    return np.array([_values(rng) for _ in range(count)])


def _built(values: dict[int, list[float]]) -> ParzenMixture:
    mixture = ParzenMixture(SPACE)
    mixture.change([], values)
    return mixture


@pytest.mark.parametrize("count", [3, 98, 130, 400])
def test_changes_lead_to_the_same_densities(count: int) -> None:
    rng, mixture = random.Random(count), ParzenMixture(SPACE)
    values: dict[int, list[float]] = {}
    for trial in range(count):
        removed = [rng.choice(list(values))] if values and rng.random() < 0.3 else []
        added = {trial: _values(rng)}
        mixture.change(removed, added)
        for each in removed:
            del values[each]
        values |= added
        if trial % 20 == 0:
            mixture.log_density(_points(2))  # in between: no value of an earlier state may remain
    points = _points(30)
    assert mixture.log_density(points) == pytest.approx(_built(values).log_density(points), rel=1e-12)
    one, other = (each.sample(np.random.RandomState(3), 50) for each in (mixture, _built(values)))
    assert one == pytest.approx(other, rel=1e-12)


def test_sliding_window_reuses_its_slots() -> None:
    rng, mixture = random.Random(0), ParzenMixture(SPACE)
    values: dict[int, list[float]] = {}
    for trial in range(1000):
        added = {trial: _values(rng)}
        removed = [trial - 150] if trial >= 150 else []
        mixture.change(removed, added)
        values |= added
    kept = {trial: values[trial] for trial in range(850, 1000)}
    points = _points(10)
    assert len(mixture) == 150
    assert mixture.log_density(points) == pytest.approx(_built(kept).log_density(points), rel=1e-12)


def test_slots_without_kernel_keep_nothing_of_an_earlier_build() -> None:
    """Trials whose kernels were removed leave gaps; later there are more trials than slots, so all are built again."""
    space = {"width": IntDistribution(1, 100_000), "share": FloatDistribution(0.0, 1.0)}
    rng, mixture, values = random.Random(0), ParzenMixture(space), dict[int, list[float]]()
    points = np.array([[float(rng.randint(1, 100_000)), rng.random()] for _ in range(10)])
    for trial in range(450):
        values[trial] = [float(rng.randint(1, 100_000)), rng.random()]
        mixture.change([], {trial: values[trial]})
        if trial % 8 == 7:
            del values[trial - 2]
            mixture.change([trial - 2], {})
        mixture.log_density(points)
    fresh = ParzenMixture(space)
    fresh.change([], values)
    assert mixture.log_density(points) == pytest.approx(fresh.log_density(points), rel=1e-12)


def test_density_integrates_to_one() -> None:
    space = {"x": FloatDistribution(-2.0, 3.0)}
    for count in (0, 1, 5, 200):
        mixture = ParzenMixture(space)
        rng = random.Random(count)
        mixture.change([], {trial: [rng.uniform(-2.0, 3.0)] for trial in range(count)})
        grid = np.linspace(-2.0, 3.0, 20_001)[:, np.newaxis]
        densities = np.exp(mixture.log_density(grid))
        assert np.trapezoid(densities, dx=1 / 20_000) == pytest.approx(1.0, rel=1e-4)  # in units of the range


@pytest.mark.parametrize("count", [0, 4, 300])
def test_probabilities_of_a_grid_and_of_choices_sum_to_one(count: int) -> None:
    space = {"width": IntDistribution(1, 8), "kind": CategoricalDistribution(["a", "b", "c"])}
    mixture, rng = ParzenMixture(space), random.Random(count)
    mixture.change([], {trial: [float(rng.randint(1, 8)), float(rng.randrange(3))] for trial in range(count)})
    points = np.array([[width, kind] for width in range(1, 9) for kind in range(3)], dtype=float)
    assert np.exp(mixture.log_density(points)).sum() == pytest.approx(1.0, rel=1e-9)


def test_samples_lie_in_the_space() -> None:
    rng = random.Random(5)
    mixture = _built({trial: _values(rng) for trial in range(40)})
    for value in mixture.sample(np.random.RandomState(0), 500):
        for number, distribution in zip(value.tolist(), SPACE.values(), strict=True):
            external = distribution.to_external_repr(number)
            assert distribution.to_internal_repr(external) == pytest.approx(number, rel=1e-12)


def test_far_values_have_a_finite_density() -> None:
    mixture = ParzenMixture({"x": FloatDistribution(0.0, 1.0)})
    mixture.change([], {trial: [0.5] for trial in range(500)})
    assert np.isfinite(mixture.log_density(np.array([[0.0], [1.0]]))).all()


def test_neighbors_that_are_removed_together_have_no_kernel() -> None:
    space = {f"x{index}": FloatDistribution(0.0, 1.0) for index in range(16)}
    rng = random.Random(0)
    values = {trial: [rng.random() for _ in space] for trial in range(300)}
    first, second, *_ = sorted(values, key=lambda trial: values[trial][0])
    mixture = ParzenMixture(space)
    mixture.change([], values)
    points = np.array([values[second], values[first]])
    mixture.change([first, second], {})
    fresh = ParzenMixture(space)
    fresh.change([], {trial: own for trial, own in values.items() if trial not in (first, second)})
    assert mixture.log_density(points) == pytest.approx(fresh.log_density(points), rel=1e-12)


def test_choices_alone_follow_new_trials() -> None:
    space = {"kind": CategoricalDistribution(["a", "b", "c"])}
    mixture, values = ParzenMixture(space), {trial: [float(trial % 3) if trial < 100 else 0.0] for trial in range(190)}
    for trial, own in values.items():
        mixture.change([], {trial: own})
    fresh = ParzenMixture(space)
    fresh.change([], values)
    points = np.array([[0.0], [1.0]])
    assert mixture.log_density(points) == pytest.approx(fresh.log_density(points), rel=1e-12)


@pytest.mark.parametrize(("count", "spread"), [(400, 0.02), (5000, 0.02), (400, 0.6), (5000, 0.6)])
def test_density_is_the_weighted_sum_of_the_kernels(count: int, spread: float) -> None:
    """Covers both ways: all kernels are added up, or the near ones only."""
    rng, centers = random.Random(count), np.linspace(0.0, 1.0, count)
    centers = np.clip(0.3 + spread * np.array([rng.gauss(0.0, 1.0) for _ in centers]), 0.0, 1.0)
    mixture = ParzenMixture({"share": FloatDistribution(0.0, 1.0)})
    mixture.change([], {trial: [center] for trial, center in enumerate(centers.tolist())})
    points = np.linspace(0.2, 0.4, 21)[:, np.newaxis]
    assert np.exp(mixture.log_density(points)) == pytest.approx(_density(centers, points[:, 0]), rel=1e-9, abs=1e-300)


def test_repeated_choices_and_steps_are_scored_as_single_ones() -> None:
    space = {name: SPACE[name] for name in ("width", "kind", "step")}
    rng, mixture = random.Random(5), ParzenMixture(space)
    mixture.change([], {trial: [rng.randint(1, 64), rng.randrange(3), rng.randrange(5) / 4] for trial in range(300)})
    points = np.array([[rng.randint(30, 33), rng.randrange(3), rng.randrange(2) / 4] for _ in range(40)])
    single = [mixture.log_density(point[np.newaxis])[0] for point in points]
    assert mixture.log_density(points) == pytest.approx(single, rel=1e-12)


def _density(centers: np.ndarray[Any, Any], points: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The definition: a normal distribution around each center and one for the prior, truncated to [0, 1]."""
    order = np.argsort(centers, kind="stable")
    gaps = np.diff(centers[order])
    widths = np.empty(len(centers))
    widths[order] = np.concatenate((gaps[:1], np.maximum(gaps[:-1], gaps[1:]), gaps[-1:]))
    widths = np.append(np.clip(widths, 0.01, 1.0), 1.0)
    middles = np.append(centers, 0.5)
    weights = np.append(np.linspace(1.0 / len(centers), 1.0, len(centers) - 25), np.ones(26))
    found = [
        weight * norm.pdf(points, middle, width) / (norm.cdf(1.0, middle, width) - norm.cdf(0.0, middle, width))
        for weight, middle, width in zip(weights, middles, widths, strict=True)
    ]
    total: np.ndarray[Any, Any] = np.sum(found, axis=0) / weights.sum()
    return total
