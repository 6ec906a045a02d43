"""Trials that ran elsewhere, as a client imports them as a finished sweep. Pure; api process."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, JsonValue, ValidationError

from podium.sweep.spec.metric import Metric
from podium.sweep.spec.pydantic_errors import problems_of
from podium.sweep.spec.search_space import Parameter
from podium.sweep.spec.strict_model import LARGEST, Model
from podium.sweep.spec.sweep_metadata_keys import Description, Project, Tags
from podium.sweep.spec.sweep_spec import SweepSpec, parse_spec
from podium.sweep.values.attempt_assignment import Scalar
from podium.sweep.values.constraints_and_user_attributes import MAX_DEPTH, too_deep
from podium.sweep.values.errors import InvalidSpecError, Problem
from podium.sweep.values.states import COUNTED_TRIAL_STATES, TrialState

MAX_TIME = 253_402_300_799.0  # the end of the year 9999, the largest year of Python's datetime
MAX_TRIALS = 50_000
MAX_POINTS = 1_000_000  # of all curves together, which are written in one transaction while other writers wait
MAX_PROBLEMS = 20
SAMPLER = "imported"  # the `sampler` of imported trials
Step = Annotated[int, Field(ge=0, le=LARGEST)]
State = Literal["finished", "pruned", "failed", "cancelled"]


class ImportedTrial(Model):
    """A finished trial; its number is its position in the list. Times are seconds since the epoch."""

    model_config = ConfigDict(allow_inf_nan=False)

    state: State
    params: dict[str, Scalar] = Field(default_factory=dict)
    distributions: dict[str, Parameter] = Field(
        default_factory=dict, description="distributions of parameters that differ from those of the whole sweep"
    )
    values: list[float] | None = Field(None, description="of a finished trial: one value per metric")
    metrics: dict[str, list[tuple[Step, float]]] = Field(default_factory=dict, description="[step, value] by name")
    non_finite: dict[str, list[tuple[Step, Literal["nan", "inf", "-inf"]]]] = Field(
        default_factory=dict, description="by name, the steps whose values are not finite"
    )
    user_attrs: dict[str, JsonValue] = Field(default_factory=dict)
    constraints: dict[str, float] = Field(default_factory=dict, description="violated if above 0")
    started_at: float | None = Field(None, ge=0, le=MAX_TIME)
    ended_at: float | None = Field(None, ge=0, le=MAX_TIME)


_DETAILS = ("project", "description", "tags")  # which identify no study


class ImportedSweep(Model):
    """A whole study."""

    name: str = Field(min_length=1, max_length=120)
    source: str = Field(min_length=1, max_length=300, description="description of where the trials come from")
    project: Project = ""
    description: Description = ""
    tags: Tags = Field(default_factory=list)
    metrics: list[Metric] = Field(min_length=1)
    parameters: dict[str, Parameter] = Field(default_factory=dict)
    trials: list[ImportedTrial] = Field(max_length=MAX_TRIALS)

    def spec(self) -> SweepSpec:
        """The spec of the imported sweep, which never runs. Raises `InvalidSpecError`."""
        counted = sum(TrialState(trial.state) in COUNTED_TRIAL_STATES for trial in self.trials)
        plain = self.model_dump(exclude_unset=True)
        document: dict[str, Any] = {
            "name": self.name,
            "method": "random",
            "parameters": plain.get("parameters", {}),
            "run_cap": max(1, counted),
            "program": {"imported": self.source, "sha256": self._digest()},
        }
        document |= {name: plain[name] for name in _DETAILS if plain.get(name)}
        several = len(self.metrics) > 1
        document |= {"metrics": plain["metrics"]} if several else {"metric": plain["metrics"][0]}
        return parse_spec(document, "import")

    def _digest(self) -> str:
        """A hash that identifies the study, so that it is imported only once."""
        content = self.model_dump(exclude=set(_DETAILS))
        for trial in content["trials"]:
            if not trial["non_finite"]:
                del trial["non_finite"]  # studies that were imported before it existed keep their hash
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def parse_import(body: bytes, max_points: int = MAX_POINTS) -> ImportedSweep:
    """The validated document. Raises `InvalidSpecError` with the first problems.

    `max_points`: of all curves together.
    """
    try:
        found = ImportedSweep.model_validate_json(body)
    except ValidationError as error:
        problems = problems_of(error.errors()[:MAX_PROBLEMS], ImportedSweep)
        raise InvalidSpecError(problems, "import") from None
    problems = [problem for problem, _ in zip(_problems(found, max_points), range(MAX_PROBLEMS), strict=False)]
    if problems:
        raise InvalidSpecError(problems, "import")
    return found


def _problems(found: ImportedSweep, max_points: int) -> Iterator[Problem]:
    points = sum(
        len(curve)
        for trial in found.trials
        for curves in (trial.metrics, trial.non_finite)
        for curve in curves.values()
    )
    if points > max_points:
        message = f"the curves have {points:,} points; at most {max_points:,} are supported"
        yield Problem(("trials",), message)
    for number, trial in enumerate(found.trials):
        for where, message in _trial_problems(trial, found):
            yield Problem(("trials", str(number), *where), message)


def _trial_problems(trial: ImportedTrial, whole: ImportedSweep) -> Iterator[tuple[tuple[str, ...], str]]:
    wanted = len(whole.metrics) if trial.state == "finished" else 0
    given = len(trial.values or ())
    if given != wanted:
        yield ("values",), f"a {trial.state} trial must have {wanted} value{'s' * (wanted != 1)}, got {given}"
    for name, value in trial.params.items():
        parameter = trial.distributions.get(name) or whole.parameters.get(name)
        complaint = "unknown parameter" if parameter is None else parameter.invalid_reason(value)
        if complaint:
            yield ("params", name), complaint
    if not _is_json(trial.user_attrs):
        yield ("user_attrs",), "NaN and infinities are not valid JSON"
    for name, attribute in trial.user_attrs.items():
        if too_deep(attribute):
            yield ("user_attrs", name), f"lists and dicts are nested more than {MAX_DEPTH} levels deep"
    for name in trial.distributions.keys() - trial.params.keys():
        yield ("distributions", name), "unknown parameter of the trial"
    if trial.started_at is not None and trial.ended_at is not None and trial.ended_at < trial.started_at:
        yield ("ended_at",), "must not be before started_at"


def _is_json(attributes: dict[str, JsonValue]) -> bool:
    try:
        json.dumps(attributes, allow_nan=False)
    except ValueError:
        return False
    return True
