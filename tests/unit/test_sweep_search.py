"""The search: grids end, enqueued values come first, conditions hold, and a rebuilt study goes on as the old one."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from sweep.past import PastTrial, Planned, Verdict
from sweep.search import Search
from sweep.spec import SweepSpec
from sweep.trial import Params, TrialState
from tests.specs import spec

CONDITIONAL: dict[str, Any] = {
    "lr": {"min": 1e-4, "max": 0.1, "log": True},
    "layers": {"min": 1, "max": 4},
    "optimizer": {"values": ["adam", "sgd"]},
    "momentum": {"min": 0.0, "max": 0.9, "when": {"optimizer": "sgd"}},
}
FINITE: dict[str, Any] = CONDITIONAL | {
    "lr": {"values": [1e-4, 1e-3, 1e-2]},
    "momentum": {"values": [0.0, 0.9], "when": {"optimizer": "sgd"}},
}
RULES: dict[str, Any] = {
    "asha": {"type": "asha", "min_iter": 1, "eta": 2},
    "median": {"type": "median", "min_iter": 1},
    "none": {"type": "none"},
}


def _asked(search: Search) -> Planned:
    planned = search.ask()
    assert planned is not None
    return planned


def _drain(search: Search) -> list[Params]:
    points: list[Params] = []
    while planned := search.ask():
        points.append(planned.params)
    return points


# The grid.


def test_a_grid_gives_every_point_once_and_then_nothing() -> None:
    points = _drain(search := Search(spec(method="grid", parameters=FINITE)))
    assert len(points) == 3 * 4 * (1 + 2)  # momentum only with sgd
    assert len({tuple(point.items()) for point in points}) == len(points)
    assert search.ask() is None


def test_a_rebuilt_grid_gives_only_what_is_left() -> None:
    small = spec(method="grid", parameters={"x": {"values": [1, 2, 3, 4]}})
    whole = _drain(Search(small))
    past = [PastTrial(n, TrialState.FAILED, whole[n], sampler="grid") for n in range(3)]
    assert _drain(Search(small, past)) == whole[3:]


def test_the_seed_shuffles_the_grid() -> None:
    def order(seed: int) -> list[Params]:
        return _drain(Search(spec(method="grid", seed=seed, parameters={"x": {"min": 1, "max": 30}})))

    assert order(1) == order(1) != order(2)


# What is asked.


@pytest.mark.parametrize("method", ["tpe", "random", "grid"])
def test_enqueued_values_come_first(method: str) -> None:
    enqueue = [{"lr": 1e-3, "layers": 2}, {"optimizer": "sgd"}]
    search = Search(spec(method=method, parameters=FINITE, enqueue=enqueue))
    first, second, third = (_asked(search) for _ in range(3))
    assert (first.params["lr"], first.params["layers"], first.sampler) == (1e-3, 2, "enqueue")
    assert (second.params["optimizer"], second.sampler) == ("sgd", "enqueue")
    assert third.sampler == method
    assert [first.number, second.number, third.number] == [0, 1, 2]


@pytest.mark.parametrize("method", ["tpe", "random"])
def test_every_suggestion_is_within_the_space(method: str) -> None:
    space = spec(method=method, parameters=CONDITIONAL)
    search = Search(space)
    for _ in range(25):
        planned = _asked(search)
        assert ("momentum" in planned.params) == (planned.params["optimizer"] == "sgd")
        for name, value in planned.params.items():
            assert space.parameters[name].complaint(value) is None
        search.tell(planned.number, TrialState.FINISHED, [random.Random(planned.number).random()])


@pytest.mark.parametrize("method", ["tpe", "random"])
def test_no_two_trials_repeat_the_same_stream_of_chance(method: str) -> None:
    search = Search(spec(method=method, parameters=CONDITIONAL))
    assert len({_asked(search).params["lr"] for _ in range(8)}) == 8


@pytest.mark.parametrize("goal", ["maximize", "minimize"])
def test_tpe_learns_in_the_direction_of_the_goal(goal: str) -> None:
    search = Search(spec(method="tpe", metric={"name": "m", "goal": goal}))
    values: list[float] = []
    for _ in range(40):
        planned = _asked(search)
        value = planned.params["x"]
        assert isinstance(value, float)
        values.append(value)
        search.tell(planned.number, TrialState.FINISHED, [value])
    late = sum(values[25:]) / 15
    assert late > 0.7 if goal == "maximize" else late < 0.3


@pytest.mark.parametrize("state", [TrialState.FAILED, TrialState.CANCELLED, TrialState.PRUNED])
def test_a_trial_without_a_value_is_told_and_the_search_goes_on(state: TrialState) -> None:
    search = Search(spec(method="tpe", early_terminate={"type": "median"}))
    for _ in range(15):
        planned = _asked(search)
        search.report(planned.number, 0, 0.5)
        search.tell(planned.number, state, None)
    assert _asked(search).number == 15


# Pruning.


@pytest.mark.parametrize("goal", ["maximize", "minimize"])
@pytest.mark.parametrize("kind", ["asha", "median"])
def test_the_worst_of_many_is_pruned_and_the_best_is_not(kind: str, goal: str) -> None:
    search = Search(spec(metric={"name": "m", "goal": goal}, early_terminate=RULES[kind], run_cap=50))

    def pruned(value: float) -> bool:
        planned = _asked(search)
        verdicts = [search.report(planned.number, step, value if goal == "maximize" else -value) for step in (0, 1, 2)]
        prune = any(verdict.prune for verdict in verdicts)
        state = TrialState.PRUNED if prune else TrialState.FINISHED
        search.tell(planned.number, state, None if prune else [value])
        return prune

    for value in range(10):
        pruned(float(value))
    assert pruned(-100.0)
    assert not pruned(+100.0)


def test_without_early_termination_nothing_is_pruned() -> None:
    search = Search(spec())
    for value in (1.0, -1.0, -100.0):
        planned = _asked(search)
        assert not search.report(planned.number, 5, value).prune
        search.tell(planned.number, TrialState.FINISHED, [value])


# Rebuilding.


@dataclass
class Sweep:
    """Plays a sweep of overlapping trials, and remembers of each what the database does."""

    spec: SweepSpec
    rebuild_at: frozenset[tuple[int, int]]  # (turn, step); step -1 is before the ask
    past: dict[int, PastTrial] = field(default_factory=dict)
    seen: list[Planned | Verdict] = field(default_factory=list)

    def play(self, turns: int) -> list[Planned | Verdict]:
        """Ask `turns` times, with three trials alive at a time; returns everything that the search answered."""
        self.search = Search(self.spec)
        alive: list[Planned] = []
        for turn in range(turns):
            self._rebuild(turn, -1)
            planned = self.search.ask()
            if planned is not None:
                self.seen.append(planned)
                self._remember(
                    PastTrial(
                        planned.number,
                        TrialState.RUNNING,
                        planned.params,
                        attributes=planned.attributes,
                        sampler=planned.sampler,
                    )
                )
                alive.append(planned)
            if len(alive) == 3 or (planned is None and alive):
                self._train(turn, alive.pop(turn % len(alive)))
        return self.seen

    def _train(self, turn: int, planned: Planned) -> None:
        number, chance = planned.number, random.Random(planned.number)
        lr = planned.params["lr"]
        assert isinstance(lr, float)
        state, value = TrialState.FINISHED, lr * 10 + chance.random()
        if number % 7 == 3:
            state = TrialState.FAILED
        for step in range(9):
            verdict = self.search.report(number, step, value * (1 + step / 10))
            self.seen.append(verdict)
            past = self.past[number]
            attributes = verdict.attributes or past.attributes
            reports = past.reports | {step: value * (1 + step / 10)}
            self._remember(replace(past, reports=reports, attributes=attributes))
            self._rebuild(turn, step)
            if verdict.prune:
                state = TrialState.PRUNED
                break
        result = value if state is TrialState.FINISHED else None
        self.search.tell(number, state, None if result is None else [result])
        past = self.past[number]
        self._remember(replace(past, state=state, value=result))

    def _remember(self, trial: PastTrial) -> None:
        """Through JSON, as the database keeps it."""
        attributes = json.loads(json.dumps(trial.attributes))
        params = json.loads(json.dumps(trial.params))
        self.past[trial.number] = replace(trial, params=params, reports=dict(trial.reports), attributes=attributes)

    def _rebuild(self, turn: int, step: int) -> None:
        if (turn, step) in self.rebuild_at:
            self.search = Search(self.spec, list(self.past.values()))


@pytest.mark.parametrize("kind", ["asha", "median", "none"])
@pytest.mark.parametrize("method", ["tpe", "random", "grid"])
def test_a_rebuilt_search_suggests_and_prunes_as_one_that_never_stopped(method: str, kind: str) -> None:
    searched = spec(
        method=method,
        seed=3,
        parameters=FINITE if method == "grid" else CONDITIONAL,
        enqueue=[{"lr": 1e-2}],
        early_terminate=RULES[kind],
    )
    restarts = {(1, -1), (4, 0), (12, -1), (17, 1), (17, 4), (23, 3), (24, -1), (31, 0)}
    never = Sweep(searched, frozenset()).play(42)
    often = Sweep(searched, frozenset(restarts)).play(42)
    assert often == never
    pruned = [answer.prune for answer in never if isinstance(answer, Verdict)]
    assert any(pruned) == (kind != "none")
