"""The sweep file as a model: one definition for file, REST body, JSON Schema and docs; cli, api and scheduler."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    JsonValue,
    Tag,
    ValidationError,
    field_validator,
    model_validator,
)
from pydantic_core import ErrorDetails, PydanticCustomError

from sweep import catalog
from sweep.errors import InvalidSpecError, Problem
from sweep.trial import Params, Scalar

GRID_LIMIT = 10_000
# Whole numbers up to here are exact as floats, which searching computes with.
LARGEST = 2**53


def _complain(message: str, *where: str) -> PydanticCustomError:
    """An error that pydantic reports at `where`, below the field that raised it."""
    return PydanticCustomError("sweep_file", "{message}", {"message": message, "where": where})


def _unusable(value: Scalar) -> str | None:
    """Why a number can be neither searched over nor stored, or None."""
    if isinstance(value, int) and abs(value) > LARGEST:
        return f"{_shown(value)} is above 2**53, the largest whole number that searching keeps exact"
    if isinstance(value, float) and not math.isfinite(value):
        return f"{value!r} is not a finite number"
    return None


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class Metric(_Model):
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


class Parameter(_Model):
    """One dimension of the search: a constant `value`, a list of `values`, or a range from `min` to `max`.

    A range is over whole numbers when both ends are; it includes both ends.
    """

    value: Scalar = None
    values: list[Scalar] | None = Field(None, min_length=1)
    min: int | float | None = None
    max: int | float | None = None
    log: bool = False
    step: int | float | None = None
    when: dict[str, Scalar | list[Scalar]] | None = Field(
        None, description="active only where another parameter has this value, or one of these"
    )

    @field_validator("value", "values")
    @classmethod
    def _bounded(cls, given: Any) -> Any:
        for value in given if isinstance(given, list) else [given]:
            if (complaint := _unusable(value)) is not None:
                raise _complain(complaint)
        return given

    @model_validator(mode="after")
    def _one_kind(self) -> Parameter:
        kinds: list[str] = [kind for kind in ("value", "values") if kind in self.model_fields_set]
        if {"min", "max"} & self.model_fields_set:
            kinds.append("min and max")
        if len(kinds) != 1:
            raise _complain("give exactly one of: value, values, or min with max")
        if kinds == ["min and max"]:
            self._check_range()
        elif {"log", "step"} & self.model_fields_set:
            raise _complain("log and step go with min and max only")
        return self

    def _check_range(self) -> None:
        low, high = self.min, self.max
        if low is None or high is None:
            missing = "min" if low is None else "max"
            raise _complain(f"a range needs both ends; {missing} is missing")
        for name, end in (("min", low), ("max", high)):
            if isinstance(end, bool):
                raise _complain(f"{end!r} is not a finite number", name)
            if (complaint := _unusable(end)) is not None:
                raise _complain(complaint, name)
        if low > high:
            raise _complain(f"min {low:g} is above max {high:g}; swap them", "min")
        if self.log and low <= 0:
            raise _complain(f"a log range starts above 0, not at {low:g}; write min: 1e-6, say", "min")
        if self.step is not None:
            if self.log:
                raise _complain("step and log do not go together", "step")
            if self.step <= 0:
                raise _complain("step must be above 0", "step")
            if self.integer and not isinstance(self.step, int):
                raise _complain("a range of whole numbers needs a whole step", "step")
            if not (high - low) / self.step < LARGEST:
                raise _complain("step is too small for this range", "step")

    @property
    def integer(self) -> bool:
        """Whether the range is over whole numbers: both ends are."""
        return isinstance(self.min, int) and isinstance(self.max, int)

    @property
    def is_range(self) -> bool:
        return self.min is not None

    def count(self) -> int | None:
        """How many `choices` there are, counted without listing them; None for a continuous range."""
        if self.values is not None:
            return len(self.values)
        if not self.is_range:
            return 1
        assert self.min is not None and self.max is not None
        if self.integer and not self.log:
            return len(range(int(self.min), int(self.max) + 1, int(self.step or 1)))
        return None if self.step is None else math.floor((self.max - self.min) / self.step + 1e-9) + 1

    def choices(self) -> list[Scalar] | None:
        """The finite list of values, or None for a continuous range."""
        if self.values is not None:
            return list(self.values)
        if not self.is_range:
            return [self.value]
        assert self.min is not None and self.max is not None
        if self.integer and not self.log:
            return list(range(int(self.min), int(self.max) + 1, int(self.step or 1)))
        if self.step is not None:
            return [self.min + index * self.step for index in range(self.count() or 0)]
        return None

    def active(self, params: Params) -> bool:
        """Whether this parameter takes part, given the values chosen so far."""
        for name, wanted in (self.when or {}).items():
            allowed = wanted if isinstance(wanted, list) else [wanted]
            if name not in params or params[name] not in allowed:
                return False
        return True

    def complaint(self, value: Scalar) -> str | None:
        """What is wrong with `value` for this parameter, or None."""
        if self.is_range:
            assert self.min is not None and self.max is not None
            if isinstance(value, bool) or not isinstance(value, int | float):
                return f"{value!r} is not a number"
            if not self.min <= value <= self.max:
                return f"{value!r} is not within {self.min:g} and {self.max:g}"
            if self.integer and not isinstance(value, int):
                return f"{value!r} is not a whole number"
            return None
        choices = self.choices()
        assert choices is not None
        return None if value in choices else f"{value!r} is not one of {choices}"


class Data(_Model):
    """A built-in data set, by name; `root` is the folder of its files where it has any."""

    name: str
    root: str | None = None

    @model_validator(mode="after")
    def _known(self) -> Data:
        if self.name not in catalog.DATASETS:
            hint = catalog.suggestion(self.name, catalog.DATASETS)
            raise _complain(f"unknown data set {self.name!r}; {hint}", "name")
        if self.name in catalog.NEEDS_ROOT and not self.root:
            raise _complain(f"{self.name} needs the folder of its IDX files", "root")
        return self


class BuiltinProgram(_Model):
    """A built-in model with the built-in fit loop."""

    model: str
    data: Data

    @field_validator("model")
    @classmethod
    def _known(cls, model: str) -> str:
        if model not in catalog.MODELS:
            hint = catalog.suggestion(model, catalog.MODELS)
            raise _complain(f"unknown model {model!r}; {hint}")
        return model


class FunctionProgram(_Model):
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


class EarlyTerminate(_Model):
    """Which running trials to prune, from their reports of the metric.

    `asha`: at each rung (`min_iter` x `eta`^r steps) only the best 1/`eta` go on (Li et al. 2020, Algorithm 2).
    `median`: prune what is worse than the median of the earlier trials at the same step, from `min_iter` on.
    """

    type: Literal["asha", "median", "none"]
    min_iter: int = Field(1, ge=1)
    eta: int = Field(3, ge=2)


class Validation(_Model):
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
            raise _complain(f"four shares above 0 that sum to 1, not {sum(split):g}")
        return split


class Resources(_Model):
    """What a trial gets: one device, and a share of the machine's threads."""

    device: Literal["auto", "gpu", "cpu"] = "auto"
    max_concurrent: int | None = Field(None, ge=1)
    threads: int | None = Field(None, ge=1, le=1024)


class SpecLimits(_Model):
    """The clocks of each attempt, in seconds."""

    trial_s: float | None = Field(None, gt=0)
    silence_s: float | None = Field(None, gt=0)
    start_s: float = Field(60.0, gt=0)
    grace_s: float = Field(5.0, ge=0, le=300)


class Retries(_Model):
    """How often a failed attempt is repeated, by cause, and when to give the sweep up."""

    infrastructure: int = Field(3, ge=0, le=100)
    user: int = Field(0, ge=0, le=100)
    max_consecutive_failures: int = Field(10, ge=1)


def _method_name(method: Any) -> Any:
    return "tpe" if method == "bayes" else method  # W&B's word


class SweepSpec(_Model):
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
    run_cap: int = Field(60, ge=1, le=1_000_000, description="trials that count: finished or pruned")
    program: Program
    validation: Validation = Validation()
    resources: Resources = Resources()
    limits: SpecLimits = SpecLimits()
    retries: Retries = Retries()

    @model_validator(mode="after")
    def _consistent(self) -> SweepSpec:
        self._check_conditions()
        self._check_enqueued()
        if self.method == "grid":
            self._check_grid()
        if isinstance(self.program, BuiltinProgram):
            self._check_builtin(self.program.model)
        return self

    def _check_conditions(self) -> None:
        for name, parameter in self.parameters.items():
            for parent, wanted in (parameter.when or {}).items():
                where = ("parameters", name, "when")
                if parent not in self.parameters:
                    hint = catalog.suggestion(parent, self.parameters)
                    raise _complain(f"there is no parameter {parent!r}; {hint}", *where)
                for value in wanted if isinstance(wanted, list) else [wanted]:
                    if complaint := self.parameters[parent].complaint(value):
                        raise _complain(f"{parent}: {complaint}", *where)
        if len(list(self.ordered())) < len(self.parameters):
            raise _complain("the `when` conditions form a circle", "parameters")

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
                    raise _complain(f"there is no parameter {name!r}; {hint}", *where)
                if complaint := self.parameters[name].complaint(value):
                    raise _complain(complaint, *where)

    def _check_grid(self) -> None:
        size = 1
        for name, parameter in self.parameters.items():
            count = parameter.count()
            if count is None:
                raise _complain(
                    "a grid needs a finite list here: give values, or min, max and step", "parameters", name
                )
            size *= count
        if size > GRID_LIMIT:
            raise _complain(f"the grid has {size:,} points, above {GRID_LIMIT:,}", "parameters")

    def _check_builtin(self, model: str) -> None:
        settings = catalog.settings_of(model)
        for name, parameter in self.parameters.items():
            if name not in settings:
                hint = catalog.suggestion(name, settings)
                raise _complain(f"{model} has no setting {name!r}; {hint}", "parameters", name)
            ends = [parameter.min, parameter.max]
            if settings[name].integer and parameter.is_range and not parameter.integer:
                raise _complain("this is a whole number; write min and max without a point", "parameters", name)
            for value in ends if parameter.is_range else parameter.choices() or []:
                if complaint := settings[name].complaint(value):
                    raise _complain(f"{settings[name].meaning}: {complaint}", "parameters", name)
        if self.metric.name not in ("val_accuracy", "val_loss"):
            raise _complain("the built-in loop reports val_accuracy and val_loss", "metric", "name")

    def to_json(self) -> str:
        """The spec as canonical JSON; `parse_spec(json.loads(...))` gives it back."""
        return self.model_dump_json(exclude_unset=True)


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
    location = _without_union_branches(location)
    return Problem(tuple(location), f"{details['msg'][:1].lower()}{details['msg'][1:]}, not {_shown(details['input'])}")


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


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
    }
    if path[:1] == ("parameters",):
        return list(Parameter.model_fields)
    if path == ("program",):
        return [*BuiltinProgram.model_fields, *FunctionProgram.model_fields]
    return list(by_path[path].model_fields) if path in by_path else []
