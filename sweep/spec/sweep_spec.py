"""The model of the sweep file, REST body and JSON Schema, and its checks between keys; CLI, api and scheduler."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Annotated, Any

from pydantic import (
    BeforeValidator,
    Discriminator,
    Field,
    JsonValue,
    Tag,
    ValidationError,
    field_validator,
    model_validator,
)

from podium.ensemble.values.ensemble_spec import REGRESSION_RULES, EnsembleOptions, Select
from podium.sweep.spec import builtin_catalog, search_method_registry
from podium.sweep.spec.budget import Budget
from podium.sweep.spec.custom_optuna_classes import SamplerClass
from podium.sweep.spec.data_source import Data
from podium.sweep.spec.early_termination import EarlyTerminate
from podium.sweep.spec.grid import MAX_POINTS, Grid, GridError
from podium.sweep.spec.metric import Metric
from podium.sweep.spec.population import PBT, REPLAY, Population, PopulationBasedTraining, Replay, implied_keys
from podium.sweep.spec.predecessors import MAX_PREDECESSORS, FixFrom, SweepReference, check_predecessors
from podium.sweep.spec.program import BuiltinProgram, CommandProgram, FunctionProgram, ImportedProgram, Program
from podium.sweep.spec.pydantic_errors import deduplicate, problems_of
from podium.sweep.spec.resources import Resources
from podium.sweep.spec.retention_keys import Keep
from podium.sweep.spec.retries import Retries
from podium.sweep.spec.search_space import Parameter
from podium.sweep.spec.strict_model import Model, check_storable, field_error
from podium.sweep.spec.sweep_metadata_keys import Description, Project, Tags
from podium.sweep.spec.trial_limits import SpecLimits
from podium.sweep.spec.trial_stop_conditions import (
    MAX_CONDITIONS,
    STEP,
    TRAINING_ITERATION,
    ObjectiveRule,
    StopCondition,
    ValueRule,
    conditions,
    value_rule,
)
from podium.sweep.spec.validation_splits import Validation
from podium.sweep.values.attempt_assignment import Params, Scalar
from podium.sweep.values.code_references import REFERENCE
from podium.sweep.values.errors import InvalidSpecError

MAX_PARAMETERS, MAX_ENQUEUED = 1000, 10_000
MAX_RUN_CAP = 1_000_000
MIN_PRIORITY, MAX_PRIORITY = 0.01, 100.0


def _method_name(method: Any) -> Any:
    if method == PBT:
        raise field_error("needs its keys; for example, {type: pbt, population: 16, interval: {step: 5}}")
    return search_method_registry.ACCEPTED_ALIASES.get(method, method) if isinstance(method, str) else method


def _method_block(method: Any) -> Any:
    if isinstance(method, dict) and "type" in method and method["type"] not in (PBT, REPLAY):
        raise field_error(
            f"must be pbt or replay, got {method['type']!r}; write other methods by name: method: tpe", "type"
        )
    return method


def _method_kind(method: Any) -> str:
    if isinstance(method, dict) and "type" in method:
        return str(method["type"])
    if isinstance(method, PopulationBasedTraining | Replay):
        return method.type
    return "class" if isinstance(method, dict | SamplerClass) else "name"


class SweepSpec(Model):
    """A sweep: search space, search method, objectives, program, and limits."""

    name: str = Field(min_length=1, max_length=120, description="display name of the sweep")
    project: Project = ""
    description: Description = ""
    tags: Tags = Field(default_factory=list)
    method: Annotated[
        Annotated[search_method_registry.MethodName, BeforeValidator(_method_name), Tag("name")]
        | Annotated[SamplerClass, Tag("class")]
        | Annotated[PopulationBasedTraining, Tag(PBT)]
        | Annotated[Replay, Tag(REPLAY)],
        Discriminator(_method_kind),
        BeforeValidator(_method_block),
    ] = Field("tpe", description="search method: docs/reference/search.md")
    seed: int = Field(0, ge=0, lt=2**63, description="seed of the search and, with the trial number, of each trial")
    metric: Metric
    metrics: list[Metric] | None = Field(
        None,
        min_length=2,
        max_length=8,
        description="several objectives, instead of `metric`",
    )
    objective: ObjectiveRule = Field(
        "last",
        description="which reported value counts if the program returns none; best: by the metric's goal",
    )
    stop: Annotated[list[StopCondition], BeforeValidator(conditions)] = Field(
        default_factory=list,
        max_length=MAX_CONDITIONS,
        description="conditions that end a trial as finished: {metric: step, at: 200}, or a list",
    )
    parameters: dict[str, Parameter] = Field(
        default_factory=dict,
        max_length=MAX_PARAMETERS,
        description="search space by parameter name; a function may suggest further parameters",
    )
    enqueue: list[dict[str, Scalar]] = Field(
        default_factory=list,
        max_length=MAX_ENQUEUED,
        description="configurations to try first; the sampler chooses omitted parameters",
    )
    early_terminate: EarlyTerminate = EarlyTerminate(type="none")
    run_cap: int = Field(60, ge=1, le=MAX_RUN_CAP, description="maximum number of finished and pruned trials")
    budget: Budget = Budget()
    warm_start: list[Annotated[int, Field(ge=1, lt=2**63)]] = Field(
        default_factory=list, max_length=100, description="ids of earlier sweeps whose trials inform the search"
    )
    after: list[SweepReference] = Field(
        default_factory=list,
        max_length=MAX_PREDECESSORS,
        description="earlier sweeps, by id or name, that must finish before this one starts",
    )
    fix_from: FixFrom | None = Field(
        None, description="parameters that get the values of the best trial of an earlier sweep, instead of a search"
    )
    priority: float = Field(1.0, ge=MIN_PRIORITY, le=MAX_PRIORITY, description="weight of its share of device time")
    program: Program = Field(description="the program of a trial: a built-in model, your function, or your script")
    validation: Validation = Validation()
    resources: Resources = Resources()
    limits: SpecLimits = SpecLimits()
    retries: Retries = Retries()
    keep: Keep = Keep()
    ensemble: EnsembleOptions | None = Field(None, description="ensemble to build when the sweep ends")

    @model_validator(mode="before")
    @classmethod
    def _of_population(cls, document: Any) -> Any:
        """Sets the number of trials of a population, unless it is given."""
        return {**implied_keys(document.get("method")), **document} if isinstance(document, dict) else document

    @model_validator(mode="before")
    @classmethod
    def _first_of_several(cls, document: Any) -> Any:
        """Sets `metric` to the first of several objectives, so that it always exists."""
        check_storable(document)
        several = document.get("metrics") if isinstance(document, dict) else None
        if not isinstance(several, list) or not several:
            return document
        if len(several) == 1:
            raise field_error("needs at least two objectives; for one write metric: {name: …, goal: …}", "metrics")
        if document.get("metric", several[0]) != several[0]:
            raise field_error("metric and metrics are mutually exclusive; remove one", "metric")
        return {**document, "metric": several[0]}

    @property
    def objectives(self) -> tuple[Metric, ...]:
        """The objectives, in the order of a trial's values."""
        return tuple(self.metrics or [self.metric])

    @property
    def searched_by(self) -> search_method_registry.Method:
        """The method, with `auto` resolved."""
        if self.method == search_method_registry.AUTO:
            return search_method_registry.choose_method(self.parameters, self.run_cap, len(self.objectives))
        if isinstance(self.method, PopulationBasedTraining | Replay):
            return "random"  # only the first configurations
        return search_method_registry.CUSTOM if isinstance(self.method, SamplerClass) else self.method

    @property
    def population(self) -> Population | None:
        """How trials train in intervals; None if each is trained in one go."""
        return self.method if isinstance(self.method, PopulationBasedTraining | Replay) else None

    @property
    def method_name(self) -> str:
        """The method as in the file, or the sampler class."""
        if isinstance(self.method, PopulationBasedTraining | Replay):
            return self.method.type
        return self.method.sampler if isinstance(self.method, SamplerClass) else self.method

    @property
    def reported_rule(self) -> ValueRule:
        """Which reported value of the first objective counts: `objective`, with `best` resolved."""
        is_builtin = isinstance(self.program, BuiltinProgram)
        return value_rule(
            self.objective, self.metric.goal, is_builtin=is_builtin, has_population=self.population is not None
        )

    @property
    def pruned_on(self) -> Metric:
        """The metric of early termination: `early_terminate.metric`, or the first objective."""
        early = self.early_terminate
        if early.metric is None:
            return self.metric
        named = next((metric for metric in self.objectives if metric.name == early.metric), None)
        goal = early.goal or self._goal_of(early.metric)
        assert goal is not None, "checked below"
        return named or Metric(name=early.metric, goal=goal)

    def _goal_of(self, metric: str) -> builtin_catalog.Goal | None:
        """The goal of a metric, if the file or the built-in loop defines it."""
        goals: dict[str, builtin_catalog.Goal] = {}
        if isinstance(self.program, BuiltinProgram):
            goals |= _reported(self.program.data)
        return (goals | {objective.name: objective.goal for objective in self.objectives}).get(metric)

    @field_validator("objective", mode="before")
    @classmethod
    def _is_no_function(cls, rule: Any) -> Any:
        if isinstance(rule, str) and re.fullmatch(REFERENCE, rule):
            raise field_error(f"must be last, best, min or max; for a function write program: {{function: {rule!r}}}")
        return rule

    @field_validator("ensemble", mode="before")
    @classmethod
    def _says_something(cls, block: Any) -> Any:
        if block is None:
            raise field_error("must not be empty; for example, {k: 3}")
        return block

    @model_validator(mode="after")
    def _consistent(self) -> SweepSpec:
        self._check_parameters()
        self._check_conditions()
        if self.population is not None:
            self.population.check(self)
        self._check_enqueued()
        self._check_method()
        self._check_pruned_on()
        self._check_objectives()
        self._check_warm_start()
        check_predecessors(self.after, self.fix_from, self.parameters, self.enqueue)
        if isinstance(self.program, BuiltinProgram):
            self._check_builtin(self.program.model)
            self._check_metrics(self.program.data)
            self._check_builtin_devices()
        self._check_ending()
        self._check_is_used()
        if self.ensemble is not None:
            self._check_ensemble(self.ensemble)
        return self

    def _check_ending(self) -> None:
        if self.limits.on_timeout == "finish" and self.limits.trial_s is None:
            raise field_error("only valid with limits.trial_s; add it", "limits", "on_timeout")
        if not isinstance(self.program, BuiltinProgram):
            return
        if "objective" in self.model_fields_set:
            raise field_error("not valid for built-in models, which return their best epoch; remove it", "objective")
        metrics = ("train_loss", *_reported(self.program.data))
        spread = [f"{name}_std" for name in metrics[1:]] if self.validation.folds else []
        known = (STEP, TRAINING_ITERATION, *metrics, *spread)
        for index, condition in enumerate(self.stop):
            if condition.metric not in known:
                hint = builtin_catalog.did_you_mean(condition.metric, known)
                raise field_error(
                    f"built-in models do not report {condition.metric!r}; {hint}", "stop", str(index), "metric"
                )

    def _check_is_used(self) -> None:
        """Raises for keys without effect, which are likely mistakes."""
        if getattr(self.program, "data", None) is None:
            if self.validation.folds:
                raise field_error("only valid with program.data; remove it", "validation", "folds")
            for key in sorted(self.validation.model_fields_set - {"folds"}):
                raise field_error("only valid with program.data; remove it", "validation", key)
        if isinstance(self.program, CommandProgram):
            for key, wanted in (("models", self.keep.models), ("checkpoints", self.keep.checkpoints)):
                if wanted not in (None, "none"):
                    raise field_error(
                        "not valid for scripts, which save no models or checkpoints; remove it", "keep", key
                    )

    def _check_parameters(self) -> None:
        if not self.parameters and not isinstance(self.program, FunctionProgram | ImportedProgram):
            message = (
                "at least one parameter is required, for example lr: {min: 1e-4, max: 0.1, log: true}; only functions "
                "can suggest their own"
            )
            raise field_error(message, "parameters")
        if not self.parameters and self.method == "grid":
            raise field_error("method: grid needs at least one parameter", "parameters")
        if not self.parameters and isinstance(self.method, SamplerClass):
            raise field_error(f"method: {self.method.sampler} needs at least one parameter", "parameters")
        if isinstance(self.program, CommandProgram):
            self.program.check_macros(self.parameters)
        if isinstance(self.program, FunctionProgram):
            self.program.check_env(self.parameters)

    def _check_conditions(self) -> None:
        for name, parameter in self.parameters.items():
            for parent, wanted in (parameter.when or {}).items():
                where = ("parameters", name, "when")
                if parent not in self.parameters:
                    hint = builtin_catalog.did_you_mean(parent, self.parameters)
                    raise field_error(f"unknown parameter {parent!r}; {hint}", *where)
                for value in wanted if isinstance(wanted, list) else [wanted]:
                    if complaint := self.parameters[parent].invalid_reason(value):
                        raise field_error(f"{parent}: {complaint}", *where)
        if len(list(self.ordered())) < len(self.parameters):
            raise field_error("the `when` conditions form a cycle", "parameters")

    def ordered(self) -> Iterator[tuple[str, Parameter]]:
        """The parameters in topological order of their `when` conditions, otherwise in file order."""
        waits_for = {name: set(parameter.when or {}) for name, parameter in self.parameters.items()}
        before: dict[str, list[str]] = {}
        for name, parents in waits_for.items():
            for parent in parents:
                before.setdefault(parent, []).append(name)
        place = {name: number for number, name in enumerate(self.parameters)}
        ready = [name for name, parents in waits_for.items() if not parents]
        while ready:
            freed: list[str] = []
            for name in ready:
                yield name, self.parameters[name]
                for child in before.get(name, ()):
                    waits_for[child].discard(name)
                    if not waits_for[child]:
                        freed.append(child)
            ready = sorted(freed, key=place.__getitem__)

    def _check_enqueued(self) -> None:
        for index, params in enumerate(self.enqueue):
            for name, value in params.items():
                where = ("enqueue", str(index), name)
                if name not in self.parameters:
                    self._check_may_be_suggested(name, where)
                elif complaint := self.parameters[name].invalid_reason(value):
                    raise field_error(complaint, *where)
            self._check_takes_part(params, str(index))

    def _check_may_be_suggested(self, name: str, where: tuple[str, str, str]) -> None:
        """Raises unless the program can suggest a parameter that is not in the file."""
        if isinstance(self.program, FunctionProgram) and self.program.argument != "config":
            if self.method != "grid" and self.population is None:
                return
            why = f"method: {self.method_name} needs all parameters in the sweep file"
        else:
            hint = builtin_catalog.did_you_mean(name, self.parameters)
            why = f"{hint} (only functions that take a trial can suggest further parameters)"
        raise field_error(f"unknown parameter {name!r}; {why}; add it under parameters", *where)

    def _check_takes_part(self, params: Params, index: str) -> None:
        """Raises for enqueued values of inactive parameters, which would be ignored silently."""
        inactive: set[str] = set()
        for name, parameter in self.ordered():
            if (why := parameter.inactive_reason(params, inactive)) is not None:
                inactive.add(name)
                if name in params:
                    raise field_error(why, "enqueue", index, name)

    def _check_method(self) -> None:
        if self.method == "grid":
            self._check_grid()
        method = search_method_registry.METHODS.get(self.method if isinstance(self.method, str) else self.searched_by)
        if method is not None and (found := method.check(self.parameters, len(self.objectives))) is not None:
            where, complaint = found
            raise field_error(complaint, *where)
        if self.method == search_method_registry.AUTO or (method is not None and method.samples_drawn):
            return
        for name, parameter in self.parameters.items():
            if parameter.is_custom_distribution:
                raise field_error(
                    search_method_registry.requires_random_search(self.method_name, parameter), "parameters", name
                )

    def _check_pruned_on(self) -> None:
        early = self.early_terminate
        if early.metric is None:
            return
        known = self._goal_of(early.metric)
        if known is None and isinstance(self.program, BuiltinProgram):
            names = ", ".join(_reported(self.program.data))
            raise field_error(f"built-in models report {names}; got {early.metric!r}", "early_terminate", "metric")
        if known is None and early.goal is None:
            names = ", ".join(metric.name for metric in self.objectives)
            message = f"{early.metric} is not an objective (objectives: {names}); add goal: minimize or goal: maximize"
            raise field_error(message, "early_terminate", "metric")
        if known is not None and early.goal not in (None, known):
            raise field_error(
                f"conflicts with the objective: {known} {early.metric}; remove it", "early_terminate", "goal"
            )

    def _check_objectives(self) -> None:
        names = [metric.name for metric in self.objectives]
        for index, metric in enumerate(self.objectives):
            if metric.name in names[:index]:
                raise field_error(f"duplicate objective {metric.name!r}; remove one", "metrics", str(index), "name")
            if index and metric.target is not None:
                raise field_error("only the first objective can have a target", "metrics", str(index), "target")

    def _check_warm_start(self) -> None:
        if self.warm_start and not search_method_registry.uses_results(self.searched_by):
            message = f"method: {self.method_name} does not use earlier trials; remove it or use method: tpe"
            raise field_error(message, "warm_start")
        for index, sweep_id in enumerate(self.warm_start):
            if sweep_id in self.warm_start[:index]:
                raise field_error(f"duplicate sweep id {sweep_id}; remove one", "warm_start", str(index))

    def _check_grid(self) -> None:
        for name, parameter in self.parameters.items():
            if parameter.count() is None:
                message = "method: grid needs a finite number of values; use values, or min, max and step"
                raise field_error(message, "parameters", name)
        try:
            size = Grid(self.parameters).size
        except GridError as error:
            raise field_error(str(error), "parameters") from None
        if size > MAX_POINTS:
            words = f"the grid has more than {MAX_POINTS:,} points; use method: random to sample from it"
            raise field_error(words, "parameters")

    def _check_builtin(self, model: str) -> None:
        settings = builtin_catalog.settings_of(model)
        for name, parameter in self.parameters.items():
            if name not in settings:
                hint = builtin_catalog.did_you_mean(name, settings)
                raise field_error(f"{model} has no setting {name!r}; {hint}", "parameters", name)
            ends = [parameter.min, parameter.max]
            if settings[name].integer and parameter.is_range and not parameter.integer:
                message = "must be an integer range; write min and max without a decimal point"
                raise field_error(message, "parameters", name)
            for value in ends if parameter.is_range else parameter.choices() or []:
                if complaint := settings[name].invalid_reason(value):
                    raise field_error(f"{settings[name].meaning}: {complaint}", "parameters", name)

    def _check_builtin_devices(self) -> None:
        if self.resources.several and self.resources.processes == "one":
            raise field_error("built-in models use one device in each process; remove it", "resources", "processes")
        if self.resources.several and self.validation.folds:
            raise field_error("not valid with several devices; remove it, or devices", "validation", "folds")

    def _check_metrics(self, data: Data) -> None:
        known = _reported(data)
        for index, metric in enumerate(self.objectives):
            where = ("metrics", str(index)) if self.metrics else ("metric",)
            if metric.name not in known:
                names = ", ".join(known)
                raise field_error(
                    f"built-in models report {names} on {data.description}; got {metric.name!r}", *where, "name"
                )
            if metric.goal != known[metric.name]:
                raise field_error(f"must be {known[metric.name]} for {metric.name}, got {metric.goal}", *where, "goal")

    def _check_ensemble(self, wanted: EnsembleOptions) -> None:
        if wanted.select is Select.EXPLICIT:
            raise field_error("must be top_k, greedy or diverse in a sweep file, got explicit", "ensemble", "select")
        if isinstance(self.program, CommandProgram):
            raise field_error("not supported for scripts, which save no networks; use a function", "ensemble")
        if wanted.k > self.run_cap:
            message = f"must not exceed run_cap ({self.run_cap}), got {wanted.k}"
            raise field_error(message, "ensemble", "k")
        if self.keep.models is not None and wanted.k > self.keep.models:
            message = f"must be at least ensemble.k ({wanted.k}), got {self.keep.models}"
            raise field_error(message, "keep", "models")
        if isinstance(self.program, BuiltinProgram) and self.program.data.learned == "regression":
            _check_values_combine(wanted, self.program.data.description)

    def to_json(self) -> str:
        """The spec as canonical JSON; `parse_spec(json.loads(...))` gives it back."""
        return self.model_dump_json(exclude_unset=True)


def _check_values_combine(wanted: EnsembleOptions, data: str) -> None:
    """Raises for options that need class probabilities: voting, averaging of logits, calibration."""
    if wanted.combine not in REGRESSION_RULES:
        known = ", ".join(sorted(rule.value for rule in REGRESSION_RULES))
        message = f"{wanted.combine.value} needs classification, but {data} is regression; supported: {known}"
        raise field_error(message, "ensemble", "combine")
    if wanted.calibrate:
        raise field_error(f"needs classification, but {data} is regression; remove it", "ensemble", "calibrate")


def parse_spec(document: JsonValue, source: str = "sweep", *, stored: bool = False) -> SweepSpec:
    """Validates a document. Raises `InvalidSpecError` with all problems and their keys."""
    try:
        return SweepSpec.model_validate(document, context={"stored": stored})
    except ValidationError as error:
        raise InvalidSpecError(deduplicate(problems_of(error.errors(), SweepSpec)), source) from None


def spec_from_json(text: str) -> SweepSpec:
    """The inverse of `SweepSpec.to_json`."""
    return parse_spec(json.loads(text), stored=True)


def _reported(data: Data) -> dict[str, builtin_catalog.Goal]:
    """The metrics that built-in models report on this data, and their goals.

    If the task has to be inferred from the file, the metrics of all tasks.
    """
    tasks = builtin_catalog.METRICS if data.learned is None else [data.learned]
    return {name: goal for task in tasks for name, goal in builtin_catalog.METRICS[task].items()}
