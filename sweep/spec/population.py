"""`method: {type: pbt, …}` and `{type: replay, …}`: training in intervals; CLI, api process and scheduler.

Both train trials interval by interval. `pbt` changes the configuration between two intervals by the results of the
other trials (Jaderberg et al. 2017, "Population Based Training of Neural Networks"); `replay` repeats the schedule that
one trial of a population has followed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal, Protocol

from pydantic import Field, model_validator

from podium.sweep.spec import builtin_catalog
from podium.sweep.spec.early_termination import EarlyTerminate
from podium.sweep.spec.metric import Metric
from podium.sweep.spec.program import BuiltinProgram, ImportedProgram, Program
from podium.sweep.spec.resources import Resources
from podium.sweep.spec.search_space import Parameter
from podium.sweep.spec.strict_model import LARGEST, Model, field_error
from podium.sweep.spec.validation_splits import Validation
from podium.sweep.values.attempt_assignment import Scalar

PBT, REPLAY = "pbt", "replay"
MAX_POPULATION, MAX_INTERVALS = 10_000, 10_000
CHECKPOINTS_KEPT = 3  # of each trial, of its last intervals: other trials may start from them
# Settings of the training loop that a built-in model can change between two intervals. All others define the network,
# the state of the optimizer or the length of the training: they are copied from the donor.
_EXPLORED_BUILTIN = frozenset({"lr", "momentum", "weight_decay", "batch_size", "dropout"})


class CheckedKeys(Protocol):
    """The keys of the sweep file that a method of this module must fit; `SweepSpec` has them."""

    @property
    def parameters(self) -> Mapping[str, Parameter]: ...
    @property
    def enqueue(self) -> Sequence[Mapping[str, Scalar]]: ...
    @property
    def run_cap(self) -> int: ...
    @property
    def program(self) -> Program: ...
    @property
    def objectives(self) -> Sequence[Metric]: ...
    @property
    def early_terminate(self) -> EarlyTerminate: ...
    @property
    def validation(self) -> Validation: ...
    @property
    def resources(self) -> Resources: ...
    def ordered(self) -> Iterator[tuple[str, Parameter]]:
        """The parameters in topological order of their `when` conditions."""
        ...


class IntervalLength(Model):
    """How long a trial trains before its configuration may change."""

    step: int = Field(
        ge=1, le=LARGEST, description="number of steps, as the trial reports them; of built-in models, epochs"
    )


class PopulationBasedTraining(Model):
    """Population-based training: a population trains in intervals. At the end of an interval, a trial in the worst
    `quantile` copies checkpoint and parameters of a trial in the best one, and changes the parameters.
    """

    type: Literal["pbt"] = Field(description="pbt: population-based training")
    population: int = Field(ge=2, le=MAX_POPULATION, description="number of trials; may exceed the number of devices")
    interval: IntervalLength = Field(description="length of an interval")
    quantile: float = Field(
        0.25, gt=0, le=0.5, description="share of trials that are replaced, and share of those they are replaced by"
    )
    resample: float = Field(
        0.25, ge=0, le=1, description="probability that a parameter is sampled again instead of perturbed"
    )
    perturb: list[Annotated[float, Field(gt=0, le=1e6)]] = Field(
        default_factory=lambda: [0.8, 1.2],
        min_length=1,
        max_length=100,
        description="factors, one of which multiplies a number; ordered values move to a neighbor",
    )
    fixed: list[str] = Field(
        default_factory=list,
        max_length=1000,
        description="parameters that are copied but not changed: the architecture",
    )

    def check(self, spec: CheckedKeys) -> None:
        """Raises for keys of the sweep file that do not fit."""
        _check_trains_in_intervals(spec, self.type)
        for index, name in enumerate(self.fixed):
            if name not in spec.parameters:
                hint = builtin_catalog.did_you_mean(name, spec.parameters)
                raise field_error(f"unknown parameter {name!r}; {hint}", "method", "fixed", str(index))
        if spec.run_cap != self.population:
            raise field_error(
                f"must equal method.population ({self.population}), got {spec.run_cap}; remove it", "run_cap"
            )
        if not self.explored(spec):
            message = "no parameter can change between two intervals; add a range or choices, for example for lr"
            if isinstance(spec.program, BuiltinProgram):
                message = f"{message}. Built-in models can change {', '.join(sorted(_EXPLORED_BUILTIN))}"
            raise field_error(message, "parameters")

    def explored(self, spec: CheckedKeys) -> frozenset[str]:
        """The parameters that may change between two intervals."""
        free = {
            name for name, parameter in spec.parameters.items() if name not in self.fixed and parameter.count() != 1
        }
        if isinstance(spec.program, BuiltinProgram):
            free &= _EXPLORED_BUILTIN
        return frozenset(free)


class ScheduledInterval(Model):
    """A part of a schedule: parameters, and the step up to which they hold."""

    until: int | None = Field(
        None, ge=0, le=LARGEST, description="last step; of the last entry: none, until the program ends"
    )
    parameters: dict[str, Scalar] = Field(description="the values of all parameters")


class Replay(Model):
    """One trial that repeats the schedule of configurations of a trial of a population; written by
    `podium trial schedule --replay`.
    """

    type: Literal["replay"] = Field(description="replay: one trial with a schedule of configurations")
    schedule: list[ScheduledInterval] = Field(
        min_length=1, max_length=MAX_INTERVALS, description="configurations in order"
    )
    trial_seed: int | None = Field(
        None, ge=0, lt=2**32, description="seed of the trial; default: as in every sweep, from `seed` and its number"
    )

    @model_validator(mode="after")
    def _in_order(self) -> Replay:
        last = -1
        for index, entry in enumerate(self.schedule):
            if entry.until is None:
                if index + 1 < len(self.schedule):
                    raise field_error("required, except in the last entry", "schedule", str(index), "until")
            elif entry.until <= last:
                raise field_error(f"must be greater than {last}, got {entry.until}", "schedule", str(index), "until")
            else:
                last = entry.until
        return self

    def check(self, spec: CheckedKeys) -> None:
        """Raises for keys of the sweep file that do not fit."""
        _check_trains_in_intervals(spec, self.type)
        if spec.run_cap != 1:
            raise field_error(f"must be 1 for one schedule, got {spec.run_cap}; remove it", "run_cap")
        if [dict(params) for params in spec.enqueue] != [dict(self.schedule[0].parameters)]:
            raise field_error("must be empty with method: {type: replay}, whose schedule has all parameters", "enqueue")
        for index, entry in enumerate(self.schedule):
            _check_values(entry.parameters, spec, ("method", "schedule", str(index), "parameters"))


Population = PopulationBasedTraining | Replay


def implied_keys(method: Any) -> dict[str, Any]:
    """The other keys of a sweep file that a `method` block in a document implies: `run_cap`, and `enqueue`."""
    if not isinstance(method, Mapping):
        return {}
    if method.get("type") == PBT and isinstance(method.get("population"), int):
        return {"run_cap": method["population"]}
    schedule = method.get("schedule")
    if method.get("type") != REPLAY or not isinstance(schedule, list) or not schedule:
        return {}
    first = schedule[0].get("parameters") if isinstance(schedule[0], Mapping) else None
    return {"run_cap": 1, "enqueue": [first] if isinstance(first, Mapping) else []}


def _check_trains_in_intervals(spec: CheckedKeys, kind: str) -> None:
    if "patience" in spec.parameters and isinstance(spec.program, BuiltinProgram):
        raise field_error(f"not valid with method: {{type: {kind}}}; remove it", "parameters", "patience")
    if len(spec.objectives) > 1:
        raise field_error(
            f"method: {{type: {kind}}} supports one objective; write metric: {{name: …, goal: …}}", "metrics"
        )
    if spec.early_terminate.prunes:
        message = (
            f"not valid with method: {{type: {kind}}}: trials are compared at the ends of their intervals; remove it"
        )
        raise field_error(message, "early_terminate")
    if isinstance(spec.program, ImportedProgram):
        raise field_error(f"method: {{type: {kind}}} needs a program that can be run", "program")
    if spec.validation.folds:
        raise field_error(
            f"not valid with method: {{type: {kind}}}, which continues one network; remove it", "validation", "folds"
        )
    if spec.resources.several:
        raise field_error(
            f"method: {{type: {kind}}} trains each trial on one device; remove it", "resources", "devices"
        )
    if not spec.parameters:
        raise field_error(f"method: {{type: {kind}}} needs at least one parameter", "parameters")


def _check_values(values: Mapping[str, Scalar], spec: CheckedKeys, where: Iterable[str]) -> None:
    for name, value in values.items():
        if name not in spec.parameters:
            hint = builtin_catalog.did_you_mean(name, spec.parameters)
            raise field_error(f"unknown parameter {name!r}; {hint}", *where, name)
        if complaint := spec.parameters[name].invalid_reason(value):
            raise field_error(complaint, *where, name)
    known: dict[str, Scalar] = {}
    for name, parameter in spec.ordered():
        if parameter.active(known):
            if name not in values:
                raise field_error("required: each entry has the values of all parameters", *where, name)
            known[name] = values[name]
        elif name in values:
            raise field_error("inactive with the other values of this entry; remove it", *where, name)
