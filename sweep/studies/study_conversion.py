"""Converts sweeps to Optuna studies and studies to sweeps; CLI and notebooks.

A sweep and its trials have the form of the REST API, `GET /sweeps/{id}` and the lines of `export.jsonl`; a study is
converted to the body of `POST /sweeps/import`. Optuna stores times without time zone, in local time.
"""

from __future__ import annotations

import json
import math
import warnings
from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, Literal

import optuna
from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
    json_to_distribution,
)
from optuna.exceptions import ExperimentalWarning
from optuna.trial import FrozenTrial
from optuna.trial import TrialState as OptunaState

from podium.sweep.search.optuna_distributions import distribution_of
from podium.sweep.search.optuna_private import contains
from podium.sweep.search.optuna_trial_states import FROM_OPTUNA, TO_OPTUNA, constraint_attributes, constraints_of
from podium.sweep.spec.search_space import Parameter
from podium.sweep.values.errors import ConversionError, StudyError
from podium.sweep.values.states import TrialState

MAX_NAME = 120
DETAILS_KEY = "podium"  # attribute of a study that was exported
NON_FINITE_KEY = "podium:non_finite"  # attribute of a trial: where metrics other than the reported one were not finite
_DETAILS = ("project", "description", "tags")
Json = dict[str, Any]
Study = optuna.Study


# From sweep to study.


def to_study(sweep: Mapping[str, Any], trials: Iterable[Mapping[str, Any]]) -> optuna.Study:
    """The sweep as a study in memory, for `optuna.visualization` and the like."""
    frozen = frozen_trials(sweep, trials)
    said = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.WARNING)  # Optuna logs each created study
    try:
        study = optuna.create_study(study_name=sweep["name"], directions=directions(sweep))
    finally:
        optuna.logging.set_verbosity(said)
    name_metrics(study, sweep)
    add_details(study, sweep)
    study.add_trials(frozen)
    return study


def directions(sweep: Mapping[str, Any]) -> list[Literal["minimize", "maximize"]]:
    return [metric["goal"] for metric in _objectives(sweep)]


def name_metrics(study: optuna.Study, sweep: Mapping[str, Any]) -> None:
    """Name the objectives, unless they have the default names of a study without metric names."""
    names = [metric["name"] for metric in _objectives(sweep)]
    if names != _unnamed(len(names)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ExperimentalWarning)
            study.set_metric_names(names)


def add_details(study: optuna.Study, sweep: Mapping[str, Any]) -> None:
    """Store project, description and tags as an attribute of the study, from which an import reads them."""
    details = {name: sweep[name] for name in _DETAILS if sweep.get(name)}
    if details:
        study.set_user_attr(DETAILS_KEY, details)


def frozen_trials(sweep: Mapping[str, Any], trials: Iterable[Mapping[str, Any]]) -> list[FrozenTrial]:
    """The trials as Optuna's frozen trials, in the order of their numbers."""
    spec, trials = sweep["spec"], list(trials)
    space = {
        name: distribution_of(Parameter.model_validate(parameter)) or _seen_values(name, trials)
        for name, parameter in spec.get("parameters", {}).items()
    }
    objectives = [metric["name"] for metric in _objectives(sweep)]
    reported = (spec.get("early_terminate") or {}).get("metric") or objectives[0]
    return [_frozen(trial, space, objectives, reported) for trial in trials]


def _seen_values(name: str, trials: Iterable[Mapping[str, Any]]) -> BaseDistribution | None:
    """For distributions that Optuna lacks, such as the normal one: the range of the sampled values."""
    values = [trial["params"][name] for trial in trials if name in trial["params"]]
    if not values or not all(isinstance(value, int | float) and not isinstance(value, bool) for value in values):
        return CategoricalDistribution(list(dict.fromkeys(values))) if values else None
    return FloatDistribution(float(min(values)), float(max(values)))


def _frozen(
    trial: Mapping[str, Any], space: Mapping[str, BaseDistribution | None], objectives: list[str], reported: str
) -> FrozenTrial:
    state = TO_OPTUNA[TrialState(trial["state"])]
    own = {
        name: distribution_of(Parameter.model_validate(parameter))
        for name, parameter in (trial.get("distributions") or {}).items()
    }
    distributions = {
        name: _containing(own.get(name) or space.get(name), value) for name, value in trial["params"].items()
    }
    curve = {int(step): value for step, value in trial["metrics"].get(reported, [])}
    marks = dict(trial.get("non_finite") or {})
    reports = curve | {int(step): float(value) for step, value in marks.pop(reported, [])}
    return FrozenTrial(
        number=trial["number"],
        trial_id=trial["number"],
        state=state,
        value=None,
        values=_values(trial, objectives, curve),
        datetime_start=None if state is OptunaState.WAITING else _local(trial["started_at"] or trial["created_at"]),
        datetime_complete=_local(trial["ended_at"]) if state.is_finished() else None,
        params={name: _as_in(distributions[name], value) for name, value in trial["params"].items()},
        distributions=distributions,
        user_attrs={**(trial.get("user_attrs") or {}), **({NON_FINITE_KEY: marks} if marks else {})},
        system_attrs=constraint_attributes(trial.get("constraints") or {}),
        intermediate_values=dict(sorted(reports.items())),
    )


def _values(trial: Mapping[str, Any], objectives: list[str], curve: Mapping[int, float]) -> list[float] | None:
    """The result; for a pruned trial the last reported value, as in Optuna."""
    if trial["values"] is not None:
        return [trial["values"][name] for name in objectives]
    if trial["state"] == TrialState.PRUNED and curve and len(objectives) == 1:
        return [curve[max(curve)]]
    return None


def _objectives(sweep: Mapping[str, Any]) -> list[Json]:
    spec = sweep["spec"]
    return list(spec.get("metrics") or [spec["metric"]])


def _unnamed(count: int) -> list[str]:
    return ["value"] if count == 1 else [f"value_{index}" for index in range(count)]


def _local(at: str) -> datetime:
    return datetime.fromisoformat(at).astimezone().replace(tzinfo=None)


# Distributions.


def parameter_of(distribution: BaseDistribution) -> Json:
    """Optuna's distribution as a parameter of a sweep file. Choices that are not scalars are converted to JSON text."""
    if isinstance(distribution, CategoricalDistribution):
        return {"values": [plain(choice) for choice in distribution.choices]}
    assert isinstance(distribution, IntDistribution | FloatDistribution)
    found: Json = {"min": distribution.low, "max": distribution.high}
    if distribution.log:
        found["log"] = True
    if distribution.step is not None and (isinstance(distribution, FloatDistribution) or distribution.step != 1):
        found["step"] = distribution.step
    return found


def distribution_from_json(name: str, written: Any) -> BaseDistribution:
    """The output of `optuna.distributions.distribution_to_json`, as text or parsed. Raises `ConversionError`."""
    try:
        return json_to_distribution(written if isinstance(written, str) else json.dumps(written))
    except (ValueError, KeyError, TypeError) as error:
        words = "must be the output of optuna.distributions.distribution_to_json"
        raise ConversionError(f"{name}: {words}: {type(error).__name__}: {error}") from None


def _containing(distribution: BaseDistribution | None, value: Any) -> BaseDistribution:
    """The distribution, extended by `value` if necessary: clients may add trials outside the search space."""
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if distribution is not None and (number or isinstance(distribution, CategoricalDistribution)):
        try:
            if contains(distribution, value):
                return distribution
        except ValueError:
            pass
    if isinstance(distribution, CategoricalDistribution):
        return CategoricalDistribution([*distribution.choices, value])
    if distribution is None or not number:
        return CategoricalDistribution([value])
    assert isinstance(distribution, IntDistribution | FloatDistribution)
    return FloatDistribution(float(min(distribution.low, value)), float(max(distribution.high, value)))


def _as_in(distribution: BaseDistribution, value: Any) -> Any:
    """The value in the type of the distribution: an integer in a float range becomes a float."""
    return float(value) if isinstance(distribution, FloatDistribution) else value


def plain(value: Any) -> Any:
    """A choice as a scalar; other values as JSON text, or their `repr`."""
    if value is None or isinstance(value, bool | int | str) or (isinstance(value, float) and math.isfinite(value)):
        return value
    try:
        return json.dumps(value, sort_keys=True)
    except TypeError:
        return repr(value)


def _as_json(value: Any) -> Any:
    """An attribute as a JSON value; other values as their `repr`."""
    if isinstance(value, Mapping):
        return {str(name): _as_json(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_as_json(inner) for inner in value]
    known = value is None or isinstance(value, bool | int | str) or (isinstance(value, float) and math.isfinite(value))
    return value if known else repr(value)


# From study to sweep.


def to_document(study: optuna.Study, name: str | None = None, source: str = "an Optuna study") -> Json:
    """The body of `POST /sweeps/import`, as JSON values. Raises `StudyError` for an unsupported study."""
    trials = study.get_trials(deepcopy=False)
    space = _space(trials)
    names = study.metric_names or _unnamed(len(study.directions))
    goals = [direction.name.lower() for direction in study.directions]
    stored = study.user_attrs.get(DETAILS_KEY)
    details = stored if isinstance(stored, dict) else {}
    return {
        "name": (name or study.study_name)[:MAX_NAME],
        "source": source,
        **{name: details[name] for name in _DETAILS if details.get(name)},
        "metrics": [{"name": name, "goal": goal} for name, goal in zip(names, goals, strict=True)],
        "parameters": space,
        "trials": [_trial(trial, space, names[0]) for trial in trials],
    }


def omitted_parts(study: optuna.Study) -> list[str]:
    """The parts of the study that cannot be converted, as messages."""
    trials = study.get_trials(deepcopy=False)
    counts = Counter[str]()
    for trial in trials:
        counts["non-finite constraints are changed or omitted"] += sum(
            not math.isfinite(value) for value in trial.constraints.values()
        )
        counts["trials with an infinite value are imported as failed"] += _infinite(trial)
        counts["unfinished trials are imported as cancelled"] += not trial.state.is_finished()
    return [f"{count:,} {what}" for what, count in counts.items() if count]


def _space(trials: Iterable[FrozenTrial]) -> Json:
    """The search space: for each parameter, the union of its distributions in all trials."""
    space: dict[str, BaseDistribution] = {}
    for trial in trials:
        for name, distribution in trial.distributions.items():
            known = space.get(name)
            if known is None:
                space[name] = distribution
            elif known != distribution:
                space[name] = _union(name, known, distribution)
    return {name: parameter_of(distribution) for name, distribution in space.items()}


def _union(name: str, one: BaseDistribution, other: BaseDistribution) -> BaseDistribution:
    if isinstance(one, CategoricalDistribution) and isinstance(other, CategoricalDistribution):
        return CategoricalDistribution([*one.choices, *(c for c in other.choices if c not in one.choices)])
    if isinstance(one, CategoricalDistribution) or isinstance(other, CategoricalDistribution):
        raise StudyError(
            f"parameter {name!r} is categorical in some trials and numeric in others, which is unsupported"
        )
    assert isinstance(one, IntDistribution | FloatDistribution)
    assert isinstance(other, IntDistribution | FloatDistribution)
    low, high, log = min(one.low, other.low), max(one.high, other.high), one.log and other.log
    if isinstance(one, IntDistribution) and isinstance(other, IntDistribution):
        return IntDistribution(int(low), int(high), log=log)
    return FloatDistribution(float(low), float(high), log=log)


def _trial(trial: FrozenTrial, space: Json, reported: str) -> Json:
    state = _state(trial)
    own = {name: parameter_of(distribution) for name, distribution in trial.distributions.items()}
    reports = sorted((step, float(value)) for step, value in trial.intermediate_values.items())
    curve = [[step, value] for step, value in reports if math.isfinite(value)]
    marks = [[step, str(value)] for step, value in reports if not math.isfinite(value)]
    attributes = dict(trial.user_attrs)
    non_finite = {**_marks(attributes.pop(NON_FINITE_KEY, None)), **({reported: marks} if marks else {})}
    return {
        "state": state.value,
        "params": {name: plain(value) for name, value in trial.params.items()},
        "distributions": {name: parameter for name, parameter in own.items() if parameter != space[name]},
        "values": list(trial.values) if state is TrialState.FINISHED and trial.values is not None else None,
        "metrics": {reported: curve} if curve else {},
        **({"non_finite": non_finite} if non_finite else {}),
        "user_attrs": {name: _as_json(value) for name, value in attributes.items()},
        "constraints": constraints_of(trial),
        "started_at": _seconds(trial.datetime_start),
        "ended_at": _seconds(trial.datetime_complete),
    }


def _marks(stored: Any) -> Json:
    """What an export has written to `NON_FINITE_KEY`."""
    return dict(stored) if isinstance(stored, Mapping) else {}


def _state(trial: FrozenTrial) -> TrialState:
    if not trial.state.is_finished():
        return TrialState.CANCELLED  # it is not resumed here
    return TrialState.FAILED if _infinite(trial) else FROM_OPTUNA[trial.state]


def _infinite(trial: FrozenTrial) -> bool:
    """Whether it is complete with a non-finite value."""
    return trial.state is OptunaState.COMPLETE and not all(map(math.isfinite, trial.values or ()))


def _seconds(at: datetime | None) -> float | None:
    return None if at is None else at.timestamp()
