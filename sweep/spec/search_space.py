"""The search space: what one parameter may be; a part of the sweep file; cli, api and scheduler."""

from __future__ import annotations

import math
from collections.abc import Container
from typing import Any

from pydantic import Field, field_validator, model_validator

from podium.sweep.spec.distribution_names import Name, resolved
from podium.sweep.spec.strict_model import LARGEST, Model, check_storable, complain, unusable
from podium.sweep.values.decimal_steps import on_step, steps_within
from podium.sweep.values.trial import Params, Scalar


class Parameter(Model):
    """One dimension of the search: a constant `value`, a list of `values`, or a range from `min` to `max`.

    A range is over whole numbers when both ends are; it includes both ends. W&B's names of distributions are known; one
    that is no range and no list (normal, beta, weighted choices) is drawn by Podium itself, with `method: random`.
    """

    distribution: Name | None = Field(None, description="W&B's name of it; most are short for min, max, log and step")
    value: Scalar = Field(None, description="a constant")
    values: list[Scalar] | None = Field(None, min_length=1, description="a choice of these")
    ordered: bool = Field(False, description="`values` are in order: samplers search their positions as integers")
    min: int | float | None = Field(None, description="a range from here; of whole numbers if both ends are")
    max: int | float | None = Field(None, description="to here, included")
    log: bool = Field(False, description="each order of magnitude is as likely")
    step: int | float | None = Field(None, description="only every so many, from min")
    mu: float = Field(0.0, description="normal: the mean; log_normal: of the logarithm")
    sigma: float = Field(1.0, description="normal: the standard deviation")
    a: float = Field(1.0, description="beta")
    b: float = Field(1.0, description="beta")
    q: int | float | None = Field(None, description="rounded to multiples of this")
    probabilities: list[float] | None = Field(None, description="of `values`, as weights")
    when: dict[str, Scalar | list[Scalar]] | None = Field(
        None, description="active only where another parameter has this value, or one of these"
    )

    @model_validator(mode="before")
    @classmethod
    def _named(cls, document: Any) -> Any:
        check_storable(document)
        return resolved(document, frozenset(cls.model_fields)) if isinstance(document, dict) else document

    @field_validator("when")
    @classmethod
    def _may_hold(cls, when: Any) -> Any:
        for other, wanted in (when or {}).items():
            if wanted == []:
                raise complain("is an empty list, which nothing is in; name the values, or leave it out", other)
        return when

    @field_validator("value", "values")
    @classmethod
    def _bounded(cls, given: Any) -> Any:
        for value in given if isinstance(given, list) else [given]:
            if (complaint := unusable(value)) is not None:
                raise complain(complaint)
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
            raise complain("give exactly one of: value, values, or min with max")
        if self.ordered:
            self._check_ordered()
        if self.probabilities is not None:
            self._check_probabilities(self.probabilities)
        if kinds == ["min and max"]:
            self._check_range()
        elif {"log", "step"} & self.model_fields_set:
            raise complain("log and step go with min and max only")
        return self

    def _check_drawn(self) -> None:
        if self.is_range:
            self._check_range()
        if self.q is None and (self.distribution or "").startswith("q_"):
            raise complain(f"{self.distribution} needs q; write q: 1, say")
        farthest = self._farthest()
        if not math.isfinite(farthest):
            words = "mu and sigma are more than can be computed with; bring them nearer to 0"
            raise complain(f"{words}{_OF_LOGARITHM if self._logarithmic else ''}", "mu")
        if self.q is not None and not math.isfinite(farthest / self.q):
            raise complain(f"q {self.q:g} is too small to count values up to {farthest:g} in; write q: 0.001, say", "q")
        for key, shape in (("a", self.a), ("b", self.b)):
            if shape > _MOST_PEAKED:
                raise complain(f"{shape:g} is above {_MOST_PEAKED:g}; write less: beta is nearly a constant there", key)

    @property
    def _logarithmic(self) -> bool:
        return (self.distribution or "").endswith("log_normal")

    def _farthest(self) -> float:
        """What a draw is never above, nor below the negative of; infinite where it cannot be computed with."""
        kind = self.distribution or ""
        if not kind.endswith("normal"):
            return float(self.max or 1)
        ends = abs(self.mu) + _SIGMAS * self.sigma
        if not self._logarithmic:
            return ends
        return math.exp(ends) if ends < _LARGEST_EXPONENT else math.inf

    def _check_ordered(self) -> None:
        if self.values is None:
            raise complain("ordered goes with values only; a range is in order anyway", "ordered")
        if self.probabilities is not None:
            raise complain("ordered and probabilities do not go together; leave one out", "ordered")
        for index, value in enumerate(self.values):
            if value in self.values[:index]:
                raise complain(f"{value!r} is there twice, so its position is not known; leave one out", "values")
        if all(isinstance(value, int | float) and not isinstance(value, bool) for value in self.values):
            ascending = sorted(self.values)  # type: ignore[type-var]
            if self.values not in (ascending, ascending[::-1]):
                raise complain(f"ordered numbers must ascend or descend; write {ascending}", "values")

    def _check_probabilities(self, weights: list[float]) -> None:
        count = len(self.values or [])
        if len(weights) != count:
            raise complain(f"{len(weights)} probabilities for {count} values; give one for each", "probabilities")
        if any(weight < 0 for weight in weights) or sum(weights) <= 0:
            raise complain("probabilities are at least 0, and one of them above 0", "probabilities")
        if not math.isfinite(sum(weights)):
            words = f"their sum is more than can be computed with; divide each by {max(weights):g}"
            raise complain(words, "probabilities")

    def _check_range(self) -> None:
        low, high = self.min, self.max
        if low is None or high is None:
            missing = "min" if low is None else "max"
            raise complain(f"a range needs both ends; {missing} is missing")
        for name, end in (("min", low), ("max", high)):
            if isinstance(end, bool):
                raise complain(f"{end!r} is not a finite number", name)
            if (complaint := unusable(end)) is not None:
                raise complain(complaint, name)
        if low > high:
            raise complain(f"min {low:g} is above max {high:g}; swap them", "min")
        if not math.isfinite(high - low):
            raise complain(f"{low:g} to {high:g} is wider than can be computed with; bring the ends together", "max")
        if self.log and low <= 0:
            raise complain(f"a log range starts above 0, not at {low:g}; write min: 1e-6, say", "min")
        if self.step is not None:
            if (complaint := unusable(self.step)) is not None:
                raise complain(complaint, "step")
            if self.log:
                raise complain("step and log do not go together", "step")
            if self.step <= 0:
                raise complain("step must be above 0", "step")
            if self.integer and not isinstance(self.step, int):
                raise complain("a range of whole numbers needs a whole step", "step")
            if not (high - low) / self.step < LARGEST:
                raise complain("step is too small for this range", "step")

    @property
    def integer(self) -> bool:
        """Whether the range is over whole numbers: both ends are."""
        return isinstance(self.min, int) and isinstance(self.max, int)

    @property
    def is_range(self) -> bool:
        return self.min is not None

    @property
    def drawn(self) -> bool:
        """Whether Podium draws it by itself: no search but a random one can choose it."""
        return self.distribution is not None or self.probabilities is not None

    def count(self) -> int | None:
        """How many `choices` there are, counted without listing them; None for a continuous range."""
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
        """Whether this parameter takes part, given the values chosen so far."""
        for name, wanted in (self.when or {}).items():
            allowed = wanted if isinstance(wanted, list) else [wanted]
            if name not in params or params[name] not in allowed:
                return False
        return True

    def why_inactive(self, params: Params, inactive: Container[str] = ()) -> str | None:
        """Why it takes no part, given some values and what takes none; None where it does, or may."""
        for name, wanted in (self.when or {}).items():
            one_of = isinstance(wanted, list)
            held = name not in params or params[name] in (wanted if isinstance(wanted, list) else [wanted])
            only = f"takes part only where {name} is {'one of ' if one_of else ''}{wanted!r}"
            if name in inactive:
                return f"{only}, and {name} takes no part here; leave it out"
            if not held:
                return f"{only}, and here it is {params[name]!r}; leave it out, or change {name}"
        return None

    def complaint(self, value: Scalar) -> str | None:
        """What is wrong with `value` for this parameter, or None."""
        if (unfit := unusable(value)) is not None:
            return unfit
        if self.is_range:
            assert self.min is not None and self.max is not None
            if isinstance(value, bool) or not isinstance(value, int | float):
                return f"{value!r} is not a number"
            if not self.min <= value <= self.max:
                return f"{value!r} is not within {self.min:g} and {self.max:g}"
            if self.integer and not isinstance(value, int):
                return f"{value!r} is not a whole number"
            return self._off_step(value)
        if self.distribution is not None:
            return self._undrawable(value)
        choices = self.choices()
        assert choices is not None
        return None if value in choices else f"{value!r} is not one of {choices}"

    def _undrawable(self, value: Scalar) -> str | None:
        if isinstance(value, bool) or not isinstance(value, int | float):
            return f"{value!r} is not a number"
        kind = self.distribution or ""
        if kind.endswith("beta") and not 0 <= value <= 1 and self.q is None:
            return f"{value!r} is not within 0 and 1"
        if kind == "log_normal" and value <= 0:
            return f"{value!r} is not above 0"
        return None

    def _off_step(self, value: float) -> str | None:
        """What is wrong with a number that lies between two steps: no search would choose it, or take it back."""
        if self.step is None:
            return None
        assert self.min is not None
        steps = (value - self.min) / self.step
        if abs(steps - round(steps)) < _ON_STEP:
            return None
        below = self.min + math.floor(steps) * self.step
        return f"{value!r} is not on a step of {self.step:g} from {self.min:g}; {below:g} is"


_SIGMAS = 10  # how far from mu no draw is: of Python's, 8.6
_LARGEST_EXPONENT = 700  # of what a float holds
_OF_LOGARITHM = "; they are of the logarithm: mu: 0, sigma: 1 draws around 1"
_MOST_PEAKED = 1e9  # a and b of beta; far above, a draw takes for ever
_ON_STEP = 1e-8  # as exact as Optuna is
