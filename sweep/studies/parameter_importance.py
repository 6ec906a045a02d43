"""Computes parameter importances with fANOVA over a sweep's finished trials; a subprocess of the api process.

`python -P -m podium.sweep.studies.parameter_importance PARENT_PID` reads one JSON document on standard input,
`{"parameters": {NAME: as in a sweep file}, "trials": [{"params": {...}, "value": number}]}`, and writes
`{"importances": {NAME: share}, "left_out": {NAME: why}}`. The shares of a forest of regression trees (Hutter, Hoos,
Leyton-Brown: An Efficient Approach for Assessing Hyperparameter Importance, ICML 2014; here Optuna's) add up to 1.
Values are replaced by their ranks, so that a single diverged loss of 1e30 does not dominate.
"""

from __future__ import annotations

import json
import math
import os
import sys
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import optuna
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.importance import FanovaImportanceEvaluator, get_param_importances
from optuna.trial import create_trial

from podium.sweep.runtime.process_trees import die_with_parent
from podium.sweep.search.optuna_distributions import to_searched
from podium.sweep.spec.search_space import Parameter
from podium.sweep.values.attempt_assignment import Scalar

_TREES, _DEPTH = 32, 16  # 400 trials of 8 parameters: 2 s
_NICENESS = 10  # niceness: trials have precedence on a busy machine

Json = dict[str, Any]


def compute_importances(document: Mapping[str, Any]) -> Json:
    """The importances, largest first. Raises `ValueError` if they cannot be computed."""
    trials = document["trials"]
    parameters = {name: Parameter.model_validate(written) for name, written in document["parameters"].items()}
    configurations = [_positions(trial["params"], parameters) for trial in trials]
    space, left_out = _space(parameters, configurations)
    values = [trial["value"] for trial in trials]
    if len(set(values)) < 2:
        raise ValueError("all trials have the same value")
    if not space:
        raise ValueError("all trials have the same parameters")
    found = _fanova(space, configurations, _ranks(values))
    if not all(map(math.isfinite, found.values())):
        raise ValueError("the values of the trials differ too little")
    return {"importances": dict(sorted(found.items(), key=lambda item: -item[1])), "left_out": left_out}


def _positions(params: Mapping[str, Scalar], parameters: Mapping[str, Parameter]) -> dict[str, Scalar]:
    """The values; for an ordered parameter the index, so that trees split it as a number."""
    return {
        name: to_searched(parameters[name], value) if name in parameters else value for name, value in params.items()
    }


def _space(
    parameters: Mapping[str, Parameter], trials: Sequence[Mapping[str, Scalar]]
) -> tuple[dict[str, BaseDistribution], dict[str, str]]:
    """The parameters with an importance, and the reasons why others have none."""
    space: dict[str, BaseDistribution] = {}
    left_out: dict[str, str] = {}
    for name in dict.fromkeys(name for params in trials for name in params):
        values = [params[name] for params in trials if name in params]
        if len(values) < len(trials):
            left_out[name] = f"active in only {len(values)} of {len(trials)} trials"
        elif len(set(map(repr, values))) == 1:
            left_out[name] = "same value in all trials"
        else:
            space[name] = _distribution(parameters.get(name), values)
    return space, left_out


def _distribution(parameter: Parameter | None, values: Sequence[Scalar]) -> BaseDistribution:
    """The parameter's range or choices, extended by the values of trials."""
    numbers = [value for value in values if isinstance(value, int | float) and not isinstance(value, bool)]
    ends = [] if parameter is None or not parameter.is_range else [parameter.min, parameter.max]
    if parameter is not None and parameter.ordered:
        ends = [0, len(parameter.values or []) - 1]
    if len(numbers) < len(values) or (parameter is not None and not ends and not parameter.is_custom_distribution):
        return CategoricalDistribution(list(dict.fromkeys(values)))
    known = [*numbers, *(end for end in ends if end is not None)]
    low, high, log = min(known), max(known), parameter is not None and parameter.log and min(known) > 0
    if all(isinstance(number, int) for number in known):
        return IntDistribution(int(low), int(high), log=log)
    return FloatDistribution(float(low), float(high), log=log)


def _ranks(values: Sequence[float]) -> list[float]:
    """The rank of each value, scaled to 0 to 1; equal values have equal ranks."""
    places = {value: place for place, value in enumerate(sorted(set(values)))}
    return [places[value] / (len(places) - 1) for value in values]


def _fanova(
    space: dict[str, BaseDistribution], trials: Sequence[Mapping[str, Scalar]], values: Sequence[float]
) -> dict[str, float]:
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = optuna.create_study()
    study.add_trials(
        create_trial(params={name: params[name] for name in space}, distributions=space, value=value)
        for params, value in zip(trials, values, strict=True)
    )
    evaluator = FanovaImportanceEvaluator(n_trees=_TREES, max_depth=_DEPTH, seed=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = get_param_importances(study, evaluator=evaluator)
    return {name: float(share) for name, share in found.items()}


def main() -> int:
    """Writes an error to the last line of standard error."""
    die_with_parent(int(sys.argv[1]))
    os.nice(_NICENESS)
    try:
        answer = compute_importances(json.load(sys.stdin))
    except ValueError as error:
        print(error, file=sys.stderr)
        return 1
    print(json.dumps(answer))
    return 0


if __name__ == "__main__":
    sys.exit(main())
