"""Which running trials are given up; a block of the sweep file; cli, api and scheduler."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import Field, model_validator

from podium.sweep.spec.optuna_classes import ClassArgs, PrunerName
from podium.sweep.spec.strict_model import LARGEST, Model, complain

# What each type takes beside `type`, `metric` and `goal`.
_KEYS: Mapping[str, tuple[str, ...]] = {
    "asha": ("min_iter", "eta"),
    "hyperband": ("min_iter", "max_iter", "s", "eta"),
    "median": ("min_iter", "min_trials"),
    "percentile": ("percentile", "min_iter", "min_trials"),
    "threshold": ("lower", "upper", "min_iter"),
    "patient": ("patience", "min_delta", "wrap"),
    "wilcoxon": ("p_threshold", "n_startup_steps"),
    "custom": ("pruner", "args"),
    "none": (),  # switches off: whatever else stands there stays for when it is switched on again
}
_NEEDS: Mapping[str, tuple[str, str]] = {
    "percentile": ("percentile", "write percentile: 25, say, for the best quarter to go on"),
    "patient": ("patience", "write patience: 3, say, for as many reports without improvement"),
    "custom": ("pruner", "write pruner: MODULE:CLASS"),
}


class Rule(Model):
    """A rule by itself: what `early_terminate` is, and what `patient` may wrap."""

    type: Literal["asha", "hyperband", "median", "percentile", "threshold", "patient", "wilcoxon", "custom", "none"] = (
        Field(description="the rule; custom where `pruner` is given")
    )
    min_iter: int = Field(1, ge=1, le=LARGEST, description="no trial is given up before this step")
    max_iter: int | None = Field(None, ge=1, le=LARGEST, description="hyperband: the last step of a trial")
    s: int | None = Field(None, ge=1, description="hyperband, with max_iter: how many times a trial is judged")
    eta: int = Field(3, ge=2, le=LARGEST, description="asha and hyperband: one in `eta` goes on")
    percentile: float | None = Field(None, gt=0, lt=100, description="percentile: so many percent go on, the best")
    min_trials: int = Field(5, ge=1, description="median and percentile: finished trials to compare with")
    lower: float | None = Field(None, allow_inf_nan=False, description="threshold: give up below")
    upper: float | None = Field(None, allow_inf_nan=False, description="threshold: give up above")
    patience: int | None = Field(None, ge=0, description="patient: reports in a row without improvement")
    min_delta: float = Field(0.0, ge=0, allow_inf_nan=False, description="patient: what counts as improvement")
    p_threshold: float = Field(0.1, gt=0, lt=1, description="wilcoxon: give up below this p-value")
    n_startup_steps: int = Field(2, ge=0, le=LARGEST, description="wilcoxon: steps to compare before any is given up")
    pruner: PrunerName | None = Field(
        None, description="MODULE:CLASS, a subclass of optuna.pruners.BasePruner, in place of `type`"
    )
    args: ClassArgs = Field(default_factory=dict, description="pruner: keyword arguments of the class, as JSON values")

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
                raise complain(_stray(self.type, key), key)
        if self.type in _NEEDS and getattr(self, _NEEDS[self.type][0]) is None:
            key, what = _NEEDS[self.type]
            raise complain(f"{self.type} needs {key}; {what}")
        if self.type == "threshold":
            self._check_threshold()
        if self.type == "hyperband":
            self._check_hyperband()
        return self

    def _check_threshold(self) -> None:
        if self.lower is None and self.upper is None:
            raise complain("threshold needs lower, upper, or both; write lower: 0.1, say")
        if self.lower is not None and self.upper is not None and self.lower > self.upper:
            raise complain(f"lower {self.lower:g} is above upper {self.upper:g}; swap them", "lower")

    def _check_hyperband(self) -> None:
        if self.max_iter is None:
            if self.s is not None:
                raise complain("s counts back from max_iter; add max_iter, or leave s out", "s")
            return
        if self.s is not None and "min_iter" in self.model_fields_set:
            raise complain("give min_iter, or s with max_iter, not both", "s")
        if self.min_iter >= self.max_iter:
            raise complain(f"max_iter {self.max_iter} is not above min_iter {self.min_iter}", "max_iter")
        if self.s is not None and self.s > (most := _times_divided(self.max_iter, self.eta)):
            remedy = f"write s: {most} at most" if most else "lower eta, or leave s out"
            message = f"max_iter {self.max_iter} can be divided by eta {self.eta} only {most} times, not {self.s:g}"
            raise complain(f"{message}; {remedy}", "s")


class EarlyTerminate(Rule):
    """Which running trials to prune, from their reports of one metric.

    `asha`: at each rung (`min_iter` x `eta`^r steps) only the best 1/`eta` go on (Li et al. 2020, Algorithm 2).
    `hyperband`: with `min_iter` and `max_iter`, brackets of asha that begin ever later (Li et al. 2018); with
    `min_iter` alone, or `max_iter` and `s`, one bracket, as W&B does it: rungs at `max_iter`/`eta`^r for r up to `s`.
    `median`, `percentile`: prune what is worse, at its best so far, than that of the finished trials at the same step.
    `threshold`: prune what leaves the range of `lower` to `upper`.
    `wilcoxon`: prune what is significantly worse than the best trial at the same steps (signed-rank test); for steps
    that are instances or folds, each with a value of its own.
    `custom`: any pruner class of an installed package, by `pruner` and `args`.
    `patient`: prune what has not improved for `patience` reports; with `wrap`, only if that rule would prune too.
    """

    metric: str | None = Field(None, min_length=1, max_length=120, description="what is judged; the first objective")
    goal: Literal["maximize", "minimize"] | None = Field(None, description="of `metric`, if it is no objective")
    wrap: Rule | None = Field(None, description="patient: the rule that has the last word")

    @model_validator(mode="after")
    def _wraps(self) -> Any:
        if self.wrap is not None and self.wrap.type in ("patient", "none"):
            others = ", ".join(name for name in _KEYS if name not in ("patient", "none"))
            raise complain(f"patient cannot wrap {self.wrap.type}; it can {others}", "wrap", "type")
        if self.goal is not None and self.metric is None:
            raise complain("goal is of metric; name that, or leave goal out", "goal")
        return self


def _times_divided(steps: int, eta: int) -> int:
    """How often a number of steps can be divided by `eta` before less than one is left."""
    times, first = 0, eta
    while first <= steps:
        times, first = times + 1, first * eta
    return times


def _stray(kind: str, key: str) -> str:
    """What to say of a key that does not belong to its type."""
    takers = [name for name, keys in _KEYS.items() if key in keys]
    return f"{key} goes with {' or '.join(takers)}, and {kind} takes {', '.join(_KEYS[kind])}"
