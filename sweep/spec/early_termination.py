"""The `early_terminate` block of the sweep file: the pruner; CLI, api process and scheduler."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import Field, model_validator

from podium.sweep.spec.custom_optuna_classes import ClassArgs, PrunerName
from podium.sweep.spec.strict_model import LARGEST, Model, field_error

# The keys of each type, in addition to `type`, `metric` and `goal`.
_KEYS: Mapping[str, tuple[str, ...]] = {
    "asha": ("min_iter", "eta"),
    "hyperband": ("min_iter", "max_iter", "s", "eta"),
    "median": ("min_iter", "min_trials"),
    "percentile": ("percentile", "min_iter", "min_trials"),
    "threshold": ("lower", "upper", "min_iter"),
    "patient": ("patience", "min_delta", "wrap"),
    "wilcoxon": ("p_threshold", "n_startup_steps"),
    "custom": ("pruner", "args"),
    "none": (),  # disables pruning; other keys are accepted, so that switching it off and on loses nothing
}
# One line for each type, in the order of `Rule.type`: `enumDescriptions` of the JSON Schema, for forms and editors.
SUMMARIES: Mapping[str, str] = {
    "asha": "the best continue at each rung",
    "hyperband": "several ASHA brackets",
    "median": "prune trials below the median",
    "percentile": "prune trials outside the top percentile",
    "threshold": "prune trials outside a range",
    "patient": "prune trials that no longer improve",
    "wilcoxon": "prune trials that are significantly worse at the same steps",
    "custom": "an Optuna pruner class",
    "none": "every trial runs to completion",
}
_NEEDS: Mapping[str, tuple[str, str]] = {
    "percentile": ("percentile", "for example, percentile: 25 keeps the best quarter"),
    "patient": ("patience", "for example, patience: 3 allows 3 reports without improvement"),
    "custom": ("pruner", "write pruner: MODULE:CLASS"),
}


class Rule(Model):
    """A pruning rule: `early_terminate` itself, and the rule that `patient` may wrap."""

    type: Literal["asha", "hyperband", "median", "percentile", "threshold", "patient", "wilcoxon", "custom", "none"] = (
        Field(
            description="the pruning rule; custom if `pruner` is given",
            json_schema_extra={"enumDescriptions": list(SUMMARIES.values())},
        )
    )
    min_iter: int = Field(1, ge=1, le=LARGEST, description="first step at which a trial can be pruned")
    max_iter: int | None = Field(None, ge=1, le=LARGEST, description="hyperband: the last step of a trial")
    s: int | None = Field(None, ge=1, description="hyperband, with max_iter: number of rungs of the bracket")
    eta: int = Field(3, ge=2, le=LARGEST, description="asha and hyperband: reduction factor; 1 in `eta` continues")
    percentile: float | None = Field(None, gt=0, lt=100, description="percentile: percentage of trials that continue")
    min_trials: int = Field(5, ge=1, description="median and percentile: finished trials needed before pruning starts")
    lower: float | None = Field(None, allow_inf_nan=False, description="threshold: prune below this value")
    upper: float | None = Field(None, allow_inf_nan=False, description="threshold: prune above this value")
    patience: int | None = Field(None, ge=0, description="patient: consecutive reports without improvement")
    min_delta: float = Field(
        0.0, ge=0, allow_inf_nan=False, description="patient: smallest change that counts as improvement"
    )
    p_threshold: float = Field(0.1, gt=0, lt=1, description="wilcoxon: prune below this p-value")
    n_startup_steps: int = Field(2, ge=0, le=LARGEST, description="wilcoxon: steps to compare before pruning starts")
    pruner: PrunerName | None = Field(
        None, description="MODULE:CLASS, a subclass of optuna.pruners.BasePruner, instead of `type`"
    )
    args: ClassArgs = Field(default_factory=dict, description="keyword arguments of the `pruner` class, as JSON values")

    @property
    def prunes(self) -> bool:
        """Whether trials can be pruned, so that they wait for the decision on a report."""
        return self.type != "none"

    @model_validator(mode="before")
    @classmethod
    def _by_class(cls, document: Any) -> Any:
        if isinstance(document, dict) and "pruner" in document and "type" not in document:
            return {**document, "type": "custom"}
        return document

    @model_validator(mode="after")
    def _fits(self) -> Any:
        for key in sorted(self.model_fields_set - {"type", "metric", "goal"}):
            if key not in _KEYS[self.type] and self.type != "none":
                raise field_error(_stray(self.type, key), key)
        if self.type in _NEEDS and getattr(self, _NEEDS[self.type][0]) is None:
            key, what = _NEEDS[self.type]
            raise field_error(f"type: {self.type} requires {key}; {what}")
        if self.type == "threshold":
            self._check_threshold()
        if self.type == "hyperband":
            self._check_hyperband()
        return self

    def _check_threshold(self) -> None:
        if self.lower is None and self.upper is None:
            raise field_error("type: threshold requires lower, upper or both; for example, lower: 0.1")
        if self.lower is not None and self.upper is not None and self.lower > self.upper:
            raise field_error(f"lower ({self.lower:g}) must not exceed upper ({self.upper:g})", "lower")

    def _check_hyperband(self) -> None:
        if self.max_iter is None:
            if self.s is not None:
                raise field_error("only valid with max_iter; add max_iter or remove s", "s")
            return
        if self.s is not None and "min_iter" in self.model_fields_set:
            raise field_error("s and min_iter are mutually exclusive; remove one", "s")
        if self.min_iter >= self.max_iter:
            raise field_error(f"must be greater than min_iter ({self.min_iter}), got {self.max_iter}", "max_iter")
        if self.s is not None and self.s > (most := _times_divided(self.max_iter, self.eta)):
            remedy = f"write s: {most} or less" if most else "lower eta or remove s"
            message = f"max_iter: {self.max_iter} with eta: {self.eta} allows at most {most} rungs, got {self.s:g}"
            raise field_error(f"{message}; {remedy}", "s")


class EarlyTerminate(Rule):
    """Which running trials to prune, based on the values they report of one metric.

    `asha`: at each rung (`min_iter` x `eta`^r steps) only the best 1/`eta` continue (Li et al. 2020, Algorithm 2).
    `hyperband`: with `min_iter` and `max_iter`, several asha brackets with increasing first rungs (Li et al. 2018);
    with `min_iter` alone, or `max_iter` and `s`, one bracket, as in W&B: rungs at `max_iter`/`eta`^r for r up to `s`.
    `median`, `percentile`: prune a trial whose best value so far is worse than that of the finished trials at the same
    step.
    `threshold`: prune a trial whose value leaves the range from `lower` to `upper`.
    `wilcoxon`: prune a trial that is significantly worse than the best trial at the same steps (signed-rank test); for
    steps that are instances or folds, each with a value of its own.
    `custom`: any pruner class of an installed package, given by `pruner` and `args`.
    `patient`: prune a trial without improvement for `patience` reports; with `wrap`, only if that rule prunes it too.
    """

    metric: str | None = Field(
        None, min_length=1, max_length=120, description="the metric to compare; default: the first objective"
    )
    goal: Literal["maximize", "minimize"] | None = Field(None, description="of `metric`, if it is not an objective")
    wrap: Rule | None = Field(None, description="patient: the rule that must agree before a trial is pruned")

    @model_validator(mode="after")
    def _wraps(self) -> Any:
        if self.wrap is not None and self.wrap.type in ("patient", "none"):
            others = ", ".join(name for name in _KEYS if name not in ("patient", "none"))
            raise field_error(f"patient cannot wrap {self.wrap.type}; supported: {others}", "wrap", "type")
        if self.goal is not None and self.metric is None:
            raise field_error("only valid with metric; add metric or remove goal", "goal")
        return self


def _times_divided(steps: int, eta: int) -> int:
    """How often a number of steps can be divided by `eta` before the result is below 1."""
    times, first = 0, eta
    while first <= steps:
        times, first = times + 1, first * eta
    return times


def _stray(kind: str, key: str) -> str:
    """The message for a key that its type does not have."""
    takers = [name for name, keys in _KEYS.items() if key in keys]
    return f"only valid with type: {' or '.join(takers)}; the keys of type: {kind} are {', '.join(_KEYS[kind])}"
