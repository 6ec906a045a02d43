"""The Optuna study of one sweep, in memory, with the trial numbers of the sweep. Scheduler and search processes.

The database is the source of truth; a study is built from it and lives as long as its search. Trials of earlier sweeps
precede those of the sweep, so that Optuna's numbers may be higher.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import optuna
from optuna.distributions import BaseDistribution
from optuna.samplers import BaseSampler
from optuna.trial import FrozenTrial, Trial
from optuna.trial import TrialState as OptunaState

from podium.sweep.search.optuna_private import MutableStorage, is_compatible, study_id
from podium.sweep.search.trials_bounding_proposal_time import LIMITS, SearchLimits
from podium.sweep.spec.builtin_catalog import Goal
from podium.sweep.values.attempt_assignment import Params

if TYPE_CHECKING:
    from podium.sweep.search.tpe.trial_ranking_and_densities import TrialHistory

optuna.logging.set_verbosity(optuna.logging.WARNING)


class Study:
    """Trials by number; `optuna` is the study for samplers and pruners."""

    def __init__(
        self, directions: Sequence[Goal], earlier: Sequence[FrozenTrial] = (), limits: SearchLimits = LIMITS
    ) -> None:
        self._storage = MutableStorage()
        # The name is fixed: samplers and pruners may derive seeds from it.
        self.optuna = optuna.create_study(
            storage=self._storage, study_name="podium", directions=directions, pruner=optuna.pruners.NopPruner()
        )
        self._limits = limits
        self._history: TrialHistory | None = None  # for TPE
        self._earlier = len(earlier)
        self._count = 0
        for frozen in earlier:
            self._storage.create_new_trial(study_id(self.optuna), frozen)

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, number: int) -> FrozenTrial:
        return self._storage.get_trial(self._id(number))

    def trials(self) -> list[FrozenTrial]:
        """The trials of the sweep itself, by number."""
        return self._storage.get_all_trials(study_id(self.optuna), deepcopy=False)[self._earlier :]

    def build_tpe(self, seed: int) -> BaseSampler:
        """TPE for one trial. With several objectives it is Optuna's own, whose asks take longer with each trial."""
        if len(self.optuna.directions) > 1:
            return optuna.samplers.TPESampler(seed=seed)
        # Imported by the first sweep that needs it: SciPy takes 0.1 s, which would delay the start of the service.
        from podium.sweep.search.tpe import tpe_sampler

        if self._history is None:
            window = self._limits.tpe_window
            self._history = tpe_sampler.TrialHistory(self._storage, self.optuna.direction, window)
        return tpe_sampler.TpeSampler(seed, self._history)

    def ask(self, sampler: BaseSampler, fixed: Params) -> Trial:
        """The next trial, running; `fixed`: its predetermined values."""
        self.optuna.sampler = sampler
        if fixed:
            self.optuna.enqueue_trial(fixed)
        self._count += 1
        return self.optuna.ask()

    def put(self, number: int, frozen: FrozenTrial) -> None:
        """Add the next trial, or replace an existing one."""
        if number < self._count:
            self._storage.replace(self._id(number), frozen)
        else:
            assert number == self._count, f"expected trial number {self._count}, got {number}"
            self._storage.create_new_trial(study_id(self.optuna), frozen)
            self._count += 1

    def set_trial_attributes(self, number: int, attributes: Mapping[str, Any]) -> None:
        """Set system attributes of a trial, ended or not."""
        frozen = copy.copy(self[number])
        frozen.system_attrs = {**frozen.system_attrs, **attributes}
        self._storage.replace(self._id(number), frozen)

    def equalize_earlier(self, constraints: Iterable[str]) -> None:
        """Give every finished earlier trial these constraints; a missing one is not violated."""
        for trial_id in range(self._earlier):
            frozen = copy.copy(self._storage.get_trial(trial_id))
            if frozen.state is OptunaState.COMPLETE:
                frozen.system_attrs = {**dict.fromkeys(constraints, 0.0), **frozen.system_attrs}
                self._storage.replace(trial_id, frozen)

    def forget_earlier(self, name: str, wanted: BaseDistribution) -> bool:
        """Remove a parameter from earlier trials in which it is incompatible with `wanted`; returns whether there was
        one.
        """
        found = False
        for trial_id in range(self._earlier):
            frozen = copy.copy(self._storage.get_trial(trial_id))
            if name in frozen.params and not is_compatible(frozen.params[name], frozen.distributions[name], wanted):
                frozen.params = {key: value for key, value in frozen.params.items() if key != name}
                frozen.distributions = {key: own for key, own in frozen.distributions.items() if key != name}
                self._storage.replace(trial_id, frozen)
                found = True
        return found

    def report(self, number: int, step: int, value: float) -> None:
        """Record a report; the first value at a step is kept."""
        if step not in self[number].intermediate_values:
            self._storage.set_trial_intermediate_value(self._id(number), step, value)

    def report_last(self, number: int, step: int, value: float) -> None:
        """Keep only the report with the highest step."""
        frozen = self[number]
        if step > max(frozen.intermediate_values, default=-1):
            frozen = copy.copy(frozen)
            frozen.intermediate_values = {step: value}
            self._storage.replace(self._id(number), frozen)

    def end(self, number: int, state: OptunaState, values: Sequence[float] | None = None) -> None:
        self._storage.set_trial_state_values(self._id(number), state, values)

    def study_attributes(self) -> dict[str, Any]:
        """The attributes that samplers set on the study."""
        return self._storage.get_study_system_attrs(study_id(self.optuna))

    def set_study_attributes(self, notes: dict[str, Any]) -> None:
        for key, value in notes.items():
            self._storage.set_study_system_attr(study_id(self.optuna), key, value)

    def _id(self, number: int) -> int:
        """In memory, Optuna's ids are positions."""
        if not 0 <= number < self._count:
            raise KeyError(f"unknown trial {number}")
        return self._earlier + number
