"""The search of one sweep: ask, report, tell, and all of it rebuilt from what the database remembers; scheduler.

Optuna chooses and judges, in studies that live in memory; our tables are the truth. What samplers and pruners note on
their trials (the rungs of ASHA, the generations of NSGA-II), and samplers on the study, travels with the trials in
`attributes`; with it stands how many trials were over when a trial was asked for, so that each ask can be replayed.
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

from podium.sweep.search.class_sampler import ClassSampler
from podium.sweep.search.distributions import draw
from podium.sweep.search.frozen_trials import MEMORY, ORDER, Form, distribution_written
from podium.sweep.search.optuna_distributions import distribution_of, from_searched, searched_distribution, to_searched
from podium.sweep.search.optuna_private import all_enumerated, share_search_space, suggest
from podium.sweep.search.optuna_states import CONSTRAINT, FROM_OPTUNA
from podium.sweep.search.pruners import Judge
from podium.sweep.search.samplers import (
    AskContext,
    builder_of,
    import_modules,
    independent_sampler,
    intersection_space,
    is_slow,
    is_slow_soon,
    marks_of_earlier,
    random_sampler,
    sampler_of,
)
from podium.sweep.search.study import Study
from podium.sweep.spec.defined_parameters import definable, enqueued_value
from podium.sweep.spec.grid import Grid
from podium.sweep.spec.search_methods import BRUTE_FORCE, CUSTOM
from podium.sweep.spec.sweep_spec import SweepSpec
from podium.sweep.values.errors import UserCodeError
from podium.sweep.values.trial import TRIAL_OVER, Params, Scalar, TrialState, Wanted
from podium.sweep.values.trial_history import CLONED, ENQUEUED, ENQUEUED_VALUES, GRID, PastTrial, Planned, Verdict

log = logging.getLogger("podium.search")
Definitions = Mapping[str, dict[str, Any]]  # by name, as a sweep file writes a parameter
NO_DEFINITIONS: Definitions = MappingProxyType({})

TOLD = "podium:told"  # on a trial: how many were over when it was asked for
STUDY_NOTES = "podium:study"  # and what its sampler noted on the study meanwhile
TRIAL_NOTES = "podium:trials"  # and on trials that had ended
_NOT_KEPT = ("fixed_params", ":relative_params:", CONSTRAINT)  # what the trial's own values say as well


@dataclass(frozen=True, slots=True)
class _Memory:
    """What is known of a trial at one moment."""

    number: int
    frozen: FrozenTrial
    sampler: str
    defined: Definitions
    judged: dict[str, Any]  # notes of the pruner


class Search:
    """The search of one sweep. Not thread-safe: each sweep asks, reports and tells in one thread.

    `past`: its trials so far. `earlier`: trials of other sweeps that it is to learn from. `judges`: whether by reports.
    """

    def __init__(
        self,
        spec: SweepSpec,
        past: Sequence[PastTrial] = (),
        earlier: Sequence[PastTrial] = (),
        *,
        judges: bool = True,
    ) -> None:
        self.spec = spec
        self.method = spec.searched_by
        if self.method != CUSTOM:
            builder_of(self.method)  # an unregistered method fails here, and not as a fallback of each ask
        self.label = spec.method_name if self.method == CUSTOM else str(self.method)  # the `sampler` of its trials
        self.earlier = tuple(earlier)
        self._form = Form(spec)
        self._earlier = [frozen for trial in earlier if (frozen := self._taught(trial)) is not None]
        self._study = Study([metric.goal for metric in spec.objectives], self._earlier)
        self._judge = Judge(spec) if judges and spec.early_terminate.type != "none" else None
        self._space = intersection_space(self.method)
        self._grid = Grid(spec.parameters) if self.method == GRID else None
        self._class_sampler: ClassSampler | None = None
        self._samplers: dict[int, str] = {}
        self._chosen: Counter[str] = Counter()  # how many trials by each sampler
        self._over: set[int] = set()
        self._finished: set[int] = set()
        self._constraints: set[str] = set()
        self._defined: dict[int, Definitions] = {}  # by trial, what the sweep file does not name
        self._defined_first: dict[str, BaseDistribution] = {}  # by name, as the first trial had it
        for trial in sorted(past, key=lambda trial: trial.number):
            self.put(trial)
        self._level(own=_constraints_on(self._earlier))

    def __len__(self) -> int:
        """How many trials were asked for: the number of the next one."""
        return len(self._study)

    @property
    def slow(self) -> bool:
        """Whether the next proposal is better made in another process; see `podium.sweep.search.search_client`."""
        return is_slow(self.method, len(self._earlier) + len(self), self._known_finished)

    @property
    def soon_slow(self) -> bool:
        """Whether that process is to be there soon."""
        return is_slow_soon(self.method, len(self._earlier) + len(self))

    def load(self) -> None:
        """Import what the sampler needs, before anybody waits for it. Raises `UnusableClassError`."""
        import_modules(self.method)
        if self.method == CUSTOM:
            self._class_sampler = ClassSampler(self.spec)

    # Asking.

    def ask(self, wanted: Params | None = None, defined: Definitions = NO_DEFINITIONS) -> Planned | None:
        """The next trial, or None when nothing is left to try; `wanted`: the values that it must have.

        `defined`: the distributions of those among them that the sweep file does not name.
        """
        named = None if wanted is None else {name: value for name, value in wanted.items() if name not in defined}
        fixed, sampler = self._fixed(named)
        if fixed is None:
            return None
        number = len(self)
        if sampler == self.label and self._grid is None:
            return self.propose(number)
        planned = self._plan(fixed, sampler, random_sampler(self.spec, number) if self.slow else self._sampler(number))
        if wanted is None or not defined:
            return planned
        own = {name: wanted[name] for name in defined}
        self._define(planned.number, own, defined)
        return replace(planned, params={**planned.params, **own}, distributions=dict(defined))

    def ask_at_random(self, sampler: str) -> Planned:
        """The next trial, drawn at random; `sampler`: what to call that."""
        return self._plan({}, sampler, random_sampler(self.spec, len(self)))

    def propose(self, number: int) -> Planned | None:
        """What the sampler chooses for the next trial, whose number this is; None when it has nothing left to try."""
        assert number == len(self), f"asked for trial {number}, and knows {len(self)}"
        if self.method == CUSTOM:
            return self._propose_by_class(number)
        if self.method == BRUTE_FORCE and all_enumerated(self._study.trials()):
            return None
        return self._plan({}, self.label, self._sampler(number))

    def _propose_by_class(self, number: int) -> Planned | None:
        """First it is given the trials that ended since; what it notes on them goes with the next one."""
        if self._class_sampler is None:
            self.load()
        assert self._class_sampler is not None
        before = dict(self._study.notes())
        noted = self._class_sampler.catch_up(self._study)
        if self._class_sampler.stopped:
            return None
        planned = self._plan({}, self.label, self._class_sampler.seeded(number), before)
        if not noted:
            return planned
        self._study.note(number, TRIAL_NOTES, noted)
        return replace(planned, attributes=self._attributes(number))

    def is_fixed(self, wanted: Params | None) -> bool:
        """Whether `ask` would answer with values that stand already, without its sampler."""
        return self._fixed(wanted)[1] != self.label

    def accept(self, proposal: Planned) -> Planned:
        """The next trial, with values that a search beside this one chose; maybe for a trial before it."""
        number, late = len(self), proposal.number != len(self)
        sampler = f"{proposal.sampler}, asked for trial {proposal.number}" if late else proposal.sampler
        self.put(
            PastTrial(number, TrialState.RUNNING, proposal.params, attributes=proposal.attributes, sampler=sampler)
        )
        return Planned(number, proposal.params, sampler, self._attributes(number))

    def _plan(
        self, fixed: Params, sampler: str, optunas: BaseSampler, before: Mapping[str, Any] | None = None
    ) -> Planned:
        """`before`: the sampler's notes on the study, if it could change them already."""
        number, notes = len(self), dict(self._study.notes()) if before is None else before
        trial = self._study.ask(optunas, self._known_to_optuna(fixed))
        params: Params = {}
        for name, parameter in self.spec.ordered():
            if parameter.active(params):
                distribution = searched_distribution(parameter)
                if distribution is not None:
                    params[name] = from_searched(parameter, _plainly_typed(suggest(trial, name, distribution)))
                else:
                    params[name] = (
                        fixed[name] if name in fixed else draw(parameter, f"{self.spec.seed}:{number}:{name}")
                    )
        self._attribute_to(sampler, number)
        if own := {name: value for name, value in fixed.items() if name not in self.spec.parameters}:
            self._study.note(number, ENQUEUED_VALUES, own)
        self._note_ask(number, notes)
        if self._judge is not None:
            self._judge.put(PastTrial(number, TrialState.RUNNING, {}, attributes=self._noted(number)))
        return Planned(number, params, sampler, self._attributes(number))

    def _note_ask(self, number: int, before: Mapping[str, Any]) -> None:
        self._study.note(number, TOLD, len(self._over))
        noted = {key: value for key, value in self._study.notes().items() if before.get(key) is not value}
        if noted:
            self._study.note(number, STUDY_NOTES, noted)

    def _fixed(self, wanted: Params | None) -> tuple[Params | None, str]:
        """The values that stand already, {} where the sampler is free, None for the end; and who chose them."""
        if wanted is not None:
            return wanted, CLONED
        enqueued = self._chosen[ENQUEUED]
        if enqueued < len(self.spec.enqueue):
            return dict(self.spec.enqueue[enqueued]), ENQUEUED
        if self._grid is None:
            return {}, self.label
        index = self._chosen[GRID]
        return (self._grid.shuffled(index, self.spec.seed) if index < self._grid.size else None), GRID

    def _known_to_optuna(self, fixed: Params) -> Params:
        named = self.spec.parameters
        return {
            name: to_searched(named[name], value)
            for name, value in fixed.items()
            if name in named and not named[name].drawn
        }

    def _sampler(self, number: int) -> BaseSampler:
        position = self._chosen[self.label]
        context = AskContext(self.spec, number, position, self._known_finished, self._earlier)
        return share_search_space(self._space, sampler_of(context, self.method))

    @property
    def _known_finished(self) -> int:
        return sum(trial.state is OptunaState.COMPLETE for trial in self._earlier) + len(self._finished)

    def _attribute_to(self, sampler: str, number: int) -> None:
        if number in self._samplers:
            self._chosen[_short(self._samplers[number])] -= 1
        self._samplers[number] = sampler
        self._chosen[_short(sampler)] += 1

    # Defining.

    def suggest(self, number: int, wanted: Wanted) -> Scalar:
        """The value of a parameter that the sweep file does not name, for a trial that runs.

        Raises `UserCodeError` for one that cannot be; the message is for the trial's own code.
        """
        name = wanted.name
        known = self._form.params_from(self._study[number])
        if name in known and not wanted.drawn:
            return known[name]
        distribution = self._definable(wanted, len(known))
        if wanted.drawn:
            value = wanted.value
        elif name in (enqueued := self._study[number].system_attrs.get(ENQUEUED_VALUES, {})):
            value = enqueued_value(wanted, enqueued[name])
        else:
            value = self._chosen_alone(number, name, distribution)
        self._define(number, {name: value}, {name: wanted.distribution})
        return value

    def changed_by_suggesting(self, number: int) -> dict[str, Any]:
        """What is to be kept with a trial that suggested something; nothing where that has not changed."""
        return self._attributes(number) if self.method == BRUTE_FORCE else {}

    def _definable(self, wanted: Wanted, known: int) -> BaseDistribution:
        name = wanted.name
        try:
            distribution = distribution_of(definable(self.spec, wanted, known))
            assert distribution is not None
            check_distribution_compatibility(self._defined_first.get(name, distribution), distribution)
        except (ValueError, ArithmeticError) as error:
            raise UserCodeError(f"suggest {name}: not as an earlier trial did, or not possible: {error}") from None
        return distribution

    def _chosen_alone(self, number: int, name: str, distribution: BaseDistribution) -> Scalar:
        study, trial = self._study.optuna, self._study[number]
        if distribution.single():
            sampler: BaseSampler = random_sampler(self.spec, number)
        else:
            sampler = independent_sampler(self.spec, self.method, number, name)
        try:
            return cast(Scalar, sampler.sample_independent(study, trial, name, distribution))
        except Exception as error:  # noqa: BLE001 - one parameter that no sampler can choose must not end the sweep
            log.warning("trial %d: %s is drawn at random: %s: %s", number, name, type(error).__name__, error)
            sampler = independent_sampler(self.spec, "random", number, name)
            return cast(Scalar, sampler.sample_independent(study, trial, name, distribution))

    def _define(self, number: int, params: Params, defined: Definitions) -> None:
        """A trial that runs has more parameters."""
        past = self.remembered(number)
        distributions, attributes = {**past.distributions, **defined}, past.attributes
        if self.method == BRUTE_FORCE:
            attributes = {**attributes, ORDER: [*attributes.get(ORDER, ()), *params]}
        more = replace(past, params={**past.params, **params}, distributions=distributions, attributes=attributes)
        self._study.put(number, self._form.frozen(more))
        self._know(number, distributions)

    def _know(self, number: int, distributions: Definitions) -> None:
        self._defined[number] = dict(distributions)
        for name, distribution in distributions.items():
            if name not in self._defined_first and (optunas := distribution_written(distribution)) is not None:
                self._defined_first[name] = optunas
                if self._study.forget_earlier(name, optunas):
                    self._space = intersection_space(self.method)  # which knows of what was forgotten

    # Judging.

    def report(self, number: int, step: int, value: float) -> Verdict:
        """Note a value of the metric that is pruned on, and judge the trial by it."""
        if self._form.one_metric and math.isfinite(value):
            self._study.report_last(number, step, value)
        if self._judge is None:
            return Verdict(prune=False, attributes={})
        verdict = self._judge.judge(number, step, value)
        return Verdict(verdict.prune, self._attributes(number) if verdict.attributes else {})

    # Telling.

    def tell(
        self,
        number: int,
        state: TrialState,
        values: Sequence[float] | None,
        *,
        infeasible: bool = False,
        constraints: Mapping[str, float] | None = None,
    ) -> None:
        """How a trial ended. A pruned one keeps its last reported value, as Optuna's samplers expect.

        `infeasible`: it failed for want of memory. A sampler that knows of constraints keeps away from such values,
        while it would learn nothing from a failure. `constraints`: above 0 means violated.
        """
        given = None if values is None else tuple(values)
        past = self._with_reports(number)
        self.put(
            PastTrial(
                number, state, past.params, None, past.reports, past.attributes, past.sampler, infeasible, given,
                dict(constraints or {}), past.distributions,
            )
        )  # fmt: skip

    def retry(self, number: int) -> None:
        """A trial that was told to be over runs again."""
        past = self._with_reports(number)
        self.put(
            PastTrial(
                number, TrialState.RUNNING, past.params, None, past.reports, past.attributes, past.sampler,
                distributions=past.distributions,
            )
        )  # fmt: skip

    # Remembering.

    def put(self, past: PastTrial) -> None:
        """The next trial, or one that is there, is now so."""
        try:
            frozen = self._form.frozen(past)
        except (KeyError, ValueError) as error:  # a value outside its space, from a search that knew no better
            log.warning("trial %d teaches the search nothing: %s", past.number, error)
            state = OptunaState.FAIL if past.state in TRIAL_OVER else OptunaState.RUNNING
            frozen = create_trial(state=state, system_attrs=dict(past.attributes))
        if self._class_sampler is not None and self._ends(past.number, frozen):
            self._class_sampler.ended.append(past.number)
        self._study.put(past.number, frozen)
        for other, notes in past.attributes.get(TRIAL_NOTES, {}).items():
            for key, note in notes.items():
                self._study.note(int(other), key, note)
        if past.distributions:
            self._know(past.number, past.distributions)
        self._attribute_to(past.sampler, past.number)
        self._sort(past.number, frozen)
        self._study.set_notes(past.attributes.get(STUDY_NOTES, {}))
        if self._judge is not None:
            self._judge.put(past)

    def remembered(self, number: int) -> PastTrial:
        """The trial as a sampler beside this one needs it to know what this one knows: with its last report alone."""
        return self._as_past(self._memory(number))

    def all_remembered(self) -> Iterator[PastTrial]:
        """All trials as they are now; may be gone through in another thread, while this search goes on."""
        return map(self._as_past, [self._memory(number) for number in range(len(self))])

    def _with_reports(self, number: int) -> PastTrial:
        past = self.remembered(number)
        return past if self._judge is None else replace(past, reports=self._judge.reports(number))

    def _memory(self, number: int) -> _Memory:
        """Taken at once, since nothing that it holds is ever changed in place."""
        return _Memory(
            number,
            self._study[number],
            self._samplers[number],
            self._defined.get(number, NO_DEFINITIONS),
            {} if self._judge is None else self._judge.notes(number),
        )

    def _as_past(self, memory: _Memory) -> PastTrial:
        frozen = memory.frozen
        notes = frozen.system_attrs
        infeasible = MEMORY in notes
        values = frozen.values if frozen.state is OptunaState.COMPLETE else None
        return PastTrial(
            number=memory.number,
            state=TrialState.FAILED if infeasible else FROM_OPTUNA[frozen.state],
            params=self._form.params_from(frozen),
            reports=dict(frozen.intermediate_values),
            attributes=_noted(frozen) | memory.judged,
            sampler=memory.sampler,
            infeasible=infeasible,
            values=None if values is None else tuple(values),
            constraints={
                key.removeprefix(CONSTRAINT): value
                for key, value in notes.items()
                if key.startswith(CONSTRAINT) and key != MEMORY
            },
            distributions=dict(memory.defined),
        )

    def _ends(self, number: int, frozen: FrozenTrial) -> bool:
        """Whether a trial that ran until now is over."""
        return number < len(self) and frozen.state.is_finished() and not self._study[number].state.is_finished()

    def _sort(self, number: int, frozen: FrozenTrial) -> None:
        if number in self._over:  # what finished trials have in common is found anew: it knows of each only once
            self._space = intersection_space(self.method)
        self._over.discard(number)
        self._finished.discard(number)
        if frozen.state.is_finished():
            self._over.add(number)
        if frozen.state is OptunaState.COMPLETE:
            self._finished.add(number)
            self._level(number, own=_constraints_on([frozen]))

    def _level(self, *numbers: int, own: set[str]) -> None:
        """All finished trials have the same constraints, or GP refuses: what one does not name, it does not break."""
        new, self._constraints = own - self._constraints, self._constraints | own
        if new:
            self._study.level_earlier(self._constraints)
        for other in self._finished if new else numbers:
            for key in sorted(self._constraints - self._study[other].system_attrs.keys()):
                self._study.note(other, key, 0.0)

    def _taught(self, trial: PastTrial) -> FrozenTrial | None:
        """A trial of another sweep as one of this; None where it is none: other objectives, or other values."""
        params: Params = {}
        for name, parameter in self.spec.ordered():
            if parameter.active(params):
                if name not in trial.params or parameter.complaint(trial.params[name]) is not None:
                    return None
                params[name] = trial.params[name]
        own = {name: trial.distributions[name] for name in trial.distributions if name not in self.spec.parameters}
        params |= {name: trial.params[name] for name in own}
        marks = marks_of_earlier(self.method) if trial.state is TrialState.FINISHED else {}
        frozen = self._form.frozen(replace(trial, params=params, attributes=marks, distributions=own))
        return frozen if frozen.state in (OptunaState.COMPLETE, OptunaState.PRUNED) else None

    def _attributes(self, number: int) -> dict[str, Any]:
        """What is to be kept with the trial."""
        return self._noted(number) | ({} if self._judge is None else self._judge.notes(number))

    def _noted(self, number: int) -> dict[str, Any]:
        return _noted(self._study[number])


def _noted(frozen: FrozenTrial) -> dict[str, Any]:
    """What the sampler noted, and we with it."""
    return {key: note for key, note in frozen.system_attrs.items() if not any(part in key for part in _NOT_KEPT)}


def _constraints_on(trials: Sequence[FrozenTrial]) -> set[str]:
    return {
        key
        for trial in trials
        if trial.state is OptunaState.COMPLETE
        for key in trial.system_attrs
        if key.startswith(CONSTRAINT)
    }


def _short(sampler: str) -> str:
    """Who chose, without the remark: `random` of `random, for tpe was slow`."""
    return sampler.partition(",")[0]


def _plainly_typed(value: Any) -> Scalar:
    """Python's own number for numpy's, which samplers may choose."""
    return cast(Scalar, value.item() if hasattr(value, "item") else value)
