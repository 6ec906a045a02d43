"""All uses of Optuna's private API, in one adapter. Scheduler and search processes, import and export of studies.

`tests/contract/test_optuna_private.py` checks each of them against the installed version of Optuna. Nothing else in the
package names a private attribute, method or module of Optuna.
"""

from __future__ import annotations

import copy
import functools
import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import optuna
from optuna._transform import _SearchSpaceTransform, _untransform_numerical_param
from optuna.distributions import BaseDistribution, CategoricalDistribution, check_distribution_compatibility
from optuna.samplers import (
    BaseSampler,
    BruteForceSampler,
    CmaEsSampler,
    NSGAIIISampler,
    NSGAIISampler,
    QMCSampler,
    RandomSampler,
)
from optuna.samplers._brute_force import _TreeNode
from optuna.search_space import IntersectionSearchSpace
from optuna.storages import BaseStorage, InMemoryStorage
from optuna.trial import FrozenTrial, Trial, TrialState

from podium.sweep.search.seeded_generators import seeded_generator

if TYPE_CHECKING:
    from sqlalchemy import Table

WARM_START_AT = 10  # earlier trials; CMA-ES starts from the distribution of the best tenth of them

# Studies, trials, storage.


def study_id(study: optuna.Study) -> int:
    """The id of a study in its storage."""
    return study._study_id


def suggest(trial: Trial, name: str, distribution: BaseDistribution) -> Any:
    """A value of any distribution; the public methods take bounds and choices instead."""
    return trial._suggest(name, distribution)


def contains(distribution: BaseDistribution, value: Any) -> bool:
    """Whether a distribution contains this value."""
    return distribution._contains(distribution.to_internal_repr(value))


def is_compatible(value: Any, source: BaseDistribution, target: BaseDistribution) -> bool:
    """Whether samplers may use a value of `source` when they sample from `target`."""
    try:
        check_distribution_compatibility(source, target)
    except ValueError:
        return False
    return contains(target, value)


class MutableStorage(InMemoryStorage):
    """An in-memory storage whose trials can be replaced; Optuna does not change a finished trial."""

    def __init__(self) -> None:
        super().__init__()
        self._changed: set[int] = set()

    def take_changed(self) -> set[int]:
        """The ids of the trials that were created or changed since the last call. One reader."""
        with self._lock:
            changed, self._changed = self._changed, set()
        return changed

    def create_new_trial(self, study_id: int, template_trial: FrozenTrial | None = None) -> int:
        trial_id = super().create_new_trial(study_id, template_trial)
        self._changed.add(trial_id)
        return trial_id

    def _set_trial(self, trial_id: int, trial: FrozenTrial) -> None:
        super()._set_trial(trial_id, trial)
        self._changed.add(trial_id)

    def replace(self, trial_id: int, frozen: FrozenTrial) -> None:
        with self._lock:
            frozen = copy.copy(frozen)
            frozen.number, frozen._trial_id = self._get_trial(trial_id).number, trial_id
            self._set_trial(trial_id, frozen)

    def get_best_trial(self, study_id: int) -> FrozenTrial:
        """Computed on each call: the cached best trial may have been replaced."""
        return BaseStorage.get_best_trial(self, study_id)


def allow_stop(study: optuna.Study) -> None:
    """Let a sampler call `study.stop()`, which raises outside `study.optimize`."""
    study._thread_local.in_optimize_loop = True


def is_stopped(study: optuna.Study) -> bool:
    """Whether `study.stop()` was called."""
    return study._stop_flag


@dataclass(frozen=True, slots=True)
class TrialTables:
    """The tables of `RDBStorage` in which a trial has rows."""

    trials: Table
    params: Table
    values: Table
    intermediate_values: Table
    user_attributes: Table
    system_attributes: Table


def trial_tables() -> TrialTables:
    """The tables of Optuna's relational storage. Imported on demand: only the export of studies needs them."""
    from optuna.storages._rdb import models

    return TrialTables(
        trials=_table(models.TrialModel),
        params=_table(models.TrialParamModel),
        values=_table(models.TrialValueModel),
        intermediate_values=_table(models.TrialIntermediateValueModel),
        user_attributes=_table(models.TrialUserAttributeModel),
        system_attributes=_table(models.TrialSystemAttributeModel),
    )


def _table(model: Any) -> Table:
    table: Table = model.__table__
    return table


def stored_value(value: float) -> dict[str, Any]:
    """The columns of `TrialTables.values` for a value; infinities have a type instead of a number."""
    from optuna.storages._rdb import models

    stored, kind = models.TrialValueModel.value_to_stored_repr(value)
    return {"value": stored, "value_type": kind}


def stored_intermediate_value(value: float) -> dict[str, Any]:
    """The columns of `TrialTables.intermediate_values` for a value; NaN and infinities have a type instead."""
    from optuna.storages._rdb import models

    stored, kind = models.TrialIntermediateValueModel.intermediate_value_to_stored_repr(value)
    return {"intermediate_value": stored, "intermediate_value_type": kind}


def init_experimental(instance: Any, base: type, *args: Any, **kwargs: Any) -> None:
    """Call the initializer of an experimental class without its `ExperimentalWarning`."""
    inspect.unwrap(base.__init__)(instance, *args, **kwargs)  # type: ignore[misc]


# Samplers.


class SharedSearchSpaces:
    """The intersections of the search spaces of a study's trials, which the study's samplers share.

    Each is updated as trials finish: a sampler that recomputes its own doubles the time of TPE.
    """

    def __init__(self) -> None:
        self._spaces: dict[bool, IntersectionSearchSpace] = {}  # by whether they include pruned trials

    def share(self, sampler: BaseSampler) -> BaseSampler:
        """Give a new sampler the intersection that its predecessors computed; the result is the same."""
        for name in ("_search_space", "_intersection_search_space"):
            own = getattr(sampler, name, None)
            if isinstance(own, IntersectionSearchSpace):
                setattr(sampler, name, self._spaces.setdefault(own._include_pruned, own))
        return sampler


class SeededRandomSampler(RandomSampler):
    """Optuna's random sampler, which gives the same values in a fifth of the time."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        self._rng._rng = seeded_generator(seed)

    def sample_independent(
        self, study: optuna.Study, trial: FrozenTrial, param_name: str, param_distribution: BaseDistribution
    ) -> Any:
        """A value of one parameter. Optuna transforms the space, a matrix of one row, for each value."""
        if isinstance(param_distribution, CategoricalDistribution):
            return super().sample_independent(study, trial, param_name, param_distribution)
        low, high = _transformed_bounds(param_distribution)
        return _untransform_numerical_param(self._rng.rng.uniform(low, high), param_distribution, transform_log=True)


@functools.lru_cache(maxsize=1000)
def _transformed_bounds(distribution: BaseDistribution) -> tuple[float, float]:
    """The bounds between which Optuna samples a number uniformly, before it is transformed back."""
    low, high = _SearchSpaceTransform({"": distribution}).bounds[0].tolist()
    return low, high


def nsga2_generation(generation: int) -> dict[str, Any]:
    """The system attributes of a trial of an NSGA-II generation."""
    return {NSGAIISampler._get_generation_key(): generation}


def nsga3_generation(generation: int) -> dict[str, Any]:
    """The system attributes of a trial of an NSGA-III generation."""
    return {Nsga3._get_generation_key(): generation}


class Nsga3(NSGAIIISampler):
    """NSGA-III (Deb and Jain 2014)."""

    def __init__(self, seed: int, population_size: int) -> None:
        init_experimental(self, NSGAIIISampler, seed=seed, population_size=population_size)


class BruteForce(BruteForceSampler):
    """Every configuration, including parameters that only trials suggest."""

    def __init__(self, seed: int) -> None:
        init_experimental(self, BruteForceSampler, seed=seed)

    @staticmethod
    def _populate_tree(tree: _TreeNode, trials: list[FrozenTrial], params: dict[str, Any]) -> None:
        """Skip trials that failed before they suggested a value, or suggested other parameters than the rest."""
        for trial in trials:
            if trial.state is TrialState.FAIL and not trial.params:
                continue
            try:
                BruteForceSampler._populate_tree(tree, [trial], params)
            except ValueError:
                continue


def all_enumerated(trials: list[FrozenTrial]) -> bool:
    """Whether brute force has no known configuration left; running trials may still suggest more parameters."""
    tree = _TreeNode()
    BruteForce._populate_tree(tree, trials, {})
    return not tree.is_any_expandable(exclude_running=True)


class SobolSequence(QMCSampler):
    """A scrambled Sobol sequence over all parameters; an inactive parameter leaves its coordinate unused.

    Optuna infers the space from the first trial and counts the points in the study. Here both are known.
    """

    def __init__(self, space: Mapping[str, BaseDistribution], position: int, scramble_seed: int, seed: int) -> None:
        independent = SeededRandomSampler(seed)
        init_experimental(
            self,
            QMCSampler,
            scramble=True,
            seed=scramble_seed,
            independent_sampler=independent,
            warn_independent_sampling=False,
        )
        self._space = dict(space)
        self._position = position

    def infer_relative_search_space(self, study: optuna.Study, trial: FrozenTrial) -> dict[str, BaseDistribution]:
        return self._space

    def _find_sample_id(self, study: optuna.Study, search_space: dict[str, Any]) -> int:
        return self._position


class WarmCmaEs(CmaEsSampler):
    """CMA-ES. With earlier trials: WS-CMA-ES (Nomura et al. 2021), or a start at the best of fewer than ten.

    Optuna uses only earlier trials with exactly the parameters of the evolution, and raises if there are none: choices
    and conditional parameters are not part of the evolution. `earlier`: finished trials, best first.
    """

    def __init__(self, seed: int, earlier: Sequence[FrozenTrial]) -> None:
        super().__init__(seed=seed, warn_independent_sampling=False)
        self._earlier = earlier

    def _init_optimizer(self, trans: Any, direction: Any) -> Any:
        fitting = [cut for trial in self._earlier if (cut := _restricted(trial, trans._search_space)) is not None]
        if fitting:  # set here: as an argument of the initializer it causes an ExperimentalWarning
            self._source_trials = fitting if len(fitting) >= WARM_START_AT else fitting[:1] * WARM_START_AT
        return super()._init_optimizer(trans, direction)


def _restricted(trial: FrozenTrial, space: Mapping[str, BaseDistribution]) -> FrozenTrial | None:
    """The trial with only the parameters of `space`; None if it lacks one or has a value outside."""
    for name, target in space.items():
        if name not in trial.params or not is_compatible(trial.params[name], trial.distributions[name], target):
            return None
    cut = copy.copy(trial)
    cut.params, cut.distributions = {name: trial.params[name] for name in space}, dict(space)
    return cut


def lazy_generator(value: object) -> Any:
    """The random generator inside Optuna's `LazyRandomState`; None for any other object."""
    return getattr(value, "rng", None) if type(value).__name__ == "LazyRandomState" else None
