"""The TPE sampler, which proposes the values of a trial. Scheduler and search processes.

Tree-structured Parzen estimator: Bergstra et al. 2011, multivariate as in Falkner et al. 2018. The algorithm, its
parameters and its use of random numbers are those of `optuna.samplers.TPESampler` for one objective,
so that both propose the same values. Optuna rebuilds its densities for each proposal, which takes longer the more
trials there are; here they are updated.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from optuna import Study
from optuna.distributions import BaseDistribution
from optuna.samplers import BaseSampler
from optuna.trial import FrozenTrial

from podium.sweep.search.optuna_private import SeededRandomSampler
from podium.sweep.search.seeded_generators import seeded_generator
from podium.sweep.search.tpe.trial_ranking_and_densities import Space, TrialHistory

__all__ = ["TpeSampler", "TrialHistory"]

STARTUP_TRIALS = 10  # with fewer finished ones, values are random
CANDIDATES = 24


class TpeSampler(BaseSampler):
    """Proposes the values of one trial. `history` is that of the study that it is used with."""

    def __init__(self, seed: int, history: TrialHistory) -> None:
        self._seed = seed
        self._history = history
        self._random: SeededRandomSampler | None = None
        self._rng: np.random.RandomState | None = None

    def infer_relative_search_space(self, study: Study, trial: FrozenTrial) -> dict[str, BaseDistribution]:
        self._history.sync()
        return self._history.common_space()

    def sample_relative(
        self, study: Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> dict[str, Any]:
        if not search_space or self._history.finished < STARTUP_TRIALS:
            return {}
        return self._sample(search_space)

    def sample_independent(
        self, study: Study, trial: FrozenTrial, param_name: str, param_distribution: BaseDistribution
    ) -> Any:
        self._history.sync()
        if self._history.finished < STARTUP_TRIALS:
            if self._random is None:
                self._random = SeededRandomSampler(self._seed)
            return self._random.sample_independent(study, trial, param_name, param_distribution)
        return self._sample({param_name: param_distribution})[param_name]

    def _sample(self, space: Space) -> dict[str, Any]:
        if self._rng is None:
            self._rng = seeded_generator(self._seed)
        densities = self._history.densities(space)
        candidates = densities.best.sample(self._rng, CANDIDATES)
        scores = densities.best.log_density(candidates) - densities.others.log_density(candidates)
        chosen = candidates[np.argmax(scores)].tolist()
        return {
            name: distribution.to_external_repr(value)
            for (name, distribution), value in zip(space.items(), chosen, strict=True)
        }
