"""The search: grids end, enqueued values come first, conditions hold, and a rebuilt search continues identically."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from podium.sweep.search import samplers
from podium.sweep.search.sweep_search import TRIALS_TOLD, Search
from podium.sweep.search.trials_bounding_proposal_time import SearchLimits
from podium.sweep.spec import search_method_registry
from podium.sweep.spec.sweep_spec import SweepSpec
from podium.sweep.values.attempt_assignment import Params
from podium.sweep.values.search_messages import FallbackReason, PastTrial, PruneVerdict, TrialPlan
from podium.sweep.values.states import TrialState
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
NUMBERS: dict[str, Any] = {"lr": {"min": 1e-4, "max": 0.1, "log": True}, "width": {"min": 1, "max": 64}}
RULES: dict[str, Any] = {
    "asha": {"type": "asha", "min_iter": 1, "eta": 2},
    "hyperband": {"type": "hyperband", "min_iter": 1, "max_iter": 8, "eta": 2},
    "median": {"type": "median", "min_iter": 1},
    "percentile": {"type": "percentile", "percentile": 40, "min_iter": 2},
    "threshold": {"type": "threshold", "lower": 0.6},
    "patient": {"type": "patient", "patience": 1, "wrap": {"type": "median"}},
    "wilcoxon": {"type": "wilcoxon", "p_threshold": 0.3},
    "a class": {"pruner": "optuna.pruners:PercentilePruner", "args": {"percentile": 40.0, "n_warmup_steps": 2}},
    "none": {"type": "none"},
}
SPACES = {"grid": FINITE, "cmaes": NUMBERS, "brute_force": FINITE}  # other methods search CONDITIONAL
METHODS = sorted(
    search_method_registry.METHODS.keys() - {"gp"}
)  # GP loads torch: tests/integration/test_search_process.py
SAMPLING = [method for method in METHODS if method not in ("grid", "brute_force")]
SEVERAL_OBJECTIVES = [method for method in SAMPLING if search_method_registry.METHODS[method].check({}, 2) is None]


def _asked(search: Search) -> TrialPlan:
    planned = search.ask()
    assert planned is not None
    return planned


def _drain(search: Search) -> list[Params]:
    points: list[Params] = []
    while planned := search.ask():
        points.append(planned.params)
    return points


# The grid.


def test_grid_proposes_every_point_once_and_ends() -> None:
    points = _drain(search := Search(spec(method="grid", parameters=FINITE)))
    assert len(points) == 3 * 4 * (1 + 2)  # momentum only with sgd
    assert len({tuple(point.items()) for point in points}) == len(points)
    assert search.ask() is None


def test_rebuilt_grid_proposes_only_remaining_points() -> None:
    small = spec(method="grid", parameters={"x": {"values": [1, 2, 3, 4]}})
    whole = _drain(Search(small))
    past = [PastTrial(n, TrialState.FAILED, whole[n], sampler="grid") for n in range(3)]
    assert _drain(Search(small, past)) == whole[3:]


def test_seed_shuffles_grid() -> None:
    def order(seed: int) -> list[Params]:
        return _drain(Search(spec(method="grid", seed=seed, parameters={"x": {"min": 1, "max": 30}})))

    assert order(1) == order(1) != order(2)


# Proposals.


@pytest.mark.parametrize("method", ["tpe", "random", "grid"])
def test_enqueued_values_come_first(method: str) -> None:
    enqueue = [{"lr": 1e-3, "layers": 2}, {"optimizer": "sgd"}]
    search = Search(spec(method=method, parameters=FINITE, enqueue=enqueue))
    first, second, third = (_asked(search) for _ in range(3))
    assert (first.params["lr"], first.params["layers"], first.sampler) == (1e-3, 2, "enqueue")
    assert (second.params["optimizer"], second.sampler) == ("sgd", "enqueue")
    assert third.sampler == method
    assert [first.number, second.number, third.number] == [0, 1, 2]


@pytest.mark.parametrize("method", SAMPLING)
def test_every_proposal_is_within_space(method: str) -> None:
    space = spec(method=method, parameters=CONDITIONAL)
    search = Search(space)
    for _ in range(25):
        planned = _asked(search)
        assert ("momentum" in planned.params) == (planned.params["optimizer"] == "sgd")
        for name, value in planned.params.items():
            assert space.parameters[name].invalid_reason(value) is None
        search.tell(planned.number, TrialState.FINISHED, [random.Random(planned.number).random()])


@pytest.mark.parametrize("method", SAMPLING)
def test_random_streams_of_trials_are_distinct(method: str) -> None:
    search = Search(spec(method=method, parameters=CONDITIONAL))
    assert len({_asked(search).params["lr"] for _ in range(8)}) == 8


@pytest.mark.parametrize("method", ["tpe", "cmaes"])
@pytest.mark.parametrize("goal", ["maximize", "minimize"])
def test_sampler_learns_in_direction_of_goal(method: str, goal: str) -> None:
    search = Search(spec(method=method, metric={"name": "m", "goal": goal}))
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
def test_trial_without_value_is_told_and_search_continues(state: TrialState) -> None:
    search = Search(spec(method="tpe", early_terminate={"type": "median"}))
    for _ in range(15):
        planned = _asked(search)
        search.report(planned.number, 0, 0.5)
        search.tell(planned.number, state, None)
    assert _asked(search).number == 15


# Pruning.


@pytest.mark.parametrize("goal", ["maximize", "minimize"])
@pytest.mark.parametrize("kind", ["asha", "median"])
def test_worst_trial_is_pruned_and_best_is_not(kind: str, goal: str) -> None:
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


def test_nothing_is_pruned_without_early_termination() -> None:
    search = Search(spec())
    for value in (1.0, -1.0, -100.0):
        planned = _asked(search)
        assert not search.report(planned.number, 5, value).prune
        search.tell(planned.number, TrialState.FINISHED, [value])


# Rebuilding.


@dataclass
class Sweep:
    """Runs a sweep of overlapping trials, and stores of each trial what the database stores."""

    spec: SweepSpec
    rebuild_at: frozenset[tuple[int, int]] = frozenset()  # (turn, step); step -1 is before the ask
    past: dict[int, PastTrial] = field(default_factory=dict)
    seen: list[TrialPlan | PruneVerdict] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)  # numbers, in the order in which they were told

    def play(self, turns: int) -> list[TrialPlan | PruneVerdict]:
        """Ask `turns` times, with three trials alive at a time; returns everything that the search answered."""
        self.search = Search(self.spec)
        self._play(turns)
        return [_comparable(answer) for answer in self.seen]

    def _play(self, turns: int) -> None:
        alive: list[TrialPlan] = []
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

    def _train(self, turn: int, planned: TrialPlan) -> None:
        number, chance = planned.number, random.Random(planned.number)
        lr = planned.params["lr"]
        assert isinstance(lr, float)
        state, value = TrialState.FINISHED, lr * 10 + chance.random()
        if number % 7 == 3:
            state = TrialState.FAILED
        for step in range(9):
            reported = value * (1 + (step if number % 2 else -step) / 10)
            verdict = self.search.report(number, step, reported)
            self.seen.append(verdict)
            past = self.past[number]
            attributes = verdict.attributes or past.attributes
            self._remember(replace(past, reports=past.reports | {step: reported}, attributes=attributes))
            self._rebuild(turn, step)
            if verdict.prune:
                state = TrialState.PRUNED
                break
        several = tuple(value * factor for factor in (1.0, -0.5, 2.0)[: len(self.spec.objectives)])
        values = several if state is TrialState.FINISHED else None
        constraints = {"size": lr - 0.05} if number % 3 else {}
        infeasible = state is TrialState.FAILED and number % 2 == 0
        self.search.tell(number, state, values, infeasible=infeasible, constraints=constraints)
        if number % 14 == 3:  # failed and retried
            self.search.retry(number)
            state, values, infeasible = TrialState.FINISHED, several, False
            self.search.tell(number, state, values, constraints=constraints)
        self.ends.append(number)
        ended = replace(self.past[number], state=state, values=values, constraints=constraints, infeasible=infeasible)
        self._remember(ended)

    def _remember(self, trial: PastTrial) -> None:
        """Convert to JSON and back, as the database does."""
        attributes = json.loads(json.dumps(trial.attributes))
        params = json.loads(json.dumps(trial.params))
        self.past[trial.number] = replace(trial, params=params, reports=dict(trial.reports), attributes=attributes)

    def _rebuild(self, turn: int, step: int) -> None:
        if (turn, step) in self.rebuild_at:
            self.search = Search(self.spec, list(self.past.values()))


def _comparable(answer: TrialPlan | PruneVerdict) -> TrialPlan | PruneVerdict:
    """Without the pickle of CMA-ES, which contains uninitialized memory."""
    kept = {key: note for key, note in answer.attributes.items() if not key.startswith("cma:optimizer")}
    return replace(answer, attributes=kept)


RESTARTS = frozenset({(1, -1), (4, 0), (12, -1), (17, 1), (17, 4), (23, 3), (24, -1), (31, 0), (40, -1), (57, 2)})


def _searched(method: str, kind: str = "none", **changes: Any) -> SweepSpec:
    return spec(
        method=method,
        seed=3,
        parameters=SPACES.get(method, CONDITIONAL),
        enqueue=[{"lr": 1e-3 if method in ("grid", "brute_force") else 1e-2}],
        early_terminate=RULES[kind],
        run_cap=60,
        **changes,
    )


FAST = {"hyperband": ["cmaes", "random", "tpe"], **{kind: ["tpe"] for kind in ("asha", "median", "wilcoxon", "none")}}
REBUILT = [
    pytest.param(method, kind, marks=() if method in FAST.get(kind, ()) else pytest.mark.slow)
    for method in METHODS
    for kind in RULES
]


@pytest.mark.parametrize(("method", "kind"), REBUILT)
def test_rebuilt_search_proposes_and_prunes_like_uninterrupted_one(method: str, kind: str) -> None:
    uninterrupted = Sweep(_searched(method, kind)).play(60)
    often = Sweep(_searched(method, kind), RESTARTS).play(60)
    assert often == uninterrupted
    pruned = [answer.prune for answer in uninterrupted if isinstance(answer, PruneVerdict)]
    assert any(pruned) == (kind != "none")


TWO: Any = [{"name": "score", "goal": "maximize"}, {"name": "size", "goal": "minimize"}]


@pytest.mark.parametrize("kind", ["asha", pytest.param("none", marks=pytest.mark.slow)])
@pytest.mark.parametrize("method", SEVERAL_OBJECTIVES)
def test_rebuilt_search_of_several_objectives_continues_identically(method: str, kind: str) -> None:
    searched = _searched(method, kind, metric=None, metrics=TWO)
    uninterrupted = Sweep(searched).play(60)
    assert Sweep(searched, RESTARTS).play(60) == uninterrupted
    pruned = [answer.prune for answer in uninterrupted if isinstance(answer, PruneVerdict)]
    assert any(pruned) == (kind != "none")


# Replaying.


@pytest.mark.parametrize(
    "method", [pytest.param(name, marks=() if name in FAST["hyperband"] else pytest.mark.slow) for name in METHODS]
)
def test_each_ask_can_be_replayed_from_records(method: str) -> None:
    searched = _searched(method, "asha")
    sweep = Sweep(searched)
    asked = [answer for answer in sweep.play(50) if isinstance(answer, TrialPlan)]
    for planned in asked:
        again = replayed(searched, sweep, planned.number, planned.attributes[TRIALS_TOLD])
        assert again is not None and _comparable(again) == planned


def replayed(searched: SweepSpec, sweep: Sweep, number: int, told: int) -> TrialPlan | None:
    """The proposal of a search that knows all earlier trials, and the results of the first `told` ended ones."""
    over = set(sweep.ends[:told])
    before = [sweep.past[n] if n in over else as_asked(sweep.past[n]) for n in range(number)]
    return Search(searched, before).ask()


def as_asked(trial: PastTrial) -> PastTrial:
    return replace(trial, state=TrialState.RUNNING, values=None, reports={}, constraints={}, infeasible=False)


@settings(max_examples=15, deadline=None)
@given(
    st.sampled_from([method for method in METHODS if method != "grid"]),
    st.sampled_from(sorted(RULES)),
    st.integers(0, 2**63 - 1),
    st.frozensets(st.tuples(st.integers(0, 24), st.integers(-1, 8)), max_size=6),
)
def test_search_rebuilt_at_any_time_continues_identically(
    method: str, kind: str, seed: int, restarts: frozenset[tuple[int, int]]
) -> None:
    searched = spec(method=method, seed=seed, parameters=SPACES.get(method, CONDITIONAL), early_terminate=RULES[kind])
    assert Sweep(searched, restarts).play(25) == Sweep(searched).play(25)


def test_tpe_proposes_when_gp_has_too_many_trials() -> None:
    """In the same process, which then no longer needs the search process; each trial records it."""
    search = Search(spec(method="gp", parameters=NUMBERS, run_cap=30), limits=SearchLimits(gp_ends_at=12))
    for number in range(12):
        search.ask_at_random(FallbackReason.SLOW)
        search.tell(number, TrialState.FINISHED, [float(number)])
    assert not search.is_slow and not search.is_slow_soon
    planned = search.ask()
    assert planned is not None
    assert (planned.sampler, planned.fallback_reason) == ("tpe", FallbackReason.MANY_TRIALS)
    own = Search(spec(method="tpe", parameters=NUMBERS, run_cap=30), list(search.past_trials())[:12]).ask()
    assert own is not None and planned.params == own.params


def test_only_several_objectives_make_tpe_slow() -> None:
    assert not samplers.is_slow("tpe", 100_000, 100_000, 1) and not samplers.is_slow_soon("tpe", 100_000, 1)
    assert samplers.is_slow("tpe", samplers.SLOW_FROM, 0, 2) and samplers.is_slow_soon("tpe", samplers.SLOW_FROM, 2)
    assert samplers.is_slow("cmaes", samplers.SLOW_FROM, 0, 1)


def test_gp_with_several_objectives_and_too_many_trials_stays_in_the_search_process() -> None:
    searched = spec(
        method="gp", parameters=NUMBERS, run_cap=30, metric=None,
        metrics=[{"name": "a", "goal": "minimize"}, {"name": "b", "goal": "maximize"}],
    )  # fmt: skip
    earlier = Search(searched)
    params = earlier.ask_at_random(FallbackReason.SLOW).params
    past = [PastTrial(n, TrialState.FINISHED, params, values=(float(n), 1.0)) for n in range(samplers.SLOW_FROM)]
    search = Search(searched, past)
    assert search.is_slow and search.is_slow_soon
    planned = search.propose(len(search))
    assert planned is not None and planned.fallback_reason is FallbackReason.MANY_TRIALS


def test_enqueued_trial_after_many_trials_does_not_fit_a_gaussian_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """The parameters that it omits are proposed by TPE, too."""
    monkeypatch.setattr("optuna.samplers.GPSampler.sample_relative", None)
    earlier = Search(spec(method="random", parameters=NUMBERS, run_cap=30))
    for number in range(12):
        earlier.ask()
        earlier.tell(number, TrialState.FINISHED, [float(number)])
    searched = spec(method="gp", parameters=NUMBERS, run_cap=30, enqueue=[{"lr": 0.01}])
    planned = Search(searched, [], list(earlier.past_trials()), limits=SearchLimits(gp_ends_at=12)).ask()
    assert planned is not None
    assert (planned.sampler, planned.params["lr"]) == ("enqueue", 0.01)
