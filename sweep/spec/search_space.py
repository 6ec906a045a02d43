"""A parameter of the search space: constant, choices, range or distribution; CLI, api process and scheduler."""

from __future__ import annotations

import math
from collections.abc import Container
from typing import Any

from pydantic import Field, field_validator, model_validator

from podium.sweep.spec.strict_model import LARGEST, Model, check_storable, field_error, invalid_number_reason
from podium.sweep.spec.wandb_distributions import Name, resolve_distribution
from podium.sweep.values.attempt_assignment import Params, Scalar
from podium.sweep.values.decimal_steps import on_step, steps_within


class Parameter(Model):
    """One dimension of the search space: a constant `value`, a list of `values`, or a range from `min` to `max`.

    A range includes both ends and is an integer range if both ends are integers. W&B's distribution names are accepted;
    distributions without an equivalent range or list (normal, beta, weighted choices) need `method: random`.
    """

    distribution: Name | None = Field(
        None, description="W&B's distribution name; most are equivalent to min, max, log and step"
    )
    value: Scalar = Field(None, description="a constant")
    values: list[Scalar] | None = Field(None, min_length=1, description="the choices")
    ordered: bool = Field(False, description="`values` are ordered: samplers search their indices as integers")
    min: int | float | None = Field(
        None, description="lower bound, inclusive; an integer range if both bounds are integers"
    )
    max: int | float | None = Field(None, description="upper bound, inclusive")
    log: bool = Field(False, description="sample on a logarithmic scale")
    step: int | float | None = Field(None, description="distance between values, counted from min")
    mu: float = Field(0.0, description="normal: mean; log_normal: mean of the logarithm")
    sigma: float = Field(1.0, description="normal: standard deviation; log_normal: that of the logarithm")
    a: float = Field(1.0, description="beta: first shape parameter")
    b: float = Field(1.0, description="beta: second shape parameter")
    q: int | float | None = Field(None, description="round to multiples of this")
    probabilities: list[float] | None = Field(None, description="weights of `values`")
    when: dict[str, Scalar | list[Scalar]] | None = Field(
        None, description="condition: active only if another parameter has this value, or one of these values"
    )

    @model_validator(mode="before")
    @classmethod
    def _named(cls, document: Any) -> Any:
        check_storable(document)
        return resolve_distribution(document, frozenset(cls.model_fields)) if isinstance(document, dict) else document

    @field_validator("when")
    @classmethod
    def _may_hold(cls, when: Any) -> Any:
        for other, wanted in (when or {}).items():
            if wanted == []:
                raise field_error("must not be empty; list the values, or remove the condition", other)
        return when

    @field_validator("value", "values")
    @classmethod
    def _bounded(cls, given: Any) -> Any:
        for value in given if isinstance(given, list) else [given]:
            if (complaint := invalid_number_reason(value)) is not None:
                raise field_error(complaint)
        return given

    @model_validator(mode="after")
    def _one_kind(self) -> Parameter:
        kinds: list[str] = [kind for kind in ("value", "values") if kind in self.model_fields_set]
        if {"min", "max"} & self.model_fields_set:
            kinds.append("min and max")
        if self.distribution is not None:
            self._check_drawn()
            return self
        if len(kinds) != 1:
            raise field_error("must have exactly one of: value, values, or min and max")
        if self.ordered:
            self._check_ordered()
        if self.probabilities is not None:
            self._check_probabilities(self.probabilities)
        if kinds == ["min and max"]:
            self._check_range()
        elif {"log", "step"} & self.model_fields_set:
            raise field_error("log and step are only valid with min and max")
        return self

    def _check_drawn(self) -> None:
        if self.is_range:
            self._check_range()
        if self.q is None and (self.distribution or "").startswith("q_"):
            raise field_error(f"distribution: {self.distribution} requires q; for example, q: 1")
        farthest = self._farthest()
        if not math.isfinite(farthest):
            words = "mu and sigma are too large: samples overflow a float"
            raise field_error(f"{words}{_OF_LOGARITHM if self._logarithmic else ''}", "mu")
        if self.q is not None and not math.isfinite(farthest / self.q):
            raise field_error(f"{self.q:g} is too small for values up to {farthest:g}; for example, q: 0.001", "q")
        for key, shape in (("a", self.a), ("b", self.b)):
            if shape > _MOST_PEAKED:
                raise field_error(
                    f"must be at most {_MOST_PEAKED:g}, got {shape:g}; beta is nearly constant there", key
                )

    @property
    def _logarithmic(self) -> bool:
        return (self.distribution or "").endswith("log_normal")

    def _farthest(self) -> float:
        """An upper bound of the absolute value of a sample; infinite if it overflows a float."""
        kind = self.distribution or ""
        if not kind.endswith("normal"):
            return float(self.max or 1)
        ends = abs(self.mu) + _SIGMAS * self.sigma
        if not self._logarithmic:
            return ends
        return math.exp(ends) if ends < _LARGEST_EXPONENT else math.inf

    def _check_ordered(self) -> None:
        if self.values is None:
            raise field_error("only valid with values; ranges are always ordered", "ordered")
        if self.probabilities is not None:
            raise field_error("ordered and probabilities are mutually exclusive; remove one", "ordered")
        for index, value in enumerate(self.values):
            if value in self.values[:index]:
                raise field_error(f"duplicate value {value!r}; ordered values must be unique", "values")
        if all(isinstance(value, int | float) and not isinstance(value, bool) for value in self.values):
            ascending = sorted(self.values)  # type: ignore[type-var]
            if self.values not in (ascending, ascending[::-1]):
                raise field_error(
                    f"ordered numbers must be ascending or descending; for example, {ascending}", "values"
                )

    def _check_probabilities(self, weights: list[float]) -> None:
        count = len(self.values or [])
        if len(weights) != count:
            raise field_error(
                f"must have one entry for each of the {count} values, got {len(weights)}", "probabilities"
            )
        if any(weight < 0 for weight in weights) or sum(weights) <= 0:
            raise field_error("must be non-negative, and at least one must be greater than 0", "probabilities")
        if not math.isfinite(sum(weights)):
            raise field_error(f"the sum overflows a float; divide each by {max(weights):g}", "probabilities")

    def _check_range(self) -> None:
        low, high = self.min, self.max
        if low is None or high is None:
            missing, there = ("min", "max") if low is None else ("max", "min")
            raise field_error(f"{there} requires {missing}, which is missing")
        for name, end in (("min", low), ("max", high)):
            if isinstance(end, bool):
                raise field_error(f"must be a finite number, got {end!r}", name)
            if (complaint := invalid_number_reason(end)) is not None:
                raise field_error(complaint, name)
        if low > high:
            raise field_error(f"min ({low:g}) must not exceed max ({high:g})", "min")
        if not math.isfinite(high - low):
            raise field_error(f"the range from {low:g} to {high:g} is too wide: its width overflows a float", "max")
        if self.log and low <= 0:
            raise field_error(f"must be greater than 0 on a log scale, got {low:g}; for example, min: 1e-6", "min")
        if self.step is not None:
            if (complaint := invalid_number_reason(self.step)) is not None:
                raise field_error(complaint, "step")
            if self.log:
                raise field_error("step and log are mutually exclusive; remove one", "step")
            if self.step <= 0:
                raise field_error(f"must be greater than 0, got {self.step:g}", "step")
            if self.integer and not isinstance(self.step, int):
                raise field_error(f"must be an integer in an integer range, got {self.step:g}", "step")
            if not (high - low) / self.step < LARGEST:
                raise field_error(f"{self.step:g} is too small for the range from {low:g} to {high:g}", "step")

    @property
    def integer(self) -> bool:
        """Whether it is an integer range: both bounds are integers."""
        return isinstance(self.min, int) and isinstance(self.max, int)

    @property
    def is_range(self) -> bool:
        return self.min is not None

    @property
    def is_custom_distribution(self) -> bool:
        """Whether Podium samples it without Optuna, which only random search supports."""
        return self.distribution is not None or self.probabilities is not None

    def count(self) -> int | None:
        """The number of `choices`, computed without listing them; None for a continuous range."""
        if self.distribution is not None:
            return None
        if self.values is not None:
            return len(self.values)
        if not self.is_range:
            return 1
        assert self.min is not None and self.max is not None
        if self.integer and not self.log:
            return len(range(int(self.min), int(self.max) + 1, int(self.step or 1)))
        return None if self.step is None else steps_within(self.min, self.max, self.step) + 1

    def choices(self) -> list[Scalar] | None:
        """The finite list of values, or None for a continuous range."""
        if self.distribution is not None:
            return None
        if self.values is not None:
            return list(self.values)
        if not self.is_range:
            return [self.value]
        assert self.min is not None and self.max is not None
        if self.integer and not self.log:
            return list(range(int(self.min), int(self.max) + 1, int(self.step or 1)))
        if self.step is not None:
            return [on_step(self.min, self.step, index) for index in range(self.count() or 0)]
        return None

    def active(self, params: Params) -> bool:
        """Whether the `when` conditions hold, given the values chosen so far."""
        for name, wanted in (self.when or {}).items():
            allowed = wanted if isinstance(wanted, list) else [wanted]
            if name not in params or params[name] not in allowed:
                return False
        return True

    def inactive_reason(self, params: Params, inactive: Container[str] = ()) -> str | None:
        """Why it is inactive, given some values and the inactive parameters; None if it is or may be active."""
        for name, wanted in (self.when or {}).items():
            one_of = isinstance(wanted, list)
            held = name not in params or params[name] in (wanted if isinstance(wanted, list) else [wanted])
            only = f"active only if {name} is {'one of ' if one_of else ''}{wanted!r}"
            if name in inactive:
                return f"{only}, but {name} is inactive here; remove it"
            if not held:
                return f"{only}, but {name} is {params[name]!r} here; remove it or change {name}"
        return None

    def invalid_reason(self, value: Scalar) -> str | None:
        """Why `value` is invalid for this parameter, or None."""
        if (unfit := invalid_number_reason(value)) is not None:
            return unfit
        if self.is_range:
            assert self.min is not None and self.max is not None
            if isinstance(value, bool) or not isinstance(value, int | float):
                return f"must be a number, got {value!r}"
            if not self.min <= value <= self.max:
                return f"must be between {self.min:g} and {self.max:g}, got {value!r}"
            if self.integer and not isinstance(value, int):
                return f"must be an integer, got {value!r}"
            return self._off_step(value)
        if self.distribution is not None:
            return self._invalid_sample_reason(value)
        choices = self.choices()
        assert choices is not None
        return None if value in choices else f"must be one of {choices}, got {value!r}"

    def _invalid_sample_reason(self, value: Scalar) -> str | None:
        if isinstance(value, bool) or not isinstance(value, int | float):
            return f"must be a number, got {value!r}"
        kind = self.distribution or ""
        if kind.endswith("beta") and not 0 <= value <= 1 and self.q is None:
            return f"must be between 0 and 1, got {value!r}"
        if kind == "log_normal" and value <= 0:
            return f"must be greater than 0, got {value!r}"
        return None

    def _off_step(self, value: float) -> str | None:
        """Why a number is invalid that lies between two steps: samplers neither propose nor accept it."""
        if self.step is None:
            return None
        assert self.min is not None
        steps = (value - self.min) / self.step
        if abs(steps - round(steps)) < _ON_STEP:
            return None
        below = self.min + math.floor(steps) * self.step
        return f"must be a multiple of step {self.step:g} from {self.min:g}, such as {below:g}; got {value!r}"


_SIGMAS = 10  # bound of a sample's distance from mu; Python's generator stays within 8.6
_LARGEST_EXPONENT = 700  # e**709 overflows a float
_OF_LOGARITHM = "; they apply to the logarithm: mu: 0, sigma: 1 samples around 1"
_MOST_PEAKED = 1e9  # of a and b of beta: with far larger ones, sampling does not terminate
_ON_STEP = 1e-8  # Optuna's tolerance
