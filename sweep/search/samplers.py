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
    BruteForceSampler,
    CmaEsSampler,
    GPSampler,
    NSGAIIISampler,
    NSGAIISampler,
    QMCSampler,
    RandomSampler,
    TPESampler,
)
from optuna.samplers._brute_force import _TreeNode
from optuna.search_space import IntersectionSearchSpace
from optuna.trial import FrozenTrial, TrialState

from podium.sweep.search.optuna_distributions import searched_distribution
from podium.sweep.search.study import Study as OurStudy
from podium.sweep.search.study import fits
from podium.sweep.spec.search_methods import BRUTE_FORCE, CUSTOM, Method
from podium.sweep.spec.sweep_spec import SweepSpec
from podium.sweep.values.trial import violates

GP_STARTS_AT = 10  # trials that finished; before them, GP draws at random
SLOW_FROM = 1000  # trials; with one objective TPE then takes some 20 ms for the next, and at 10,000 100 ms or more
WARM_START_AT = 10  # earlier trials; a tenth of them, the best, is the distribution that CMA-ES starts with
_LEARNING = ("tpe", "cmaes", "nsga2", "nsga3", BRUTE_FORCE)
_POPULATION = range(10, 51)  # a fifth of `run_cap`, within these


def seed_of(spec: SweepSpec, number: int) -> int:
    """The seed of a trial's ask."""
    digest = hashlib.sha256(f"{spec.seed}:{number}".encode()).digest()
    return int.from_bytes(digest[:4], "big")


def is_slow(method: Method, trials: int, finished: int) -> bool:
    """Whether to ask in a process beside the scheduler: torch belongs there, and what takes longer than an instant."""
    if method == CUSTOM:
        return True  # it may be slow, load anything, or crash
    if method == "gp":
        return finished >= GP_STARTS_AT
    return method in _LEARNING and trials >= SLOW_FROM


def soon_slow(method: Method, trials: int) -> bool:
    """Whether to start that process: it takes a while."""
    return method in ("gp", CUSTOM) or (method in _LEARNING and trials >= SLOW_FROM * 9 // 10)


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
    if method == BRUTE_FORCE:
        return _BruteForce(spec, seed)
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
    return _SAMPLERS[method](spec, seed)


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
    keys = {"nsga2": NSGAIISampler._get_generation_key, "nsga3": _ReferencePoints._get_generation_key}
    return {keys[method](): 0} if method in keys else {}


def _cmaes(spec: SweepSpec, seed: int, earlier: Sequence[FrozenTrial]) -> BaseSampler:
    known = [trial for trial in earlier if trial.state is TrialState.COMPLETE and not violates(trial.constraints)]
    known.sort(key=lambda trial: trial.values[0], reverse=spec.metric.goal == "maximize")
    return _Evolution(seed, known)


def all_tried(study: OurStudy) -> bool:
    """Whether brute force has no configuration left, as far as is known: trials that run may yet suggest more."""
    tree = _TreeNode()
    _BruteForce._populate_tree(tree, study.trials(), {})
    return not tree.is_any_expandable(exclude_running=True)


def _population(spec: SweepSpec) -> int:
    return min(max(spec.run_cap // 5, _POPULATION.start), _POPULATION.stop - 1)


def _nsga2(spec: SweepSpec, seed: int) -> BaseSampler:
    return NSGAIISampler(seed=seed, population_size=_population(spec))


_SAMPLERS: Mapping[Method, Callable[[SweepSpec, int], BaseSampler]] = {
    "random": lambda _, seed: RandomSampler(seed=seed),
    "grid": lambda _, seed: RandomSampler(seed=seed),  # for what an enqueued configuration leaves open
    "tpe": lambda _, seed: TPESampler(seed=seed),
    "gp": lambda _, seed: GPSampler(seed=seed, warn_independent_sampling=False),
    "nsga2": _nsga2,
    "nsga3": lambda spec, seed: _ReferencePoints(spec, seed),
    "brute_force": lambda spec, seed: _BruteForce(spec, seed),
}


class _ReferencePoints(NSGAIIISampler):
    """NSGA-III (Deb and Jain 2014)."""

    def __init__(self, spec: SweepSpec, seed: int) -> None:
        unwrapped = inspect.unwrap(NSGAIIISampler.__init__)  # what is wrapped around it warns that it is experimental
        unwrapped(self, seed=seed, population_size=_population(spec))


class _BruteForce(BruteForceSampler):
    """Every configuration, also of parameters that trials suggest by themselves."""

    def __init__(self, _: SweepSpec, seed: int) -> None:
        unwrapped = inspect.unwrap(BruteForceSampler.__init__)  # what is wrapped around it warns: experimental
        unwrapped(self, seed=seed)

    @staticmethod
    def _populate_tree(tree: _TreeNode, trials: list[FrozenTrial], params: dict[str, Any]) -> None:
        """A trial that failed before it suggested anything, or suggested otherwise than others, says nothing."""
        for trial in trials:
            if trial.state is TrialState.FAIL and not trial.params:
                continue
            try:
                BruteForceSampler._populate_tree(tree, [trial], params)
            except ValueError:
                continue


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
            distribution = searched_distribution(parameter)
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
