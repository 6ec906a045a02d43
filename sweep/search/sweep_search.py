"""The search of one sweep: ask, report, tell; rebuilt from the database at any time. Scheduler and search processes.

Optuna samples and prunes, in studies in memory; the database is the source of truth. The attributes that samplers and
pruners set on trials (the rungs of ASHA, the generations of NSGA-II) and on the study are stored with the trials in
`attributes`, with the number of trials that had ended when a trial was asked for, so that each ask can be replayed.
"""

from __future__ import annotations

import logging
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, cast

from optuna.distributions import BaseDistribution, check_distribution_compatibility
from optuna.samplers import BaseSampler
from optuna.trial import FrozenTrial, create_trial
from optuna.trial import TrialState as OptunaState

from podium.sweep.search.custom_sampler import ClassSampler
from podium.sweep.search.frozen_trials import MEMORY, ORDER, TrialConverter, distribution_from_spec
from podium.sweep.search.non_optuna_random_draws import draw
from podium.sweep.search.optuna_distributions import distribution_of, from_searched, to_searched
from podium.sweep.search.optuna_private import SharedSearchSpaces, all_enumerated, suggest
from podium.sweep.search.optuna_study import Study
from podium.sweep.search.optuna_trial_states import CONSTRAINT, FROM_OPTUNA
from podium.sweep.search.pruners import PruningStudy
from podium.sweep.search.samplers import (
    AskContext,
    builder_of,
    import_modules,
    independent_sampler,
    is_beyond_range,
    is_slow,
    is_slow_soon,
    marks_of_earlier,
    random_sampler,
    sampler_of,
)
from podium.sweep.search.trials_bounding_proposal_time import LIMITS, SearchLimits
from podium.sweep.spec.grid import Grid
from podium.sweep.spec.search_method_registry import BRUTE_FORCE, CUSTOM, Method
from podium.sweep.spec.suggested_parameter_checks import check_definable, enqueued_value
from podium.sweep.spec.sweep_spec import SweepSpec
from podium.sweep.values.attempt_assignment import Params, Scalar
from podium.sweep.values.errors import UserCodeError
from podium.sweep.values.search_messages import (
    CLONED,
    ENQUEUED,
    ENQUEUED_VALUES,
    GRID,
    RANDOM,
    TPE,
    FallbackReason,
    PastTrial,
    PruneVerdict,
    TrialPlan,
)
from podium.sweep.values.slot_events import SuggestRequested
from podium.sweep.values.states import TERMINAL_TRIAL_STATES, TrialState

log = logging.getLogger("podium.search")
Definitions = Mapping[str, dict[str, Any]]  # by name, in the form of the sweep file
NO_DEFINITIONS: Definitions = MappingProxyType({})

TRIALS_TOLD = "podium:told"  # on a trial: the number of trials that had ended when it was asked for
STUDY_NOTES = "podium:study"  # the study attributes that its sampler set
TRIAL_NOTES = "podium:trials"  # the attributes that its sampler set on ended trials
_NOT_KEPT = ("fixed_params", ":relative_params:", CONSTRAINT)  # redundant with the values of the trial


@dataclass(frozen=True, slots=True)
class _Snapshot:
    """A trial at one moment."""

    number: int
    frozen: FrozenTrial
    sampler: str
    defined: Definitions
    pruner_attributes: dict[str, Any]  # attributes set by the pruner


class Search:
    """The search of one sweep. Not thread-safe.

    `study` is that of the sampler, `class_sampler` the sampler class of the sweep file once it is loaded, and
    `earlier_frozen` are the earlier trials as Optuna sees them.

    `past`: its trials so far. `earlier`: trials of other sweeps for a warm start. `prunes`: whether it prunes trials.
    """

    def __init__(
        self,
        spec: SweepSpec,
        past: Sequence[PastTrial] = (),
        earlier: Sequence[PastTrial] = (),
        *,
        prunes: bool = True,
        limits: SearchLimits = LIMITS,
    ) -> None:
        self.spec = spec
        self._limits = limits
        self.method = spec.searched_by
        if self.method != CUSTOM:
            builder_of(self.method)  # an unregistered method fails here, rather than with a fallback in each ask
        self.label = spec.method_name if self.method == CUSTOM else str(self.method)  # the `sampler` of its trials
        self.earlier = tuple(earlier)
        self._converter = TrialConverter(spec)
        self._parameters = tuple(spec.ordered())
        self.earlier_frozen = [frozen for trial in earlier if (frozen := self._as_own(trial)) is not None]
        self.study = Study([metric.goal for metric in spec.objectives], self.earlier_frozen, limits)
        self._pruning = PruningStudy(spec) if prunes and spec.early_terminate.prunes else None
        self._spaces = SharedSearchSpaces()
        self._grid = Grid(spec.parameters) if self.method == GRID else None
        self.class_sampler: ClassSampler | None = None
        self._samplers: dict[int, str] = {}
        self._chosen: Counter[str] = Counter()  # the number of trials that each sampler chose
        self._over: set[int] = set()
        self._finished: set[int] = set()
        self._constraints: set[str] = set()
        self._defined: dict[int, Definitions] = {}  # by trial, parameters that are not in the sweep file
        self._defined_first: dict[str, BaseDistribution] = {}  # by name, as the first trial defined it
        for trial in sorted(past, key=lambda trial: trial.number):
            self.put(trial)
        self._equalize_constraints(own=_constraints_on(self.earlier_frozen))

    def __len__(self) -> int:
        """The number of trials, which is also the number of the next one."""
        return len(self.study)

    @property
    def is_slow(self) -> bool:
        """Whether the next proposal should be computed in a search process; see `podium.sweep.search.search_client`."""
        trials = len(self.earlier_frozen) + len(self)
        return is_slow(self._proposing_method, trials, self._finished_count, len(self.spec.objectives))

    @property
    def is_slow_soon(self) -> bool:
        """Whether to start the search process now."""
        trials = len(self.earlier_frozen) + len(self)
        return is_slow_soon(self._proposing_method, trials, len(self.spec.objectives))

    def load(self) -> None:
        """Import and construct what the sampler needs, before the first ask. Raises `UnusableClassError`."""
        import_modules(self.method)
        if self.method == CUSTOM:
            self.class_sampler = ClassSampler(self.spec)

    # Asking.

    def ask(self, wanted: Params | None = None, defined: Definitions = NO_DEFINITIONS) -> TrialPlan | None:
        """The next trial, or None if the search is exhausted. `wanted`: the values that it must have.

        `defined`: the distributions of those that are not in the sweep file.
        """
        named = None if wanted is None else {name: value for name, value in wanted.items() if name not in defined}
        fixed, sampler = self._fixed(named)
        if fixed is None:
            return None
        number = len(self)
        if sampler == self.label and self._grid is None:
            return self.propose(number)
        planned = self._plan(
            fixed, sampler, random_sampler(self.spec, number) if self.is_slow else self._sampler(number)
        )
        if wanted is None or not defined:
            return planned
        own = {name: wanted[name] for name in defined}
        self._define(planned.number, own, defined)
        return replace(planned, params={**planned.params, **own}, distributions=dict(defined))

    def ask_at_random(self, reason: FallbackReason, error: str | None = None) -> TrialPlan:
        """The next trial, sampled at random instead of by the method; `error`: of the sampler."""
        planned = self._plan({}, RANDOM, random_sampler(self.spec, len(self)))
        return replace(planned, fallback_reason=reason, fallback_error=error)

    def propose(self, number: int) -> TrialPlan | None:
        """The sampler's proposal for the next trial, which has this number; None if the search is exhausted."""
        assert number == len(self), f"asked for trial {number}, but the next trial is {len(self)}"
        if self.method == CUSTOM:
            return self._propose_by_class(number)
        if self.method == BRUTE_FORCE and all_enumerated(self.study.trials()):
            return None
        if self._proposing_method == self.method:
            return self._plan({}, self.label, self._sampler(number))
        return replace(self._plan({}, TPE, self._sampler(number)), fallback_reason=FallbackReason.MANY_TRIALS)

    def _propose_by_class(self, number: int) -> TrialPlan | None:
        """Pass ended trials to the sampler first; the attributes that it sets on them are stored with the new one."""
        if self.class_sampler is None:
            self.load()
        assert self.class_sampler is not None
        before = dict(self.study.study_attributes())
        noted = self.class_sampler.catch_up(self.study)
        if self.class_sampler.stopped:
            return None
        planned = self._plan({}, self.label, self.class_sampler.seeded(number), before)
        if not noted:
            return planned
        self.study.set_trial_attributes(number, {TRIAL_NOTES: noted})
        return replace(planned, attributes=self._attributes(number))

    def is_fixed(self, wanted: Params | None) -> bool:
        """Whether `ask` returns predetermined values, without the sampler."""
        return self._fixed(wanted)[1] != self.label

    def accept(self, proposal: TrialPlan) -> TrialPlan:
        """The next trial, with values that a search process proposed, possibly for an earlier trial."""
        number, sampler = len(self), proposal.sampler
        self.put(
            PastTrial(number, TrialState.RUNNING, proposal.params, attributes=proposal.attributes, sampler=sampler)
        )
        requested_for = None if proposal.number == number else proposal.number
        return TrialPlan(
            number, proposal.params, sampler, self._attributes(number), fallback_reason=proposal.fallback_reason,
            proposed_for=requested_for,
        )  # fmt: skip

    def _plan(
        self, fixed: Params, sampler: str, optunas: BaseSampler, before: Mapping[str, Any] | None = None
    ) -> TrialPlan:
        """`before`: the study attributes, if the sampler may have changed them already."""
        number, notes = len(self), dict(self.study.study_attributes()) if before is None else before
        trial = self.study.ask(optunas, self._enqueueable(fixed))
        params: Params = {}
        for name, parameter in self._parameters:
            if parameter.active(params):
                distribution = self._converter.searched[name]
                if distribution is not None:
                    params[name] = from_searched(parameter, _python_number(suggest(trial, name, distribution)))
                else:
                    params[name] = (
                        fixed[name] if name in fixed else draw(parameter, f"{self.spec.seed}:{number}:{name}")
                    )
        self._attribute_to(sampler, number)
        own = {name: value for name, value in fixed.items() if name not in self.spec.parameters}
        self._note_ask(number, {ENQUEUED_VALUES: own} if own else {}, notes)
        if self._pruning is not None:
            self._pruning.put(PastTrial(number, TrialState.RUNNING, {}, attributes=self._sampler_attributes(number)))
        return TrialPlan(number, params, sampler, self._attributes(number))

    def _note_ask(self, number: int, attributes: dict[str, Any], before: Mapping[str, Any]) -> None:
        """Set these attributes of a trial, and those with which its ask can be replayed."""
        noted = {key: value for key, value in self.study.study_attributes().items() if before.get(key) is not value}
        attributes[TRIALS_TOLD] = len(self._over)
        if noted:
            attributes[STUDY_NOTES] = noted
        self.study.set_trial_attributes(number, attributes)

    def _fixed(self, wanted: Params | None) -> tuple[Params | None, str]:
        """The predetermined values ({} if the sampler chooses, None if exhausted), and the name of the sampler."""
        if wanted is not None:
            return wanted, CLONED
        enqueued = self._chosen[ENQUEUED]
        if enqueued < len(self.spec.enqueue):
            return dict(self.spec.enqueue[enqueued]), ENQUEUED
        if self._grid is None:
            return {}, self.label
        index = self._chosen[GRID]
        return (self._grid.shuffled(index, self.spec.seed) if index < self._grid.size else None), GRID

    def _enqueueable(self, fixed: Params) -> Params:
        named = self.spec.parameters
        return {
            name: to_searched(named[name], value)
            for name, value in fixed.items()
            if name in named and not named[name].is_custom_distribution
        }

    @property
    def _proposing_method(self) -> Method:
        """The method of the next proposal: TPE once there are more trials than the method of the sweep supports."""
        return TPE if is_beyond_range(self.method, self._finished_count, self._limits) else self.method

    def _sampler(self, number: int) -> BaseSampler:
        position = self._chosen[self.label]
        context = AskContext(
            self.spec, number, position, self._finished_count, self.earlier_frozen, self.study.build_tpe
        )
        return self._spaces.share(sampler_of(context, self._proposing_method))

    @property
    def _finished_count(self) -> int:
        return sum(trial.state is OptunaState.COMPLETE for trial in self.earlier_frozen) + len(self._finished)

    def _attribute_to(self, sampler: str, number: int) -> None:
        if number in self._samplers:
            self._chosen[self._samplers[number]] -= 1
        self._samplers[number] = sampler
        self._chosen[sampler] += 1

    # Define-by-run parameters.

    def suggest(self, number: int, request: SuggestRequested) -> Scalar:
        """The value of a parameter that is not in the sweep file, for a running trial.

        Raises `UserCodeError` for an invalid request; the message goes to the trial's code.
        """
        name = request.name
        known = self._converter.params_from(self.study[number])
        if name in known and not request.drawn:
            return known[name]
        distribution = self._definable(request, len(known))
        if request.drawn:
            value = request.value
        elif name in (enqueued := self.study[number].system_attrs.get(ENQUEUED_VALUES, {})):
            value = enqueued_value(request, enqueued[name])
        else:
            value = self._sampled_alone(number, name, distribution)
        self._define(number, {name: value}, {name: request.distribution})
        return value

    def changed_by_suggesting(self, number: int) -> dict[str, Any]:
        """The attributes to store with a trial that requested a value; empty if they did not change."""
        return self._attributes(number) if self.method == BRUTE_FORCE else {}

    def _definable(self, request: SuggestRequested, known: int) -> BaseDistribution:
        name = request.name
        try:
            distribution = distribution_of(check_definable(self.spec, request, known))
            assert distribution is not None
            check_distribution_compatibility(self._defined_first.get(name, distribution), distribution)
        except (ValueError, ArithmeticError) as error:
            raise UserCodeError(f"suggest {name}: invalid, or incompatible with an earlier trial: {error}") from None
        return distribution

    def _sampled_alone(self, number: int, name: str, distribution: BaseDistribution) -> Scalar:
        study, trial = self.study.optuna, self.study[number]
        if distribution.single():
            sampler: BaseSampler = random_sampler(self.spec, number)
        else:
            sampler = independent_sampler(
                self.spec, self.method, number=number, name=name, build_tpe=self.study.build_tpe
            )
        try:
            return cast(Scalar, sampler.sample_independent(study, trial, name, distribution))
        except Exception as error:  # noqa: BLE001 - one parameter that cannot be sampled must not end the sweep
            log.warning("trial %d: %s is sampled at random: %s: %s", number, name, type(error).__name__, error)
            sampler = independent_sampler(self.spec, RANDOM, number, name)
            return cast(Scalar, sampler.sample_independent(study, trial, name, distribution))

    def _define(self, number: int, params: Params, defined: Definitions) -> None:
        """Add parameters to a running trial."""
        past = self.past_trial(number)
        distributions, attributes = {**past.distributions, **defined}, past.attributes
        if self.method == BRUTE_FORCE:
            attributes = {**attributes, ORDER: [*attributes.get(ORDER, ()), *params]}
        more = replace(past, params={**past.params, **params}, distributions=distributions, attributes=attributes)
        self.study.put(number, self._converter.frozen(more))
        self._record_definitions(number, distributions)

    def _record_definitions(self, number: int, distributions: Definitions) -> None:
        self._defined[number] = dict(distributions)
        for name, distribution in distributions.items():
            if name not in self._defined_first and (optunas := distribution_from_spec(distribution)) is not None:
                self._defined_first[name] = optunas
                if self.study.forget_earlier(name, optunas):
                    self._spaces = SharedSearchSpaces()  # which contains the removed values

    # Reports.

    @property
    def prunes(self) -> bool:
        """Whether the sweep has a pruning rule, so that each report is decided on."""
        return self._pruning is not None

    def report(self, number: int, step: int, value: float) -> PruneVerdict:
        """Record a value of the pruning metric, and decide whether the trial is pruned."""
        if self._converter.one_metric and math.isfinite(value):
            self.study.report_last(number, step, value)
        if self._pruning is None:
            return PruneVerdict(prune=False, attributes={})
        verdict = self._pruning.decide(number, step, value)
        return PruneVerdict(verdict.prune, self._attributes(number) if verdict.attributes else {})

    # Ends.

    def tell(
        self,
        number: int,
        state: TrialState,
        values: Sequence[float] | None,
        *,
        infeasible: bool = False,
        constraints: Mapping[str, float] | None = None,
    ) -> None:
        """Record how a trial ended. A pruned trial keeps its last reported value, as Optuna's samplers expect.

        `infeasible`: it ran out of memory. Samplers that support constraints avoid such values, while they would ignore
        a failure. `constraints`: a value above 0 is a violation.
        """
        given = None if values is None else tuple(values)
        past = self._with_reports(number)
        self.put(
            PastTrial(
                number, state, past.params, None, past.reports, past.attributes, past.sampler, infeasible, given,
                dict(constraints or {}), past.distributions,
            )
        )  # fmt: skip

    def reports(self, number: int) -> Mapping[int, float]:
        """The reports of a trial: all of them if the search prunes, otherwise the last one."""
        return self._with_reports(number).reports

    def retry(self, number: int) -> None:
        """An ended trial runs again."""
        past = self._with_reports(number)
        self.put(
            PastTrial(
                number, TrialState.RUNNING, past.params, None, past.reports, past.attributes, past.sampler,
                distributions=past.distributions,
            )
        )  # fmt: skip

    # Trials.

    def put(self, past: PastTrial) -> None:
        """Add the next trial, or replace an existing one."""
        try:
            frozen = self._converter.frozen(past)
        except (KeyError, ValueError) as error:  # a value outside its space, accepted by an earlier version
            log.warning("the search ignores trial %d: %s", past.number, error)
            state = OptunaState.FAIL if past.state in TERMINAL_TRIAL_STATES else OptunaState.RUNNING
            frozen = create_trial(state=state, system_attrs=dict(past.attributes))
        if self.class_sampler is not None and self._ends(past.number, frozen):
            self.class_sampler.ended.append(past.number)
        self.study.put(past.number, frozen)
        for other, notes in past.attributes.get(TRIAL_NOTES, {}).items():
            self.study.set_trial_attributes(int(other), notes)
        if past.distributions:
            self._record_definitions(past.number, past.distributions)
        self._attribute_to(past.sampler, past.number)
        self._classify(past.number, frozen)
        self.study.set_study_attributes(past.attributes.get(STUDY_NOTES, {}))
        if self._pruning is not None:
            self._pruning.put(past)

    def past_trial(self, number: int) -> PastTrial:
        """The trial with everything that another search needs for the same suggestions: only its last report."""
        return self._as_past(self._snapshot(number))

    def past_trials(self) -> Iterator[PastTrial]:
        """All trials as they are now; may be consumed in another thread while this search continues."""
        return map(self._as_past, [self._snapshot(number) for number in range(len(self))])

    def _with_reports(self, number: int) -> PastTrial:
        past = self.past_trial(number)
        return past if self._pruning is None else replace(past, reports=self._pruning.reports(number))

    def _snapshot(self, number: int) -> _Snapshot:
        """An immutable snapshot: its content is never changed in place."""
        return _Snapshot(
            number,
            self.study[number],
            self._samplers[number],
            self._defined.get(number, NO_DEFINITIONS),
            {} if self._pruning is None else self._pruning.attributes(number),
        )

    def _as_past(self, snapshot: _Snapshot) -> PastTrial:
        frozen = snapshot.frozen
        notes = frozen.system_attrs
        infeasible = MEMORY in notes
        values = frozen.values if frozen.state is OptunaState.COMPLETE else None
        return PastTrial(
            number=snapshot.number,
            state=TrialState.FAILED if infeasible else FROM_OPTUNA[frozen.state],
            params=self._converter.params_from(frozen),
            reports=dict(frozen.intermediate_values),
            attributes=_noted(frozen) | snapshot.pruner_attributes,
            sampler=snapshot.sampler,
            infeasible=infeasible,
            values=None if values is None else tuple(values),
            constraints={
                key.removeprefix(CONSTRAINT): value
                for key, value in notes.items()
                if key.startswith(CONSTRAINT) and key != MEMORY
            },
            distributions=dict(snapshot.defined),
        )

    def _ends(self, number: int, frozen: FrozenTrial) -> bool:
        """Whether a running trial ends."""
        return number < len(self) and frozen.state.is_finished() and not self.study[number].state.is_finished()

    def _classify(self, number: int, frozen: FrozenTrial) -> None:
        if number in self._over:  # recompute the intersection: it considers each trial once
            self._spaces = SharedSearchSpaces()
        self._over.discard(number)
        self._finished.discard(number)
        if frozen.state.is_finished():
            self._over.add(number)
        if frozen.state is OptunaState.COMPLETE:
            self._finished.add(number)
            self._equalize_constraints(number, own=_constraints_on([frozen]))

    def _equalize_constraints(self, *numbers: int, own: set[str]) -> None:
        """Give all finished trials the same constraints, which GP requires: a missing one is not violated."""
        new, self._constraints = own - self._constraints, self._constraints | own
        if new:
            self.study.equalize_earlier(self._constraints)
        for other in self._finished if new else numbers:
            if missing := sorted(self._constraints - self.study[other].system_attrs.keys()):
                self.study.set_trial_attributes(other, dict.fromkeys(missing, 0.0))

    def _as_own(self, trial: PastTrial) -> FrozenTrial | None:
        """A trial of another sweep as one of this sweep; None if objectives or values do not fit."""
        params: Params = {}
        for name, parameter in self.spec.ordered():
            if parameter.active(params):
                if name not in trial.params or parameter.invalid_reason(trial.params[name]) is not None:
                    return None
                params[name] = trial.params[name]
        own = {name: trial.distributions[name] for name in trial.distributions if name not in self.spec.parameters}
        params |= {name: trial.params[name] for name in own}
        marks = marks_of_earlier(self.method) if trial.state is TrialState.FINISHED else {}
        frozen = self._converter.frozen(replace(trial, params=params, attributes=marks, distributions=own))
        return frozen if frozen.state in (OptunaState.COMPLETE, OptunaState.PRUNED) else None

    def _attributes(self, number: int) -> dict[str, Any]:
        """The attributes to store with the trial."""
        return self._sampler_attributes(number) | ({} if self._pruning is None else self._pruning.attributes(number))

    def _sampler_attributes(self, number: int) -> dict[str, Any]:
        return _noted(self.study[number])


def _noted(frozen: FrozenTrial) -> dict[str, Any]:
    """The attributes that the sampler and this module set."""
    return {key: note for key, note in frozen.system_attrs.items() if not any(part in key for part in _NOT_KEPT)}


def _constraints_on(trials: Sequence[FrozenTrial]) -> set[str]:
    return {
        key
        for trial in trials
        if trial.state is OptunaState.COMPLETE
        for key in trial.system_attrs
        if key.startswith(CONSTRAINT)
    }


def _python_number(value: Any) -> Scalar:
    """A Python number for a numpy one, which samplers may return."""
    return cast(Scalar, value.item() if hasattr(value, "item") else value)
