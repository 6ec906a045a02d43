"""The registry of search methods: names, descriptions, requirements. Pure; all processes.

`METHODS` is the only list of methods. The model of the sweep file, its JSON Schema, the form of the dashboard, the
hints, the names from other libraries, the checks of a search space, the tables of the documentation and the parameters
of the tests derive from it. The sampler is a class of Optuna that the entry names (`optuna_class`), or the method has a
builder in `podium.sweep.search.samplers`, which fails at import if both are missing.

To add a method: "Add a search method" in CONTRIBUTING.md. If its name is an alias of another method, remove the alias.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal

from podium.sweep.spec.search_space import Parameter

GP_TRIALS = 100  # `auto` selects GP up to this `run_cap`: the time of an ask grows with the number of trials
MANY_TRIALS = 1000  # and from this one on, population-based methods
GP_PARAMETERS = 20
MAX_LISTED = 10_000  # values of one parameter that brute force enumerates

Parameters = Mapping[str, Parameter]
CheckMessage = tuple[tuple[str, ...], str]  # the key, and what is wrong with its value
Independent = Literal["random", "tpe", "brute_force"]


@dataclass(frozen=True, slots=True)
class SearchMethod:
    """One entry of the registry."""

    name: str
    summary: str  # one line, for forms, editors and the documentation
    best_for: str
    notes: str = ""  # Markdown, after `summary` in the documentation
    aliases: tuple[str, ...] = ()  # names in other libraries; suggested in error messages, not accepted
    accepted_aliases: tuple[str, ...] = ()  # aliases that a sweep file may use
    warm_start: str = ""  # how it uses trials of earlier sweeps; "" if it ignores all results
    independent: Independent = "tpe"  # how a parameter that only the trial's code defines is chosen
    declared_only: bool = True  # whether it searches only the parameters of the sweep file
    samples_drawn: bool = False  # whether it supports distributions and weights that Optuna does not have
    check: Callable[[Parameters, int], CheckMessage | None] = lambda parameters, objectives: None  # of a search space
    optuna_class: str = ""  # of `optuna.samplers`; constructed for each trial with `arguments` and a seed
    arguments: Mapping[str, object] = field(default_factory=dict)

    @property
    def uses_results(self) -> bool:
        """Whether it uses the results of trials."""
        return bool(self.warm_start)


def _check_cmaes(parameters: Parameters, objectives: int) -> CheckMessage | None:
    if objectives > 1:
        return ("method",), "cmaes supports one objective; with several, use another method, such as tpe or nsga2"
    if not any((one.is_range or one.ordered) and not one.when for one in parameters.values()):
        return ("method",), "cmaes needs a range or ordered values without a `when` condition; use tpe"
    return None


def _check_brute_force(parameters: Parameters, objectives: int) -> CheckMessage | None:
    for name, parameter in parameters.items():
        if (complaint := not_enumerable_reason(parameter)) is not None:
            return ("parameters", name), complaint
    return None


def not_enumerable_reason(parameter: Parameter) -> str | None:
    """Why brute force cannot enumerate the values of a parameter; None if it can."""
    count = parameter.count()
    if count is None and parameter.integer and parameter.log:
        assert parameter.min is not None and parameter.max is not None
        count = int(parameter.max) - int(parameter.min) + 1
    if count is None:
        return "brute_force needs a finite list here: give values, or min, max and step"
    if count > MAX_LISTED:
        return f"brute_force supports {MAX_LISTED:,} values of a parameter, this one has {count:,}; use method: grid"
    return None


_SAME_AS_OWN = "the same as of its own trials"
_FIRST_GENERATION = "they are the first generation, and the best of them are its parents"
_REGISTRY = (
    SearchMethod(
        "tpe",
        "learns from finished trials (tree-structured Parzen estimator)",
        "most sweeps (the default)",
        notes="supports conditional parameters, choices, several objectives and constraints",
        aliases=("bayesian", "bayesian_optimization", "optuna", "hyperopt", "bohb", "TPESampler"),
        accepted_aliases=("bayes",),  # of W&B
        warm_start=_SAME_AS_OWN,
        declared_only=False,
    ),
    SearchMethod(
        "random",
        "samples each trial independently",
        "baselines",
        notes="does not learn; the only method for `normal`, `beta` and weighted choices, see below",
        aliases=("random_search", "RandomSampler"),
        independent="random",
        declared_only=False,
        samples_drawn=True,
    ),
    SearchMethod(
        "grid",
        "evaluates every combination once, in an order shuffled by the seed",
        "small finite spaces",
        notes="with more than `run_cap` points, the first `run_cap`",
        aliases=("grid_search", "GridSampler"),
    ),
    SearchMethod(
        "qmc",
        "covers the space evenly (scrambled Sobol sequence)",
        "exploring a space",
        notes="does not learn",
        aliases=("sobol", "halton", "QMCSampler"),
        independent="random",
    ),
    SearchMethod(
        "cmaes",
        "evolution strategy over numeric parameters (CMA-ES)",
        "many trials over numeric parameters",
        notes="requires ranges and one objective; choices and conditional parameters are sampled at random",
        aliases=("cma", "cma-es", "CmaEsSampler"),
        warm_start="starts where the best tenth of them lies (WS-CMA-ES, Nomura et al. 2021); "
        "with fewer than ten, at the best one",
        check=_check_cmaes,
    ),
    SearchMethod(
        "gp",
        "models the metric with a Gaussian process",
        "few, expensive trials",
        notes="for about 100 trials and 20 parameters; "
        "after 500 finished trials, TPE proposes instead, which each trial records",
        aliases=("gaussian_process", "GPSampler", "skopt"),
        warm_start=_SAME_AS_OWN,
    ),
    SearchMethod(
        "nsga2",
        "evolves a population (NSGA-II)",
        "several objectives and many trials",
        notes="the population is a fifth of `run_cap`, 10 to 50 trials",
        aliases=("nsga-ii", "nsgaii", "NSGAIISampler"),
        warm_start=_FIRST_GENERATION,
    ),
    SearchMethod(
        "nsga3",
        "evolves a population spread over reference points (NSGA-III)",
        "three objectives or more",
        notes="the population is as large as that of `nsga2`",
        aliases=("nsga-iii", "nsgaiii", "NSGAIIISampler"),
        warm_start=_FIRST_GENERATION,
    ),
    SearchMethod(
        "brute_force",
        "evaluates every configuration once, including parameters that the code suggests",
        "finite spaces that the code defines",
        notes="ends when all were tried",
        aliases=("bruteforce", "brute-force", "exhaustive", "BruteForceSampler"),
        independent="brute_force",
        declared_only=False,
        check=_check_brute_force,
    ),
)
METHODS: Mapping[str, SearchMethod] = MappingProxyType({method.name: method for method in _REGISTRY})
AUTO = "auto"  # resolved by `choose_method` when the sweep is submitted
AUTO_SUMMARY = "selects a method by the search space and run_cap"
BRUTE_FORCE = "brute_force"
CUSTOM = "custom"  # a sampler class that the sweep file names
ACCEPTED_ALIASES: Mapping[str, str] = MappingProxyType(
    {alias: method.name for method in _REGISTRY for alias in method.accepted_aliases}
)

# `Method` is what a search runs: a name in `METHODS`, or `CUSTOM`. `MethodName` is what a sweep file may name.
if TYPE_CHECKING:
    Method = str
    MethodName = str
else:
    Method = Literal[(*METHODS, CUSTOM)]
    MethodName = Literal[(*METHODS, AUTO)]


def uses_results(method: Method) -> bool:
    """Whether a method uses the results of trials; assumed for a custom sampler class."""
    return method == CUSTOM or METHODS[method].uses_results


def descriptions() -> dict[str, str]:
    """What each value of the key `method` in a sweep file does, accepted aliases included."""
    own = {name: f"{method.summary}; for {method.best_for}" for name, method in METHODS.items()} | {AUTO: AUTO_SUMMARY}
    return own | {alias: f"alias of {name}" for alias, name in ACCEPTED_ALIASES.items()}


def choose_method(parameters: Mapping[str, Parameter], run_cap: int, objectives: int) -> Method:
    """The method that `method: auto` selects for a sweep."""
    if any(parameter.is_custom_distribution for parameter in parameters.values()):
        return "random"
    if not parameters:
        return "tpe"  # the parameters are known only when a trial suggests them
    if any(parameter.when for parameter in parameters.values()):
        return "tpe"  # the only method that models a parameter from the trials in which it is active
    if objectives > 1:
        return "nsga2" if run_cap >= MANY_TRIALS else "tpe"
    if run_cap <= GP_TRIALS and len(parameters) <= GP_PARAMETERS:
        return "gp"
    numbers_only = all(parameter.is_range for parameter in parameters.values() if parameter.count() != 1)
    return "cmaes" if run_cap >= MANY_TRIALS and numbers_only else "tpe"


def requires_random_search(method: str, parameter: Parameter) -> str:
    """The error message for a drawn or weighted parameter under a method that does not support it."""
    if parameter.probabilities is not None:
        return f"probabilities need method: random, not {method}; remove them, or change the method"
    kind = parameter.distribution or ""
    message = f"distribution {kind} needs method: random, not {method}; change the method, or use a range"
    if kind.endswith("beta"):
        return f"{message}: {{min: 0.0, max: 1.0}}"
    if not kind.endswith("normal"):
        return f"{message} on a log scale: {{min: {parameter.min:g}, max: {parameter.max:g}, log: true}}"
    low, high = parameter.mu - 2 * parameter.sigma, parameter.mu + 2 * parameter.sigma
    if kind.endswith("log_normal"):
        return f"{message}: {{min: {math.exp(low):g}, max: {math.exp(high):g}, log: true}}"
    return f"{message}: {{min: {low:g}, max: {high:g}}}"
