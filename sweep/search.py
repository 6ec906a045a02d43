"""The one door to Optuna: ask, report, tell, and a study rebuilt from what the database remembers; scheduler.

The study lives in memory; our tables are the truth. Every ask gets a sampler seeded by (sweep seed, trial number),
so a rebuilt study does not repeat the stream of the old one, and suggests what it would have suggested. Samplers
and pruners keep notes on their trials (the rungs of ASHA, for one); those travel with the trial in `attributes`.
"""

from __future__ import annotations

import hashlib
import itertools
import logging
import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import optuna
from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)
from optuna.pruners import BasePruner, MedianPruner, NopPruner, SuccessiveHalvingPruner
from optuna.samplers import BaseSampler, RandomSampler, TPESampler

from sweep.space import Parameter
from sweep.spec import SweepSpec
from sweep.trial import TRIAL_OVER, Params, Scalar, TrialState

optuna.logging.set_verbosity(optuna.logging.WARNING)
log = logging.getLogger("podium.search")

_OPTUNA_STATES = {
    TrialState.WAITING: optuna.trial.TrialState.RUNNING,  # planned: its values are taken
    TrialState.RUNNING: optuna.trial.TrialState.RUNNING,
    TrialState.FINISHED: optuna.trial.TrialState.COMPLETE,
    TrialState.PRUNED: optuna.trial.TrialState.PRUNED,
    TrialState.FAILED: optuna.trial.TrialState.FAIL,
    TrialState.CANCELLED: optuna.trial.TrialState.FAIL,
}


ENQUEUED = "enqueue"  # the sampler of a trial that the sweep file asks for
CLONED = "clone"  # and of one that a client added
_INFEASIBLE = "constraints:memory"  # as `Trial.set_constraint` writes it


@dataclass(frozen=True, slots=True)
class PastTrial:
    """A trial as the database remembers it: all that a study needs to know."""

    number: int
    state: TrialState
    params: Params
    value: float | None = None
    reports: dict[int, float] = field(default_factory=dict)  # step -> metric
    attributes: dict[str, Any] = field(default_factory=dict)
    sampler: str = ""
    infeasible: bool = False  # it failed for want of memory


@dataclass(frozen=True, slots=True)
class Planned:
    """What to try next, and who chose it."""

    number: int
    params: Params
    sampler: str
    attributes: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a trial should give up at its last step; all notes on it if the pruner changed any, else none."""

    prune: bool
    attributes: dict[str, Any]


class Search:
    """The search of one sweep. Not thread-safe: each sweep asks, reports and tells in one thread."""

    def __init__(self, spec: SweepSpec, past: Sequence[PastTrial] = ()) -> None:
        self._spec = spec
        self._study = _study(spec)
        self._ids: dict[int, int] = {}
        self._grid = list(_grid(spec)) if spec.method == "grid" else []
        self._taken = {ENQUEUED: 0, "grid": 0}  # how many of those that are known beforehand have been asked for
        for trial in sorted(past, key=lambda trial: trial.number):
            self._remember(trial)

    def ask(self, wanted: Params | None = None) -> Planned | None:
        """The next trial, or None when a grid is exhausted; `wanted`: the values that it must have."""
        number = len(self._ids)
        fixed, sampler = self._fixed() if wanted is None else (wanted, CLONED)
        if fixed is None:
            return None
        self._count(sampler)
        self._study.sampler = _sampler(self._spec, number)
        if fixed:
            self._study.enqueue_trial(fixed)
        trial = self._study.ask()
        self._ids[number] = trial._trial_id
        params: Params = {}
        for name, parameter in self._spec.ordered():
            if parameter.active(params):
                params[name] = _suggest(trial, name, parameter)
        return Planned(number, params, sampler, self._attributes(number))

    def report(self, number: int, step: int, value: float) -> Verdict:
        """Note a value of the metric and judge the trial by it."""
        before = self._attributes(number)
        trial = optuna.trial.Trial(self._study, self._ids[number])
        if step not in self._frozen(number).intermediate_values:
            trial.report(value, step)
        prune = trial.should_prune()
        after = self._attributes(number)
        return Verdict(prune, after if after != before else {})

    def retry(self, number: int) -> None:
        """A trial that was told to be over runs again.

        Optuna changes no trial that is over: the study is built anew with this one running, as after a restart.
        """
        trials = [self._frozen(each) for each in sorted(self._ids)]
        self._study, self._ids = _study(self._spec), {}
        for position, frozen in enumerate(trials):
            self._add(position, _running_again(frozen) if position == number else frozen)

    def tell(self, number: int, state: TrialState, value: float | None, *, infeasible: bool = False) -> None:
        """How a trial ended. A pruned one keeps its last reported value, as Optuna's samplers expect.

        `infeasible`: it failed for want of memory. A sampler that knows of constraints keeps away from such values,
        while it would learn nothing from a failure.
        """
        trial = optuna.trial.Trial(self._study, self._ids[number])
        if state is TrialState.FINISHED:
            self._study.tell(trial, value)
        elif infeasible:
            trial.set_constraint("memory", 1.0)
            self._study.tell(trial, state=optuna.trial.TrialState.PRUNED)
        else:
            self._study.tell(trial, state=_OPTUNA_STATES[state])

    def _fixed(self) -> tuple[dict[str, Scalar] | None, str]:
        enqueued = self._taken[ENQUEUED]
        if enqueued < len(self._spec.enqueue):
            return dict(self._spec.enqueue[enqueued]), ENQUEUED
        if self._spec.method != "grid":
            return {}, self._spec.method
        index = self._taken["grid"]
        return (dict(self._grid[index]) if index < len(self._grid) else None), "grid"

    def _count(self, sampler: str) -> None:
        if sampler in self._taken:
            self._taken[sampler] += 1

    def _remember(self, past: PastTrial) -> None:
        self._count(past.sampler)
        try:
            frozen = self._remembered(past)
        except ValueError as error:  # a value outside its space, from a study that knew no better
            log.warning("trial %d teaches the search nothing: %s", past.number, error)
            over = past.state in TRIAL_OVER
            state = optuna.trial.TrialState.FAIL if over else optuna.trial.TrialState.RUNNING
            frozen = optuna.trial.create_trial(state=state)
        self._add(past.number, frozen)

    def _remembered(self, past: PastTrial) -> optuna.trial.FrozenTrial:
        return optuna.trial.create_trial(
            state=optuna.trial.TrialState.PRUNED if past.infeasible else _OPTUNA_STATES[past.state],
            value=_value_of(past),
            params=dict(past.params),
            distributions={name: _distribution(self._spec.parameters[name]) for name in past.params},
            intermediate_values=dict(past.reports),
            system_attrs={**past.attributes, **({_INFEASIBLE: 1.0} if past.infeasible else {})},
        )

    def _add(self, number: int, frozen: optuna.trial.FrozenTrial) -> None:
        self._study.add_trial(frozen)
        self._ids[number] = self._study.get_trials(deepcopy=False)[-1]._trial_id

    def _frozen(self, number: int) -> optuna.trial.FrozenTrial:
        """The trial as the study has it; in memory, Optuna's ids are positions."""
        return self._study.get_trials(deepcopy=False)[self._ids[number]]

    def _attributes(self, number: int) -> dict[str, Any]:
        return {name: note for name, note in self._frozen(number).system_attrs.items() if name != "fixed_params"}


def _study(spec: SweepSpec) -> optuna.Study:
    """An empty study. The name is fixed: samplers and pruners may derive choices from it."""
    return optuna.create_study(
        study_name="podium", direction=spec.metric.goal, sampler=RandomSampler(seed=0), pruner=_pruner(spec)
    )


def _running_again(frozen: optuna.trial.FrozenTrial) -> optuna.trial.FrozenTrial:
    return optuna.trial.create_trial(
        state=optuna.trial.TrialState.RUNNING,
        params=frozen.params,
        distributions=frozen.distributions,
        intermediate_values=frozen.intermediate_values,
        system_attrs={name: note for name, note in frozen.system_attrs.items() if name != _INFEASIBLE},
    )


def _value_of(past: PastTrial) -> float | None:
    if past.state is TrialState.PRUNED or past.infeasible:
        return past.reports[max(past.reports)] if past.reports else None
    return past.value if past.state is TrialState.FINISHED else None


def _sampler(spec: SweepSpec, number: int) -> BaseSampler:
    digest = hashlib.sha256(f"{spec.seed}:{number}".encode()).digest()
    seed = int.from_bytes(digest[:4], "big")
    return TPESampler(seed=seed) if spec.method == "tpe" else RandomSampler(seed=seed)


def _pruner(spec: SweepSpec) -> BasePruner:
    early = spec.early_terminate
    if early.type == "asha":
        return SuccessiveHalvingPruner(min_resource=early.min_iter, reduction_factor=early.eta)
    if early.type == "median":
        return MedianPruner(n_warmup_steps=early.min_iter)
    return NopPruner()


def _distribution(parameter: Parameter) -> BaseDistribution:
    if not parameter.is_range:
        return CategoricalDistribution(parameter.choices() or [])
    assert parameter.min is not None and parameter.max is not None
    if parameter.integer:
        return IntDistribution(int(parameter.min), int(parameter.max), log=parameter.log, step=int(parameter.step or 1))
    step = None if parameter.step is None else float(parameter.step)
    return FloatDistribution(float(parameter.min), float(parameter.max), log=parameter.log, step=step)


def _suggest(trial: optuna.trial.Trial, name: str, parameter: Parameter) -> Scalar:
    distribution = _distribution(parameter)
    if isinstance(distribution, CategoricalDistribution):
        choice: Scalar = trial.suggest_categorical(name, distribution.choices)
        return choice
    if isinstance(distribution, IntDistribution):
        return trial.suggest_int(
            name, distribution.low, distribution.high, log=distribution.log, step=distribution.step
        )
    assert isinstance(distribution, FloatDistribution)
    return trial.suggest_float(name, distribution.low, distribution.high, log=distribution.log, step=distribution.step)


def _grid(spec: SweepSpec) -> Iterable[Params]:
    """Every combination once, in an order shuffled by the seed; inactive parameters make no copies.

    Optuna's own grid raises when it is exhausted and samples again after a restart; hence this one.
    """
    names = [name for name, _ in spec.ordered()]
    choices = [spec.parameters[name].choices() or [] for name in names]
    seen: set[tuple[tuple[str, Scalar], ...]] = set()
    points: list[Params] = []
    for values in itertools.product(*choices):
        point: Params = {}
        for name, value in zip(names, values, strict=True):
            if spec.parameters[name].active(point):
                point[name] = value
        key = tuple(point.items())
        if key not in seen:
            seen.add(key)
            points.append(point)
    random.Random(spec.seed).shuffle(points)  # noqa: S311 - an order, not a secret
    return points
