"""Grids by index: the same points as an enumeration, each once, for any number of points."""

from __future__ import annotations

import itertools
import tracemalloc
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podium.sweep.search.sweep_search import Search
from podium.sweep.spec.grid import Grid, GridError, shuffled
from podium.sweep.spec.search_space import Parameter
from podium.sweep.spec.sweep_spec import SweepSpec
from podium.sweep.values.attempt_assignment import Params
from podium.sweep.values.search_messages import PastTrial
from podium.sweep.values.states import TrialState
from tests.specs import spec

HUGE: dict[str, Any] = {f"p{number}": {"min": 0, "max": 999} for number in range(5)}


def _enumerated(searched: SweepSpec) -> set[frozenset[tuple[str, Any]]]:
    ordered = list(searched.ordered())
    points: set[frozenset[tuple[str, Any]]] = set()
    for values in itertools.product(*(parameter.choices() or [] for _, parameter in ordered)):
        point: Params = {}
        for (name, parameter), value in zip(ordered, values, strict=True):
            if parameter.active(point):
                point[name] = value
        points.add(frozenset(point.items()))
    return points


def _choice(values: list[int]) -> dict[str, Any]:
    return {"values": values}


@st.composite
def _spaces(draw: st.DrawFn) -> dict[str, Any]:
    """Up to five parameters, each of which may depend on any earlier one."""
    space: dict[str, Any] = {}
    kinds: st.SearchStrategy[dict[str, Any]] = st.sampled_from(
        [{"min": 1, "max": 4}, {"min": 0.0, "max": 1.0, "step": 0.25}, {"min": 2, "max": 9, "step": 3}]
    )
    values: st.SearchStrategy[dict[str, Any]] = st.lists(st.integers(0, 5), min_size=1, max_size=3).map(
        lambda found: {"values": found}
    )
    for name in "abcde"[: draw(st.integers(1, 5))]:
        parameter = dict(draw(kinds | values | st.just({"value": "only"})))
        parents = draw(st.sets(st.sampled_from(sorted(space)), max_size=2)) if space else set()
        when = {p: draw(st.lists(st.sampled_from(Parameter(**space[p]).choices() or []), min_size=1)) for p in parents}
        space[name] = parameter | ({"when": when} if when else {})
    order = draw(st.permutations(sorted(space)))
    return {name: space[name] for name in order}


@given(_spaces())
def test_grid_has_each_point_of_enumeration_once(space: dict[str, Any]) -> None:
    searched = spec(method="grid", parameters=space)
    grid = Grid(searched.parameters)
    points = [frozenset(grid.point(index).items()) for index in range(grid.size)]
    assert len(points) == len(set(points))
    assert set(points) == _enumerated(searched)


@given(st.integers(1, 300), st.integers(0, 2**63 - 1))
def test_shuffled_order_is_a_permutation(size: int, seed: int) -> None:
    assert sorted(shuffled(index, size, seed) for index in range(size)) == list(range(size))


def test_huge_grid_is_not_enumerated() -> None:
    tracemalloc.start()
    search = Search(spec(method="grid", parameters=HUGE, run_cap=50))
    first = [planned.params for _ in range(50) if (planned := search.ask()) is not None]
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len({tuple(params.items()) for params in first}) == 50
    assert peak < 10_000_000  # bytes; a list of its 10**15 points would not fit in memory


def test_huge_grid_continues_after_restart() -> None:
    searched = spec(method="grid", parameters=HUGE, run_cap=50)
    never = Search(searched)
    points = [planned.params for _ in range(20) if (planned := never.ask()) is not None]
    past = [PastTrial(n, TrialState.FINISHED, points[n], value=0.5, sampler="grid") for n in range(12)]
    again = Search(searched, past)
    rest = [planned.params for _ in range(8) if (planned := again.ask()) is not None]
    assert rest == points[12:]


def test_rarely_active_parameters_do_not_slow_next_point() -> None:
    """Ten optimizers with a hundred settings each: 10**21 combinations, but only a thousand distinct points."""
    names = [f"o{number}" for number in range(10)]
    space: dict[str, Any] = {"optimizer": {"values": names}}
    space |= {f"{name}_lr": {"min": 1, "max": 100, "when": {"optimizer": name}} for name in names}
    grid = Grid(spec(method="grid", parameters=space).parameters)
    assert grid.size == 1000
    assert len({tuple(grid.shuffled(index, 0).items()) for index in range(1000)}) == 1000


def test_uncountable_conditions_are_rejected() -> None:
    parents = {f"a{number}": {"values": [0, 1]} for number in range(36)}
    pairs = itertools.product(range(18), range(18, 36))
    children = {f"b{one}-{other}": {"value": 0, "when": {f"a{one}": 1, f"a{other}": 1}} for one, other in pairs}
    parameters = {name: Parameter.model_validate(one) for name, one in {**parents, **children}.items()}
    with pytest.raises(GridError, match="use method: random"):
        Grid(parameters)
