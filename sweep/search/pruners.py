"""Optuna's pruners for early termination, on a separate study. Scheduler process.

A pruner uses one metric, and Optuna does not prune in a study with several objectives. Reports therefore go to a second
study with that metric only. Samplers never access it, and pruners never access the study of the samplers.
"""

from __future__ import annotations

import copy
import logging
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
    WilcoxonPruner,
)
from optuna.trial import TrialState as OptunaState
from optuna.trial import create_trial

from podium.sweep.search.custom_class_loading import load_pruner
from podium.sweep.search.optuna_private import init_experimental
from podium.sweep.search.optuna_study import Study
from podium.sweep.search.optuna_trial_states import CONSTRAINT, constraint_attributes, optuna_state
from podium.sweep.spec.early_termination import EarlyTerminate, Rule
from podium.sweep.spec.sweep_spec import SweepSpec
from podium.sweep.values.errors import UnusableClassError
from podium.sweep.values.search_messages import PastTrial, PruneVerdict

log = logging.getLogger("podium.search")

MAX_FAILURES = 3  # of a pruner, consecutive; then its sweep fails


class PruningStudy:
    """Decides which trials of one sweep are pruned, by their reports."""

    def __init__(self, spec: SweepSpec) -> None:
        self._study = Study([spec.pruned_on.goal])
        self._pruner = pruner_of(spec.early_terminate)
        self._name = spec.early_terminate.pruner or spec.early_terminate.type
        self._failures = 0  # consecutive
        metrics = [metric.name for metric in spec.objectives]
        self._objective = metrics.index(spec.pruned_on.name) if spec.pruned_on.name in metrics else None
        self._worst = math.inf if spec.pruned_on.goal == "minimize" else -math.inf

    def put(self, past: PastTrial) -> None:
        """Add the next trial, or replace an existing one; without parameters, which pruners do not use."""
        state = optuna_state(past.state)
        reports = {step: value for step, value in past.reports.items() if math.isfinite(value)}
        value = self._value(past, reports) if state is OptunaState.COMPLETE else None
        finite = {name: value for name, value in past.constraints.items() if math.isfinite(value)}
        notes = {**past.attributes, **constraint_attributes(finite)}
        self._study.put(
            past.number, create_trial(state=state, value=value, system_attrs=notes, intermediate_values=reports)
        )

    def decide(self, number: int, step: int, value: float) -> PruneVerdict:
        """Whether the trial is pruned at this report."""
        if not math.isfinite(value):
            return PruneVerdict(prune=False, attributes={})
        before = self._study[number].system_attrs
        self._study.report(number, step, value)
        prune = self._prune(number)
        after = self._study[number].system_attrs
        return PruneVerdict(prune, self.attributes(number) if after != before else {})

    def _prune(self, number: int) -> bool:
        """The decision of the pruner. If a user's class raises, the trial continues, up to `MAX_FAILURES` times.

        Raises `UnusableClassError`.
        """
        try:
            prune = bool(
                self._pruner.prune(self._study.optuna, copy.copy(self._study[number]))
            )  # some pruners return a numpy bool
        except Exception as error:
            self._failures += 1
            message = f"{self._name} raised {type(error).__name__} for a report of trial {number}: {error}"
            if self._failures >= MAX_FAILURES:
                raise UnusableClassError(f"{message}; it raised for {MAX_FAILURES} consecutive reports") from error
            log.warning("%s; the trial continues", message)
            return False
        self._failures = 0
        return prune

    def _value(self, past: PastTrial, reports: dict[int, float]) -> float:
        """The final value of the metric for pruning: the objective, the last report, or the worst value."""
        if self._objective is not None and past.objectives is not None and len(past.objectives) > self._objective:
            value = past.objectives[self._objective]
        else:
            value = reports[max(reports)] if reports else self._worst
        return value if math.isfinite(value) else self._worst

    def attributes(self, number: int) -> dict[str, Any]:
        """The attributes that the pruner and the sampler set."""
        notes = self._study[number].system_attrs
        return {key: note for key, note in notes.items() if not key.startswith(CONSTRAINT)}

    def reports(self, number: int) -> dict[int, float]:
        """All reports of a trial; must not be changed."""
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
        init_experimental(patient, PatientPruner, inner, patience=early.patience, min_delta=early.min_delta)
        return patient
    if early.type == "wilcoxon":
        return _Wilcoxon(early.p_threshold, early.n_startup_steps)
    if early.type == "custom":
        assert early.pruner is not None
        return load_pruner(early.pruner, early.args)
    return NopPruner()


def _halving(early: Rule) -> BasePruner:
    if early.max_iter is None:
        return SuccessiveHalvingPruner(min_resource=early.min_iter, reduction_factor=early.eta)
    if early.s is not None:
        first = max(1, early.max_iter // early.eta**early.s)
        return _Bracket(first, early.eta, early.s)
    return HyperbandPruner(min_resource=early.min_iter, max_resource=early.max_iter, reduction_factor=early.eta)


class _Wilcoxon(WilcoxonPruner):
    """Compares with the best trial only if that has reports: Optuna warns at each report otherwise."""

    def __init__(self, p_threshold: float, n_startup_steps: int) -> None:
        init_experimental(self, WilcoxonPruner, p_threshold=p_threshold, n_startup_steps=n_startup_steps)

    def prune(self, study: Any, trial: Any) -> bool:
        try:
            best = study.best_trial
        except ValueError:  # none has finished, or all violate a constraint
            return False
        if not trial.intermediate_values.keys() & best.intermediate_values.keys():
            return False
        trial.intermediate_values = {
            step: value for step, value in trial.intermediate_values.items() if step in best.intermediate_values
        }
        return super().prune(study, trial)


class _Bracket(SuccessiveHalvingPruner):
    """A limited number of rungs: a trial is not pruned at its last step, as in W&B."""

    def __init__(self, first: int, eta: int, rungs: int) -> None:
        super().__init__(min_resource=first, reduction_factor=eta)
        self._end = first * eta**rungs

    def prune(self, study: Any, trial: Any) -> bool:
        step = trial.last_step
        return step is not None and step < self._end and super().prune(study, trial)
