"""Which running trials are given up: Optuna's pruners on a study of their own; scheduler.

A pruner goes by one metric, and Optuna refuses to prune where a study has several objectives: the reports go to a
second study, of that metric alone. Samplers never see it, nor does a pruner see what the samplers noted.
"""

from __future__ import annotations

import copy
import inspect
import math
from typing import Any

from optuna.pruners import (
    BasePruner,
    HyperbandPruner,
    MedianPruner,
    NopPruner,
    PatientPruner,
    PercentilePruner,
    SuccessiveHalvingPruner,
    ThresholdPruner,
)
from optuna.trial import TrialState as OptunaState
from optuna.trial import create_trial

from sweep.early_termination import EarlyTerminate, Rule
from sweep.optuna_words import searched_as
from sweep.past import PastTrial, Verdict
from sweep.spec import SweepSpec
from sweep.study import Study


class Judge:
    """Judges the trials of one sweep by their reports."""

    def __init__(self, spec: SweepSpec) -> None:
        self._study = Study([spec.pruned_on.goal])
        self._pruner = pruner_of(spec.early_terminate)

    def put(self, past: PastTrial) -> None:
        """The next trial, or one that is there, is now so; parameters and values are the sampler's business."""
        state = searched_as(past.state)
        value = 0.0 if state is OptunaState.COMPLETE else None  # no pruner looks at it
        reports = {step: value for step, value in past.reports.items() if math.isfinite(value)}
        notes = dict(past.attributes)
        self._study.put(
            past.number, create_trial(state=state, value=value, system_attrs=notes, intermediate_values=reports)
        )

    def judge(self, number: int, step: int, value: float) -> Verdict:
        """Whether the trial should give up at this report."""
        if not math.isfinite(value):
            return Verdict(prune=False, attributes={})
        before = self._study[number].system_attrs
        self._study.report(number, step, value)
        prune = bool(self._pruner.prune(self._study.optuna, copy.copy(self._study[number])))  # some answer numpy's
        after = self._study[number].system_attrs
        return Verdict(prune, dict(after) if after != before else {})

    def notes(self, number: int) -> dict[str, Any]:
        return dict(self._study[number].system_attrs)

    def reports(self, number: int) -> dict[int, float]:
        """All of a trial's; not to be changed."""
        return self._study[number].intermediate_values


def pruner_of(early: EarlyTerminate | Rule) -> BasePruner:
    """The pruner of a rule."""
    if early.type in ("asha", "hyperband"):
        return _halving(early)
    if early.type == "median":
        return MedianPruner(n_startup_trials=early.min_trials, n_warmup_steps=early.min_iter)
    if early.type == "percentile":
        assert early.percentile is not None
        return PercentilePruner(early.percentile, n_startup_trials=early.min_trials, n_warmup_steps=early.min_iter)
    if early.type == "threshold":
        return ThresholdPruner(lower=early.lower, upper=early.upper, n_warmup_steps=early.min_iter)
    if early.type == "patient":
        assert early.patience is not None
        wrapped = early.wrap if isinstance(early, EarlyTerminate) else None
        inner = None if wrapped is None else pruner_of(wrapped)
        patient = PatientPruner.__new__(PatientPruner)
        unwrapped = inspect.unwrap(PatientPruner.__init__)  # what is wrapped around it warns that it is experimental
        unwrapped(patient, inner, patience=early.patience, min_delta=early.min_delta)
        return patient
    return NopPruner()


def _halving(early: Rule) -> BasePruner:
    if early.max_iter is None:
        return SuccessiveHalvingPruner(min_resource=early.min_iter, reduction_factor=early.eta)
    if early.s is not None:
        first = max(1, early.max_iter // early.eta**early.s)
        return _Bracket(first, early.eta, early.s)
    return HyperbandPruner(min_resource=early.min_iter, max_resource=early.max_iter, reduction_factor=early.eta)


class _Bracket(SuccessiveHalvingPruner):
    """So many rungs and no more: what comes to its last step is not given up there, as in W&B."""

    def __init__(self, first: int, eta: int, rungs: int) -> None:
        super().__init__(min_resource=first, reduction_factor=eta)
        self._end = first * eta**rungs

    def prune(self, study: Any, trial: Any) -> bool:
        step = trial.last_step
        return step is not None and step < self._end and super().prune(study, trial)
