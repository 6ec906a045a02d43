"""The sweep file as a model: one definition for file, REST body, JSON Schema and docs; cli, api and scheduler."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    BeforeValidator,
    Discriminator,
    Field,
    JsonValue,
    Tag,
    ValidationError,
    field_validator,
    model_validator,
)
from pydantic_core import ErrorDetails

from ensemble.spec import REGRESSION_RULES, EnsembleOptions, Rule, Select
from sweep import catalog
from sweep.errors import InvalidSpecError, Problem
from sweep.space import Model, Parameter, complain, shown
from sweep.trial import Scalar

GRID_LIMIT = 10_000
MAX_RUN_CAP = 1_000_000
MAX_GRACE_S = 300.0
MIN_PRIORITY, MAX_PRIORITY = 0.01, 100.0


class Metric(Model):
    """What a trial is judged by."""

    name: str = Field(min_length=1, max_length=120)
    goal: Literal["maximize", "minimize"]
    target: float | None = Field(None, allow_inf_nan=False, description="the sweep ends when a trial reaches it")

    def better(self, one: float, other: float) -> bool:
        """Whether `one` is strictly better than `other`."""
        return one > other if self.goal == "maximize" else one < other

    def reached(self, value: float) -> bool:
        """Whether `value` meets the target; False without one."""
        return self.target is not None and (value == self.target or self.better(value, self.target))


class Data(Model):
    """A built-in data set, by name; `root` is the folder of its files where it has any."""

    name: str
    root: str | None = None

    @model_validator(mode="after")
    def _known(self) -> Data:
        if self.name not in catalog.DATASETS:
            hint = catalog.suggestion(self.name, catalog.DATASETS)
            raise complain(f"unknown data set {self.name!r}; {hint}", "name")
        if self.name in catalog.NEEDS_ROOT and not self.root:
            raise complain(f"{self.name} needs the folder of its IDX files", "root")
        return self


class BuiltinProgram(Model):
    """A built-in model with the built-in fit loop."""

    model: str
    data: Data

    @field_validator("model")
    @classmethod
    def _known(cls, model: str) -> str:
        if model not in catalog.MODELS:
            hint = catalog.suggestion(model, catalog.MODELS)
            raise complain(f"unknown model {model!r}; {hint}")
        return model

    @model_validator(mode="after")
    def _fits_the_data(self) -> BuiltinProgram:
        if self.model == "cnn" and self.data.name in catalog.TABLES:
            raise complain(f"cnn needs images, and {self.data.name} is a table; write mlp", "model")
        return self


class FunctionProgram(Model):
    """Your own function, `objective(trial)`: `module:function` in the folder `code`."""

    function: str = Field(pattern=r"^[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*$")
    code: str | None = Field(None, description="folder of the code; the client uploads it as a bundle")
    bundle: str | None = Field(None, pattern=r"^[0-9a-f]{64}$", description="SHA-256 of an uploaded bundle")


def _program_kind(value: Any) -> str:
    given = value.get("function") if isinstance(value, dict) else getattr(value, "function", None)
    return "builtin" if given is None else "function"


Program = Annotated[
    Annotated[BuiltinProgram, Tag("builtin")] | Annotated[FunctionProgram, Tag("function")],
    Discriminator(_program_kind),
]


class EarlyTerminate(Model):
    """Which running trials to prune, from their reports of the metric.

    `asha`: at each rung (`min_iter` x `eta`^r steps) only the best 1/`eta` go on (Li et al. 2020, Algorithm 2).
    `median`: prune what is worse than the median of the earlier trials at the same step, from `min_iter` on.
    """

    type: Literal["asha", "median", "none"]
    min_iter: int = Field(1, ge=1)
    eta: int = Field(3, ge=2)


class Validation(Model):
    """How the rows are split: shares of train, validation, calibration and test, drawn by `seed`."""

    split: tuple[float, float, float, float] = (0.7, 0.1, 0.1, 0.1)
    seed: int = Field(0, ge=0)

    @field_validator("split", mode="before")
    @classmethod
    def _as_tuple(cls, split: Any) -> Any:
        return tuple(split) if isinstance(split, list) else split

    @field_validator("split")
    @classmethod
    def _sums_to_one(cls, split: tuple[float, ...]) -> tuple[float, ...]:
        if any(share <= 0 for share in split) or abs(sum(split) - 1) > 1e-6:
            raise complain(f"four shares above 0 that sum to 1, not {sum(split):g}")
        return split


class Resources(Model):
    """What a trial gets: one device, and a share of the machine's threads."""

    device: Literal["auto", "gpu", "cpu"] = "auto"
    max_concurrent: int | None = Field(None, ge=1)
    threads: int | None = Field(None, ge=1, le=1024)


class SpecLimits(Model):
    """The bounds of each attempt: clocks in seconds, and what it may take of the machine."""

    trial_s: float | None = Field(None, gt=0)
    silence_s: float | None = Field(None, gt=0)
    start_s: float = Field(60.0, gt=0)
    grace_s: float = Field(5.0, ge=0, le=MAX_GRACE_S)
    memory_mb: float | None = Field(None, ge=64, description="host memory of the trial's processes together")
    log_mb: float = Field(8.0, ge=1, le=1024, description="of the log that are kept: its beginning and its end")
    work_dir_mb: float | None = Field(1024.0, ge=1, description="working and temporary directory together")


class Retries(Model):
    """How often a failed attempt is repeated, by cause, and when to give the sweep up."""

    infrastructure: int = Field(3, ge=0, le=100)
    memory: int = Field(1, ge=0, le=100)
    user: int = Field(0, ge=0, le=100)
    max_consecutive_failures: int = Field(10, ge=1)


def _method_name(method: Any) -> Any:
    return "tpe" if method == "bayes" else method  # W&B's word


class SweepSpec(Model):
    """A sweep: what to search, how, by which metric, with which program, and when to stop."""

    name: str = Field(min_length=1, max_length=120)
    method: Annotated[
        Literal["tpe", "random", "grid"],
        BeforeValidator(_method_name),
    ] = "tpe"
    seed: int = Field(0, ge=0, lt=2**63)
    metric: Metric
    parameters: dict[str, Parameter] = Field(min_length=1)
    enqueue: list[dict[str, Scalar]] = Field(default_factory=list)
    early_terminate: EarlyTerminate = EarlyTerminate(type="none")
    run_cap: int = Field(60, ge=1, le=MAX_RUN_CAP, description="trials that count: finished or pruned")
    priority: float = Field(1.0, ge=MIN_PRIORITY, le=MAX_PRIORITY, description="its share of the devices' time")
    program: Program
    validation: Validation = Validation()
    resources: Resources = Resources()
    limits: SpecLimits = SpecLimits()
    retries: Retries = Retries()
    ensemble: EnsembleOptions | None = Field(None, description="what to build of the finished trials when it ends")

    @field_validator("ensemble", mode="before")
    @classmethod
    def _says_something(cls, block: Any) -> Any:
        if block is None:
            raise complain("this block is empty; write {k: 3}, say, or leave it out")
        return block

    @model_validator(mode="after")
    def _consistent(self) -> SweepSpec:
        self._check_conditions()
        self._check_enqueued()
        if self.method == "grid":
            self._check_grid()
        if isinstance(self.program, BuiltinProgram):
            self._check_builtin(self.program.model)
            self._check_metric(self.program.data.name)
        if self.ensemble is not None:
            self._check_ensemble(self.ensemble)
        return self

    def _check_conditions(self) -> None:
        for name, parameter in self.parameters.items():
            for parent, wanted in (parameter.when or {}).items():
                where = ("parameters", name, "when")
                if parent not in self.parameters:
                    hint = catalog.suggestion(parent, self.parameters)
                    raise complain(f"there is no parameter {parent!r}; {hint}", *where)
                for value in wanted if isinstance(wanted, list) else [wanted]:
                    if complaint := self.parameters[parent].complaint(value):
                        raise complain(f"{parent}: {complaint}", *where)
        if len(list(self.ordered())) < len(self.parameters):
            raise complain("the `when` conditions form a circle", "parameters")

    def ordered(self) -> Iterator[tuple[str, Parameter]]:
        """The parameters in file order, each after those that its `when` names."""
        placed: set[str] = set()
        left = dict(self.parameters)
        while ready := [name for name, p in left.items() if set(p.when or {}) <= placed]:
            for name in ready:
                placed.add(name)
                yield name, left.pop(name)

    def _check_enqueued(self) -> None:
        for index, params in enumerate(self.enqueue):
            for name, value in params.items():
                where = ("enqueue", str(index), name)
                if name not in self.parameters:
                    hint = catalog.suggestion(name, self.parameters)
                    raise complain(f"there is no parameter {name!r}; {hint}", *where)
                if complaint := self.parameters[name].complaint(value):
                    raise complain(complaint, *where)

    def _check_grid(self) -> None:
        size = 1
        for name, parameter in self.parameters.items():
            count = parameter.count()
            if count is None:
                raise complain("a grid needs a finite list here: give values, or min, max and step", "parameters", name)
            size *= count
        if size > GRID_LIMIT:
            raise complain(f"the grid has {size:,} points, above {GRID_LIMIT:,}", "parameters")

    def _check_builtin(self, model: str) -> None:
        settings = catalog.settings_of(model)
        for name, parameter in self.parameters.items():
            if name not in settings:
                hint = catalog.suggestion(name, settings)
                raise complain(f"{model} has no setting {name!r}; {hint}", "parameters", name)
            ends = [parameter.min, parameter.max]
            if settings[name].integer and parameter.is_range and not parameter.integer:
                raise complain("this is a whole number; write min and max without a point", "parameters", name)
            for value in ends if parameter.is_range else parameter.choices() or []:
                if complaint := settings[name].complaint(value):
                    raise complain(f"{settings[name].meaning}: {complaint}", "parameters", name)

    def _check_metric(self, data: str) -> None:
        name, known = self.metric.name, catalog.METRICS[catalog.task_of(data)]
        if name not in known:
            names = ", ".join(known)
            raise complain(f"on {data} the built-in loop reports {names}, not {name!r}", "metric", "name")
        if self.metric.goal != known[name]:
            better = {"maximize": "higher", "minimize": "lower"}[known[name]]
            raise complain(f"of {name}, {better} is better; write {known[name]}", "metric", "goal")

    def _check_ensemble(self, wanted: EnsembleOptions) -> None:
        if wanted.select is Select.EXPLICIT:
            raise complain("no trials can be named yet; write top_k, greedy or diverse", "ensemble", "select")
        if wanted.k > self.run_cap:
            message = f"{wanted.k} of {self.run_cap} trials cannot be chosen; raise run_cap, or lower k"
            raise complain(message, "ensemble", "k")
        if isinstance(self.program, FunctionProgram) and (key := _needs_predictions(wanted)) is not None:
            message = "needs the predictions of each trial, which a function of your own does not leave; leave it out"
            raise complain(message, "ensemble", key)
        if isinstance(self.program, BuiltinProgram) and catalog.task_of(self.program.data.name) == "regression":
            _check_values_combine(wanted, self.program.data.name)

    def to_json(self) -> str:
        """The spec as canonical JSON; `parse_spec(json.loads(...))` gives it back."""
        return self.model_dump_json(exclude_unset=True)


def _needs_predictions(wanted: EnsembleOptions) -> str | None:
    """The option that cannot be had without the trials' predictions, or None."""
    if wanted.select is not Select.TOP_K:
        return "select"
    if wanted.combine in (Rule.WEIGHTED, Rule.STACKING):
        return "combine"
    return "calibrate" if wanted.calibrate else None


def _check_values_combine(wanted: EnsembleOptions, data: str) -> None:
    """Raises for what only probabilities of classes can be: voted on, averaged as logits, calibrated."""
    if wanted.combine not in REGRESSION_RULES:
        known = ", ".join(sorted(rule.value for rule in REGRESSION_RULES))
        message = f"{wanted.combine.value} is for classes, and {data} has values; for those there are {known}"
        raise complain(message, "ensemble", "combine")
    if wanted.calibrate:
        raise complain(
            f"a temperature is for probabilities, and {data} has values; leave it out", "ensemble", "calibrate"
        )


def parse_spec(document: JsonValue, source: str = "sweep") -> SweepSpec:
    """Check a document against the model. Raises `InvalidSpecError` with every problem and its key."""
    try:
        return SweepSpec.model_validate(document)
    except ValidationError as error:
        raise InvalidSpecError([_problem(details) for details in error.errors()], source) from None


def spec_from_json(text: str) -> SweepSpec:
    """Read back what `SweepSpec.to_json` wrote."""
    return parse_spec(json.loads(text))


_PROGRAM_TAGS = {"builtin", "function"}


def _problem(details: ErrorDetails) -> Problem:
    location = [str(part) for part in details["loc"]]
    if location[:1] == ["program"] and location[1:2] and location[1] in _PROGRAM_TAGS:
        del location[1]
    context = details.get("ctx") or {}
    location += context.get("where", ())
    if details["type"] == "extra_forbidden":
        hint = catalog.suggestion(location[-1], _known_keys(tuple(location[:-1])))
        return Problem(tuple(location), f"unknown key {location[-1]!r}; {hint}")
    if details["type"] == "missing":
        return Problem(tuple(location), "is missing")
    if context.get("message"):
        return Problem(tuple(location), context["message"])
    if "error" in context:
        return _named_inside(location, str(context["error"]))
    location = _without_union_branches(location)
    return Problem(tuple(location), f"{details['msg'][:1].lower()}{details['msg'][1:]}, not {shown(details['input'])}")


def _named_inside(location: list[str], message: str) -> Problem:
    """What the `ensemble:` block complains of: it says the key first."""
    key, colon, rest = message.partition(": ")
    if colon and key in _known_keys(tuple(location)):
        return Problem((*location, key), rest)
    return Problem(tuple(location), message)


def _without_union_branches(location: list[str]) -> list[str]:
    branches = {"str", "int", "float", "bool", "none"}
    while len(location) > 2 and (location[-1] in branches or "[" in location[-1]):
        location = location[:-1]
    return location


def _known_keys(path: tuple[str, ...]) -> list[str]:
    by_path: dict[tuple[str, ...], type[BaseModel]] = {
        (): SweepSpec,
        ("metric",): Metric,
        ("early_terminate",): EarlyTerminate,
        ("validation",): Validation,
        ("resources",): Resources,
        ("limits",): SpecLimits,
        ("retries",): Retries,
        ("program", "data"): Data,
        ("ensemble",): EnsembleOptions,
    }
    if path[:1] == ("parameters",):
        return list(Parameter.model_fields)
    if path == ("program",):
        return [*BuiltinProgram.model_fields, *FunctionProgram.model_fields]
    return list(by_path[path].model_fields) if path in by_path else []
