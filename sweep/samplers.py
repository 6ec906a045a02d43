"""Which of Optuna's samplers chooses a trial, and with which seed; scheduler and search process.

A sampler is made anew for each trial and seeded by (sweep seed, trial number): what it suggests depends on nothing but
the study, so that a study rebuilt from the database suggests what the old one would have.
"""

from __future__ import annotations

import hashlib
import importlib
import inspect
from collections.abc import Callable, Mapping
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
from optuna.trial import FrozenTrial

from sweep.distributions import distribution_of
from sweep.methods import Method
from sweep.spec import SweepSpec

GP_STARTS_AT = 10  # trials that finished; before them, GP draws at random
SLOW_FROM = 1000  # trials; TPE then takes some 30 ms a trial, and at 10,000 half a second
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


def sampler_of(spec: SweepSpec, method: Method, number: int, *, position: int, finished: int) -> BaseSampler:
    """The sampler for one trial; `position`: how many it has chosen before, `finished`: trials that were told so."""
    seed = seed_of(spec, number)
    if method == "gp" and finished < GP_STARTS_AT:
        return RandomSampler(seed=seed)  # as GP itself does until then, without loading torch
    if method == "qmc":
        return _Sequence(spec, position, seed)
    make = _SAMPLERS.get(method)
    return RandomSampler(seed=seed) if make is None else make(spec, seed)


def _nsga2(spec: SweepSpec, seed: int) -> BaseSampler:
    size = min(max(spec.run_cap // 5, _NSGA2_POPULATION.start), _NSGA2_POPULATION.stop - 1)
    return NSGAIISampler(seed=seed, population_size=size)


_SAMPLERS: Mapping[str, Callable[[SweepSpec, int], BaseSampler]] = {
    "tpe": lambda _, seed: TPESampler(seed=seed),
    "cmaes": lambda _, seed: CmaEsSampler(seed=seed, warn_independent_sampling=False),
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
