"""Brute force: every configuration once, including parameters that trials suggest, and then the search ends."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from podium.sweep.search.sweep_search import Search
from podium.sweep.values.attempt_assignment import AttemptKey, Params
from podium.sweep.values.errors import UserCodeError
from podium.sweep.values.search_messages import PastTrial
from podium.sweep.values.slot_events import SuggestRequested
from podium.sweep.values.states import SweepState, TrialState
from tests.rig import Rig
from tests.specs import spec

MakeRig = Callable[..., Rig]
KEY = AttemptKey(1, 1)
SPACE: dict[str, Any] = {
    "a": {"values": ["x", "y"]},
    "b": {"min": 1, "max": 3, "when": {"a": "y"}},
    "c": {"min": 0.0, "max": 0.5, "step": 0.25},
}


def _run(search: Search, suggests: Callable[[Search, int, Params], Params], most: int = 100) -> list[Params]:
    found: list[Params] = []
    while len(found) < most and (planned := search.ask()) is not None:
        more = suggests(search, planned.number, planned.params)
        search.tell(planned.number, TrialState.FINISHED, [0.5])
        found.append({**planned.params, **more})
    return found


def _nothing(search: Search, number: int, params: Params) -> Params:
    return {}


def _branching(search: Search, number: int, params: Params) -> Params:
    """Suggests z, then either y (3 values) or w (2) and v (2), in an order that is not alphabetical: 2 * (3 + 4)."""
    found = {"z": search.suggest(number, SuggestRequested(KEY, "z", {"values": ["three", "four"]}))}
    if found["z"] == "three":
        found["y"] = search.suggest(number, SuggestRequested(KEY, "y", {"min": 1, "max": 3}))
    else:
        found["w"] = search.suggest(number, SuggestRequested(KEY, "w", {"min": 0.0, "max": 1.0, "step": 1.0}))
        found["v"] = search.suggest(number, SuggestRequested(KEY, "v", {"values": [True, False]}))
    return found


def _distinct(found: list[Params]) -> int:
    return len({tuple(sorted(params.items())) for params in found})


def test_every_configuration_of_file_is_proposed_once() -> None:
    found = _run(Search(spec(method="brute_force", parameters=SPACE)), _nothing)
    assert len(found) == _distinct(found) == 3 * (1 + 3)


@pytest.mark.parametrize("parameters", [{"a": {"values": ["x", "y"]}}, None])
def test_every_suggested_configuration_is_proposed_once(parameters: Any) -> None:
    found = _run(Search(spec(method="brute_force", parameters=parameters)), _branching)
    assert len(found) == _distinct(found) == (2 if parameters else 1) * (3 + 4)


@pytest.mark.parametrize("before", [1, 4, 9])
def test_search_continues_with_remaining_configurations_after_restart(before: int) -> None:
    """The database stores parameters by name, not in the order of the code."""
    searched = spec(method="brute_force", parameters={"a": {"values": ["x", "y"]}}, seed=5)
    search = Search(searched)
    first = _run(search, _branching, before)
    past = []
    for number in range(before):
        known = search.past_trial(number)
        params = dict(sorted(known.params.items()))
        distributions = dict(sorted(known.distributions.items()))
        attributes = known.attributes | search.changed_by_suggesting(number)
        past.append(
            PastTrial(
                number, TrialState.FINISHED, params, 0.5,
                attributes=attributes, sampler=known.sampler, distributions=distributions,
            )
        )  # fmt: skip
    found = first + _run(Search(searched, past), _branching)
    assert len(found) == _distinct(found) == 14


def test_search_waits_for_suggestions_of_running_trial() -> None:
    search = Search(spec(method="brute_force", parameters=None))
    assert search.ask() is not None
    assert search.ask() is None  # the space is unknown until the first trial suggests a parameter
    search.suggest(0, SuggestRequested(KEY, "z", {"values": [1, 2]}))
    assert search.ask() is not None


def test_trial_failed_before_first_suggestion_does_not_end_search() -> None:
    search = Search(spec(method="brute_force", parameters=None))
    search.ask()
    search.tell(0, TrialState.FAILED, None)
    found = _run(search, _branching)
    assert len(found) == _distinct(found) == 7


@pytest.mark.parametrize("distribution", [{"min": 0.0, "max": 1.0}, {"min": 1, "max": 10**6}])
def test_infinite_distribution_fails_trial_with_message(distribution: dict[str, Any]) -> None:
    search = Search(spec(method="brute_force", parameters=None))
    search.ask()
    with pytest.raises(UserCodeError, match="brute_force"):
        search.suggest(0, SuggestRequested(KEY, "x", distribution))


def test_exhausted_search_ends_sweep_with_reason(make_rig: MakeRig) -> None:
    rig = make_rig(slots=2)
    rig.submit(method="brute_force", parameters={"x": {"values": [1, 2, 3]}}, run_cap=60)
    while rig.pool.busy():
        rig.pool.finish(rig.pool.busy()[0], 0.5)
        rig.settle()
    assert rig.sweep().state is SweepState.FINISHED
    assert rig.sweep().reason == "all configurations were evaluated"
    assert sorted(trial.params["x"] for trial in rig.recorder.of(1)) == [1, 2, 3]  # type: ignore[type-var]
