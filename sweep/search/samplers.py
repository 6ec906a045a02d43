"""The sampler of each trial: one builder for each search method. Scheduler and search processes.

A method whose entry in `podium.sweep.spec.search_method_registry` names a class of Optuna needs no builder here.

A sampler is built for each trial and seeded by (sweep seed, trial number). Its suggestions depend only on the study, so
that a study rebuilt from the database gives the same suggestions.
"""

from __future__ import annotations

import hashlib
import importlib
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import optuna.samplers
from optuna.distributions import BaseDistribution
from optuna.samplers import BaseSampler, GPSampler, NSGAIISampler, TPESampler
from optuna.trial import FrozenTrial, TrialState

from podium.sweep.search.optuna_distributions import searched_distribution
from podium.sweep.search.optuna_private import (
    BruteForce,
    Nsga3,
    SeededRandomSampler,
    SobolSequence,
    WarmCmaEs,
    nsga2_generation,
    nsga3_generation,
)
from podium.sweep.search.trials_bounding_proposal_time import LIMITS, SearchLimits
from podium.sweep.spec.search_method_registry import CUSTOM, METHODS, Independent, Method, SearchMethod
from podium.sweep.spec.sweep_spec import SweepSpec
from podium.sweep.values.constraints_and_user_attributes import is_infeasible

GP_STARTS_AT = 10  # finished trials; with fewer, GP samples at random
SLOW_FROM = 1000  # trials; from here on an ask of most samplers takes 20 ms or more
_POPULATION = range(10, 51)  # a fifth of `run_cap`, within these bounds


BuildTpe = Callable[[int], BaseSampler]  # from a seed


def _optuna_tpe(seed: int) -> BaseSampler:
    return TPESampler(seed=seed)


@dataclass(frozen=True, slots=True)
class AskContext:
    """The inputs for building a sampler."""

    spec: SweepSpec
    number: int  # of the trial
    position: int = 0  # the number of trials that this method has chosen so far
    finished: int = 0  # trials that finished
    earlier: Sequence[FrozenTrial] = ()  # trials of other sweeps in the study
    build_tpe: BuildTpe = _optuna_tpe  # for the study

    @property
    def seed(self) -> int:
        return seed_of(self.spec, self.number)


@dataclass(frozen=True, slots=True)
class SamplerBuilder:
    """How a method's sampler is built, and when its asks are too slow for the scheduler."""

    build: Callable[[AskContext], BaseSampler]
    slow_from_trials: int | None = None
    slow_with_one_objective: bool = True
    slow_from_finished: int | None = None
    modules: tuple[str, ...] = ()  # heavy modules, imported before the first ask
    mark_earlier: Callable[[], dict[str, Any]] = dict  # attributes that make a trial of another sweep visible to it


_BUILDERS: dict[Method, SamplerBuilder] = {}


def register(method: Method, **traits: Any) -> Callable[[Callable[[AskContext], BaseSampler]], SamplerBuilder]:
    """Decorator: register a builder of `method`; `traits` are the other fields of `SamplerBuilder`."""

    return lambda build: _add(method, SamplerBuilder(build, **traits))


def _add(method: Method, builder: SamplerBuilder) -> SamplerBuilder:
    if method in _BUILDERS:
        raise ValueError(f"search method {method!r} has two sampler builders")
    _BUILDERS[method] = builder
    return builder


@register("tpe", slow_from_trials=SLOW_FROM, slow_with_one_objective=False)
def _tpe(context: AskContext) -> BaseSampler:
    return context.build_tpe(context.seed)


@register("random")
def _random(context: AskContext) -> BaseSampler:
    return SeededRandomSampler(context.seed)


@register("grid")
def _grid(context: AskContext) -> BaseSampler:
    """For parameters that an enqueued configuration omits; the points are those of `podium.sweep.spec.grid`."""
    return SeededRandomSampler(context.seed)


@register("qmc")
def _qmc(context: AskContext) -> BaseSampler:
    space: dict[str, BaseDistribution] = {}
    for name, parameter in context.spec.ordered():
        distribution = searched_distribution(parameter)
        if distribution is not None and not distribution.single():
            space[name] = distribution
    return SobolSequence(space, context.position, context.spec.seed % 2**32, context.seed)


@register("cmaes", slow_from_trials=SLOW_FROM)
def _cmaes(context: AskContext) -> BaseSampler:
    feasible = [
        trial
        for trial in context.earlier
        if trial.state is TrialState.COMPLETE and not is_infeasible(trial.constraints)
    ]
    feasible.sort(key=lambda trial: trial.values[0], reverse=context.spec.metric.goal == "maximize")
    return WarmCmaEs(context.seed, feasible)


@register("gp", slow_from_finished=GP_STARTS_AT, modules=("torch",))
def _gp(context: AskContext) -> BaseSampler:
    if context.finished < GP_STARTS_AT:
        return SeededRandomSampler(context.seed)  # as GPSampler does, without importing torch
    return GPSampler(seed=context.seed, warn_independent_sampling=False)


@register("nsga2", slow_from_trials=SLOW_FROM, mark_earlier=lambda: nsga2_generation(0))
def _nsga2(context: AskContext) -> BaseSampler:
    return NSGAIISampler(seed=context.seed, population_size=_population_size(context.spec))


@register("nsga3", slow_from_trials=SLOW_FROM, mark_earlier=lambda: nsga3_generation(0))
def _nsga3(context: AskContext) -> BaseSampler:
    return Nsga3(context.seed, _population_size(context.spec))


@register("brute_force", slow_from_trials=SLOW_FROM)
def _brute_force(context: AskContext) -> BaseSampler:
    return BruteForce(context.seed)


def builder_of_class(method: SearchMethod) -> SamplerBuilder:
    """The builder of a method whose entry names a class of Optuna. Raises `RuntimeError` if Optuna lacks it."""
    constructed = getattr(optuna.samplers, method.optuna_class, None)
    if constructed is None:
        raise RuntimeError(f"search method {method.name!r}: optuna.samplers has no class {method.optuna_class!r}")
    slow_from_trials = SLOW_FROM if method.uses_results else None
    return SamplerBuilder(lambda context: constructed(seed=context.seed, **method.arguments), slow_from_trials)


for _entry in METHODS.values():
    if _entry.optuna_class:
        _add(_entry.name, builder_of_class(_entry))


_INDEPENDENT: Mapping[Independent, Callable[[int, BuildTpe], BaseSampler]] = {
    "random": lambda seed, _: SeededRandomSampler(seed),
    "tpe": lambda seed, build_tpe: build_tpe(seed),
    "brute_force": lambda seed, _: BruteForce(seed),
}


def check_complete(methods: Mapping[str, Any], builders: Mapping[str, Any]) -> None:
    """Raises `RuntimeError` unless every registered method has a builder, and every builder a method."""
    if missing := sorted(methods.keys() - builders.keys()):
        raise RuntimeError(
            f"search methods without a sampler builder: {', '.join(missing)}; name optuna_class in their entries in "
            "sweep/spec/search_method_registry.py, or register a builder in sweep/search/samplers.py"
        )
    if unknown := sorted(builders.keys() - methods.keys()):
        raise RuntimeError(f"sampler builders without an entry in search_method_registry.METHODS: {', '.join(unknown)}")


check_complete(METHODS, _BUILDERS)


def builder_of(method: Method) -> SamplerBuilder:
    """The builder of a method. Raises `LookupError` if none is registered: no other sampler is used instead."""
    try:
        return _BUILDERS[method]
    except KeyError:
        known = ", ".join(_BUILDERS)
        raise LookupError(f"no sampler is registered for search method {method!r}; registered: {known}") from None


def sampler_of(context: AskContext, method: Method) -> BaseSampler:
    """The sampler for one trial. Raises `LookupError`."""
    return builder_of(method).build(context)


def independent_sampler(
    spec: SweepSpec, method: Method, number: int, name: str, build_tpe: BuildTpe = _optuna_tpe
) -> BaseSampler:
    """The sampler for a define-by-run parameter, which is sampled independently. Raises `LookupError`."""
    seed = int.from_bytes(hashlib.sha256(f"{spec.seed}:{number}:{name}".encode()).digest()[:4], "big")
    if method == CUSTOM:
        return build_tpe(seed)
    builder_of(method)
    return _INDEPENDENT[METHODS[method].independent](seed, build_tpe)


def random_sampler(spec: SweepSpec, number: int) -> BaseSampler:
    """The fallback for a sampler that fails or is too slow; its trials record this."""
    return SeededRandomSampler(seed_of(spec, number))


def seed_of(spec: SweepSpec, number: int) -> int:
    """The seed of a trial's ask."""
    digest = hashlib.sha256(f"{spec.seed}:{number}".encode()).digest()
    return int.from_bytes(digest[:4], "big")


def is_slow(method: Method, trials: int, finished: int, objectives: int = 1) -> bool:
    """Whether to ask in a search process: asks that take long, or that need torch."""
    if method == CUSTOM:
        return True  # it may be slow, import anything, or crash
    builder = builder_of(method)
    by_finished = builder.slow_from_finished is not None and finished >= builder.slow_from_finished
    return by_finished or trials >= _slow_from(builder, objectives)


def is_slow_soon(method: Method, trials: int, objectives: int = 1) -> bool:
    """Whether to start the search process, which takes some seconds."""
    if method == CUSTOM:
        return True
    builder = builder_of(method)
    return builder.slow_from_finished is not None or trials >= 0.9 * _slow_from(builder, objectives)


def _slow_from(builder: SamplerBuilder, objectives: int) -> float:
    """Trials."""
    if builder.slow_from_trials is None or (objectives == 1 and not builder.slow_with_one_objective):
        return math.inf
    return builder.slow_from_trials


def is_beyond_range(method: Method, finished: int, limits: SearchLimits = LIMITS) -> bool:
    """Whether TPE proposes instead: the time of a Gaussian process grows with the third power of the trials."""
    return method == "gp" and finished >= limits.gp_ends_at


def import_modules(method: Method) -> None:
    """Import the heavy modules of a sampler before the first ask."""
    for module in builder_of(method).modules if method != CUSTOM else ():
        importlib.import_module(module)


def marks_of_earlier(method: Method) -> dict[str, Any]:
    """The attributes that a finished trial of another sweep needs to be visible to the sampler."""
    return {} if method == CUSTOM else builder_of(method).mark_earlier()


def _population_size(spec: SweepSpec) -> int:
    return min(max(spec.run_cap // 5, _POPULATION.start), _POPULATION.stop - 1)
