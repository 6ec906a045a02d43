"""Which of Optuna's samplers chooses a trial, and with which seed; scheduler and search process.

A sampler is made anew for each trial and seeded by (sweep seed, trial number): what it suggests depends on nothing but
the study, so that a study rebuilt from the database suggests what the old one would have.
"""

from __future__ import annotations

import copy
import hashlib
import importlib
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from optuna import Study
from optuna.distributions import BaseDistribution
from optuna.samplers import (
    BaseSampler,
    CmaEsSampler,
    GPSampler,
    NSGAIISampler,
    QMCSampler,
    RandomSampler,
    TPESampler,
)
from optuna.search_space import IntersectionSearchSpace
from optuna.trial import FrozenTrial, TrialState

from sweep.distributions import distribution_of
from sweep.methods import Method
from sweep.spec import SweepSpec
from sweep.study import fits
from sweep.trial import violates

GP_STARTS_AT = 10  # trials that finished; before them, GP draws at random
SLOW_FROM = 1000  # trials; with one objective TPE then takes some 20 ms for the next, and at 10,000 100 ms or more
WARM_START_AT = 10  # earlier trials; a tenth of them, the best, is the distribution that CMA-ES starts with
_LEARNING = ("tpe", "cmaes", "nsga2")
_NSGA2_POPULATION = range(10, 51)  # a fifth of `run_cap`, within these


def seed_of(spec: SweepSpec, number: int) -> int:
    """The seed of a trial's ask."""
    digest = hashlib.sha256(f"{spec.seed}:{number}".encode()).digest()
    return int.from_bytes(digest[:4], "big")


def is_slow(method: Method, trials: int, finished: int) -> bool:
    """Whether to ask in a process beside the scheduler: torch belongs there, and what takes longer than an instant."""
    if method == "gp":
        return finished >= GP_STARTS_AT
    return method in _LEARNING and trials >= SLOW_FROM


def soon_slow(method: Method, trials: int) -> bool:
    """Whether to start that process: it takes a while."""
    return method == "gp" or (method in _LEARNING and trials >= SLOW_FROM * 9 // 10)


def load(method: Method) -> None:
    """Import what the sampler needs, before anybody waits for it."""
    if method == "gp":
        importlib.import_module("torch")


def at_random(spec: SweepSpec, number: int) -> BaseSampler:
    """What chooses where nothing better can."""
    return RandomSampler(seed=seed_of(spec, number))


def sampler_alone(spec: SweepSpec, method: Method, number: int, name: str) -> BaseSampler:
    """The sampler for a parameter that no sweep file names, and that is asked for by itself: TPE, or at random."""
    seed = int.from_bytes(hashlib.sha256(f"{spec.seed}:{number}:{name}".encode()).digest()[:4], "big")
    return RandomSampler(seed=seed) if method in ("random", "qmc") else TPESampler(seed=seed)


def sampler_of(
    spec: SweepSpec,
    method: Method,
    number: int,
    *,
    position: int,
    finished: int,
    earlier: Sequence[FrozenTrial] = (),
) -> BaseSampler:
    """The sampler for one trial.

    `position`: how many it has chosen before, `finished`: trials that were told so; `earlier`: those of other sweeps in
    the study, which CMA-ES has to be shown.
    """
    seed = seed_of(spec, number)
    if method == "gp" and finished < GP_STARTS_AT:
        return RandomSampler(seed=seed)  # as GP itself does until then, without loading torch
    if method == "qmc":
        return _Sequence(spec, position, seed)
    if method == "cmaes":
        return _cmaes(spec, seed, earlier)
    make = _SAMPLERS.get(method)
    return RandomSampler(seed=seed) if make is None else make(spec, seed)


def common_space(method: Method) -> IntersectionSearchSpace:
    """What finished trials have in common, noted as they finish: found anew, it takes TPE as long as all the rest."""
    return IntersectionSearchSpace(include_pruned=method == "tpe")


def share(space: IntersectionSearchSpace, sampler: BaseSampler) -> BaseSampler:
    """Have a sampler know what the ones before it found; says the same as what it would find itself."""
    for name in ("_search_space", "_intersection_search_space"):
        if isinstance(getattr(sampler, name, None), IntersectionSearchSpace):
            setattr(sampler, name, space)
    return sampler


def marks_of_earlier(method: Method) -> dict[str, Any]:
    """What a finished trial of another sweep must have noted for the sampler to see it: NSGA-II's first generation."""
    return {NSGAIISampler._get_generation_key(): 0} if method == "nsga2" else {}


def _cmaes(spec: SweepSpec, seed: int, earlier: Sequence[FrozenTrial]) -> BaseSampler:
    known = [trial for trial in earlier if trial.state is TrialState.COMPLETE and not violates(trial.constraints)]
    known.sort(key=lambda trial: trial.values[0], reverse=spec.metric.goal == "maximize")
    return _Evolution(seed, known)


def _nsga2(spec: SweepSpec, seed: int) -> BaseSampler:
    size = min(max(spec.run_cap // 5, _NSGA2_POPULATION.start), _NSGA2_POPULATION.stop - 1)
    return NSGAIISampler(seed=seed, population_size=size)


_SAMPLERS: Mapping[str, Callable[[SweepSpec, int], BaseSampler]] = {
    "tpe": lambda _, seed: TPESampler(seed=seed),
    "gp": lambda _, seed: GPSampler(seed=seed, warn_independent_sampling=False),
    "nsga2": _nsga2,
}


class _Sequence(QMCSampler):
    """A scrambled Sobol sequence over all parameters; one that is inactive leaves its coordinate unused.

    Optuna takes the space from the first trial and counts the points in the study: here both are known.
    """

    def __init__(self, spec: SweepSpec, position: int, seed: int) -> None:
        independent = RandomSampler(seed=seed)
        unwrapped = inspect.unwrap(QMCSampler.__init__)  # what is wrapped around it warns that it is experimental
        unwrapped(
            self,
            scramble=True,
            seed=spec.seed % 2**32,
            independent_sampler=independent,
            warn_independent_sampling=False,
        )
        self._space: dict[str, BaseDistribution] = {}
        for name, parameter in spec.ordered():
            distribution = distribution_of(parameter)
            if distribution is not None and not distribution.single():
                self._space[name] = distribution
        self._position = position

    def infer_relative_search_space(self, study: Study, trial: FrozenTrial) -> dict[str, BaseDistribution]:
        return self._space

    def _find_sample_id(self, study: Study, search_space: dict[str, Any]) -> int:
        return self._position


class _Evolution(CmaEsSampler):
    """CMA-ES. With earlier trials: WS-CMA-ES (Nomura et al. 2021), or with few of them it starts at the best one.

    Optuna knows only of earlier trials that have the parameters of the evolution and no others, and fails where there
    are none: it searches neither over choices nor over what not all trials have. `known`: earlier trials, best first.
    """

    def __init__(self, seed: int, known: Sequence[FrozenTrial]) -> None:
        super().__init__(seed=seed, warn_independent_sampling=False)
        self._known = known

    def _init_optimizer(self, trans: Any, direction: Any) -> Any:
        cut = [found for trial in self._known if (found := _cut(trial, trans._search_space)) is not None]
        if cut:  # as an argument it warns that it is experimental
            self._source_trials = cut if len(cut) >= WARM_START_AT else cut[:1] * WARM_START_AT
        return super()._init_optimizer(trans, direction)


def _cut(trial: FrozenTrial, space: Mapping[str, BaseDistribution]) -> FrozenTrial | None:
    """The trial with the parameters of `space` alone; None where it lacks one, or has a value that is not there."""
    for name, wanted in space.items():
        if name not in trial.params or not fits(trial.params[name], trial.distributions[name], wanted):
            return None
    cut = copy.copy(trial)
    cut.params, cut.distributions = {name: trial.params[name] for name in space}, dict(space)
    return cut
