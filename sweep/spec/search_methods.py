"""The ways to search, and which of them suits which sweep; pure, everywhere."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Literal

from podium.sweep.spec.search_space import Parameter

Method = Literal["tpe", "random", "grid", "qmc", "cmaes", "gp", "nsga2", "nsga3", "brute_force", "custom"]
BRUTE_FORCE: Method = "brute_force"
CUSTOM: Method = "custom"  # a class that the sweep file names

GP_TRIALS = 100  # `auto` takes GP for sweeps up to so many trials: its asks get slow
MANY_TRIALS = 1000  # and from here on what learns little from a trial, and thrives on many
GP_PARAMETERS = 20
MAX_LISTED = 10_000  # values of one parameter that brute force lists


def choose(parameters: Mapping[str, Parameter], run_cap: int, objectives: int) -> Method:
    """What `method: auto` is for a sweep. Documented in docs/search.md."""
    if any(parameter.drawn for parameter in parameters.values()):
        return "random"
    if not parameters:
        return "tpe"  # which the parameters are is known only when a trial asks for them
    if any(parameter.when for parameter in parameters.values()):
        return "tpe"  # the only one that learns about a parameter from those trials in which it takes part
    if objectives > 1:
        return "nsga2" if run_cap >= MANY_TRIALS else "tpe"
    if run_cap <= GP_TRIALS and len(parameters) <= GP_PARAMETERS:
        return "gp"
    numbers_only = all(parameter.is_range for parameter in parameters.values() if parameter.count() != 1)
    return "cmaes" if run_cap >= MANY_TRIALS and numbers_only else "tpe"


def complaint(method: str, parameters: Mapping[str, Parameter], objectives: int) -> str | None:
    """Why a sweep cannot be searched so, with what to write instead; None where it can."""
    if method != "cmaes":
        return None
    if objectives > 1:
        return "cmaes knows one objective; with several write tpe, nsga2, nsga3, gp, qmc or random"
    if not any((one.is_range or one.ordered) and not one.when for one in parameters.values()):
        return "cmaes searches ranges and ordered values, and there is none that always takes part; write tpe"
    return None


def not_listed(parameter: Parameter) -> str | None:
    """Why brute force cannot try all values of a parameter; None where it can."""
    count = parameter.count()
    if count is None and parameter.integer and parameter.log:
        assert parameter.min is not None and parameter.max is not None
        count = int(parameter.max) - int(parameter.min) + 1
    if count is None:
        return "brute_force needs a finite list here: give values, or min, max and step"
    if count > MAX_LISTED:
        return f"brute_force lists all values, {MAX_LISTED:,} at most, and here are {count:,}; write method: grid"
    return None


def only_at_random(method: str, parameter: Parameter) -> str:
    """What to say of a parameter that Podium draws by itself, under a method that chooses."""
    if parameter.probabilities is not None:
        return f"probabilities are for method: random, and this sweep's is {method}; leave them out, or write that"
    kind = parameter.distribution or ""
    message = f"{kind} is drawn at random alone, and this sweep's method is {method}; write method: random, or a range"
    if kind.endswith("beta"):
        return f"{message}: {{min: 0.0, max: 1.0}}"
    if not kind.endswith("normal"):
        return f"{message} on a log scale: {{min: {parameter.min:g}, max: {parameter.max:g}, log: true}}"
    low, high = parameter.mu - 2 * parameter.sigma, parameter.mu + 2 * parameter.sigma
    if kind.endswith("log_normal"):
        return f"{message}: {{min: {math.exp(low):g}, max: {math.exp(high):g}, log: true}}"
    return f"{message}: {{min: {low:g}, max: {high:g}}}"
