"""Converts stored trials to Optuna's frozen trials. Scheduler and search processes."""

from __future__ import annotations

import logging
import math
from collections.abc import Iterable, Mapping
from typing import Any

from optuna.distributions import BaseDistribution
from optuna.trial import FrozenTrial, create_trial
from optuna.trial import TrialState as OptunaState

from podium.sweep.search.optuna_distributions import distribution_of, from_searched, searched_distribution, to_searched
from podium.sweep.search.optuna_trial_states import CONSTRAINT, constraint_attributes, optuna_state
from podium.sweep.spec.search_method_registry import BRUTE_FORCE
from podium.sweep.spec.search_space import Parameter
from podium.sweep.spec.sweep_spec import SweepSpec
from podium.sweep.values.attempt_assignment import Params
from podium.sweep.values.search_messages import PastTrial
from podium.sweep.values.states import TrialState

log = logging.getLogger("podium.search")

MEMORY = f"{CONSTRAINT}podium:memory"  # not a valid name of a user's constraint
ORDER = "podium:order"  # on a trial of brute force: its define-by-run parameters, in order


class TrialConverter:
    """The trials of one sweep as Optuna sees them. `searched`: the distributions of its parameters, for samplers."""

    def __init__(self, spec: SweepSpec) -> None:
        self._spec = spec
        self.searched = {name: searched_distribution(parameter) for name, parameter in spec.parameters.items()}
        self._objectives = len(spec.objectives)
        # Samplers use the reports of pruned trials if these are values of the only objective.
        self.one_metric = self._objectives == 1 and spec.pruned_on == spec.metric

    def frozen(self, past: PastTrial) -> FrozenTrial:
        """Raises `ValueError` or `KeyError` for values outside the space of the sweep."""
        state, values = self._outcome(past)
        distributions = self._distributions_of(past)
        constraints = {MEMORY: 1.0} if past.infeasible else _constraints_of(past)
        return create_trial(
            state=state,
            values=values,
            params=self._params_of(past, distributions),
            distributions=distributions,
            intermediate_values=self._reports(past),
            system_attrs={**past.attributes, **constraints},
        )

    def _reports(self, past: PastTrial) -> dict[int, float]:
        """The last report, the only one that samplers use of a pruned trial; the pruner has all of them."""
        if not self.one_metric or not past.reports or past.state is TrialState.FINISHED:
            return {}
        last = max(past.reports)
        return {last: past.reports[last]}

    def _outcome(self, past: PastTrial) -> tuple[OptunaState, list[float] | None]:
        """The state and values for the sampler."""
        if past.infeasible or past.state is TrialState.PRUNED:
            last = past.reports[max(past.reports)] if past.reports and self.one_metric else None
            return OptunaState.PRUNED, None if last is None else [last]
        if past.state is not TrialState.FINISHED:
            return optuna_state(past.state), None
        values = past.objectives
        if values is None or len(values) != self._objectives or not all(map(math.isfinite, values)):
            log.warning("the search ignores trial %d: its values are %s", past.number, values)
            return OptunaState.FAIL, None
        return OptunaState.COMPLETE, list(values)

    def _names(self, past: PastTrial) -> list[str]:
        """Its parameters in the order in which they were suggested, which is a path in the tree of brute force."""
        if self._spec.searched_by != BRUTE_FORCE:
            return list(past.params)
        suggested = [*(name for name, _ in self._spec.ordered()), *past.attributes.get(ORDER, ()), *past.params]
        return [name for name in dict.fromkeys(suggested) if name in past.params]

    def params_from(self, frozen: FrozenTrial) -> Params:
        """The values of a trial of the study, outside samplers."""
        named = self._spec.parameters
        return {n: from_searched(named[n], value) if n in named else value for n, value in frozen.params.items()}

    def _params_of(self, past: PastTrial, names: Iterable[str]) -> Params:
        named = self._spec.parameters
        return {n: to_searched(named[n], past.params[n]) if n in named else past.params[n] for n in names}

    def _distributions_of(self, past: PastTrial) -> dict[str, BaseDistribution]:
        found: dict[str, BaseDistribution] = {}
        for name in self._names(past):
            own = past.distributions.get(name)
            distribution = self.searched[name] if own is None else distribution_from_spec(own)
            if distribution is not None:
                found[name] = distribution
        return found


def distribution_from_spec(distribution: Mapping[str, Any]) -> BaseDistribution | None:
    """Optuna's distribution for one in the form of the sweep file."""
    return distribution_of(Parameter.model_validate(dict(distribution)))


def _constraints_of(past: PastTrial) -> dict[str, float]:
    return constraint_attributes(
        {name: value for name, value in sorted(past.constraints.items()) if math.isfinite(value)}
    )
