"""From a request and the trials there are to a version: select, check, fit; api, and the host for sweeps' own."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium.ensemble.building import selection, trial_outputs
from podium.ensemble.building.selection import Candidate, Selection
from podium.ensemble.building.trial_outputs import Architecture
from podium.ensemble.scoring import fitting
from podium.ensemble.values.ensemble_spec import (
    REGRESSION_RULES,
    Combination,
    EnsembleOptions,
    EnsembleRequest,
    Rule,
    Select,
    Split,
    Task,
    majority,
)
from podium.ensemble.values.version import NewVersion, TrialFiles
from podium.sweep.runtime.layout import DataDirectory
from podium.sweep.values.errors import EnsembleError
from podium.sweep.values.trial import TrialState

MIN_MEMBERS = 2  # members of an ensemble that may have fewer than it was to have
MAX_CANDIDATES = 100  # greedy and diverse look at so many of the best trials: more rarely help, and take long


@dataclass(frozen=True, slots=True)
class Decision:
    """Who is in, by what weights, and how they are combined; the members' files are not looked through yet."""

    usable: list[TrialFiles]  # all that could have been chosen; the positions in `chosen` are among these
    chosen: Selection
    members: list[TrialFiles]
    architecture: Architecture
    combination: Combination
    quorum: int
    selection_record: dict[str, Any]  # how the members were found, and which splits were used up by it


class Builder:
    """Decides versions for one service. Every method raises `EnsembleError` naming the trial or the field."""

    def __init__(self, data: DataDirectory) -> None:
        self._data = data

    def build(self, request: EnsembleOptions, trials: Sequence[TrialFiles], *, allow_fewer: bool = False) -> NewVersion:
        """The version that `request` asks for, from the finished trials of its sweep or the trials it names.

        With `fewer`, what was asked for before anybody knew how many trials would finish: where those are fewer than
        `k`, it is built from all of them, `MIN_MEMBERS` at least, with no larger quorum, and its selection's note says so.
        """
        found = self.decide(request, trials, allow_fewer=allow_fewer)
        for member in found.members:
            self._check_files(member)
        return NewVersion(
            trial_ids=tuple(member.trial_id for member in found.members),
            mode=request.mode,
            quorum=found.quorum,
            deadline_ms=request.deadline_ms,
            replicas=request.replicas,
            placement=request.placement,
            precision=request.precision,
            combination=found.combination,
            selection=found.selection_record,
            classes=found.architecture.classes,
            features=found.architecture.features,
        )

    def decide(self, request: EnsembleOptions, trials: Sequence[TrialFiles], *, allow_fewer: bool = False) -> Decision:
        """What `build` would build."""
        usable = _usable_trials(request, trials, allow_fewer=allow_fewer)
        chosen = self._select(request, usable, allow_fewer=allow_fewer)
        if allow_fewer:
            request, chosen = _fit_to_available(request, chosen, usable, trials)
        members = [usable[position] for position in chosen.chosen]
        architecture = self._common_architecture(members)
        combination = self._fit(request, members, chosen.weights, architecture)
        return Decision(
            usable=usable,
            chosen=chosen,
            members=members,
            architecture=architecture,
            combination=combination,
            quorum=_quorum(request, len(members)),
            selection_record=_selection_record(request, chosen, usable, members, combination),
        )

    # Selection.

    def _select(self, request: EnsembleOptions, usable: list[TrialFiles], *, allow_fewer: bool) -> Selection:
        if isinstance(request, EnsembleRequest) and request.trial_ids is not None:
            weights = request.weights or [1.0] * len(usable)
            return Selection(tuple(range(len(usable))), tuple(w / sum(weights) for w in weights), (), "")
        candidates = [Candidate(t.trial_id, t.number, t.value) for t in usable if t.value is not None]
        goal = usable[0].goal
        if request.select is Select.TOP_K:
            return selection.top_k(candidates, _member_count(request.k, len(candidates), allow_fewer=allow_fewer), goal)
        pool = selection.top_k(candidates, min(MAX_CANDIDATES, len(candidates)), goal).chosen
        return self._select_by_predictions(request, usable, pool, allow_fewer=allow_fewer)

    def _select_by_predictions(
        self, request: EnsembleOptions, usable: list[TrialFiles], pool: Sequence[int], *, allow_fewer: bool
    ) -> Selection:
        """Greedy or diverse among the positions in `pool`, by what the trials said of the validation rows."""
        trials = [usable[position] for position in pool]
        architecture = self._common_architecture(trials)
        predictions, targets = self.predictions(trials, architecture, Split.VALIDATION)
        k = _member_count(request.k, len(selection.finite_candidates(predictions)), allow_fewer=allow_fewer)
        if request.select is Select.GREEDY:
            found = selection.greedy(predictions, targets, k=k, task=architecture.task, bags=request.bags)
        else:
            found = selection.diverse(predictions, targets, k=k, task=architecture.task)
        return found.reindexed(pool)

    def _common_architecture(self, trials: Sequence[TrialFiles]) -> Architecture:
        """What all of them say of task, classes and inputs."""
        first, *others = [self._architecture(trial) for trial in trials]
        for trial, other in zip(trials[1:], others, strict=True):
            if other.task is not first.task:
                raise EnsembleError(
                    f"trial {trial.trial_id} does {other.task.value}, but trial {trials[0].trial_id} {first.task.value}"
                )
            if other.classes != first.classes:
                raise EnsembleError(
                    f"trial {trial.trial_id} knows other classes ({_shown(other.classes)}) than trial "
                    f"{trials[0].trial_id} ({_shown(first.classes)}); choose trials of one data set"
                )
            if other.features != first.features:
                raise EnsembleError(
                    f"trial {trial.trial_id} takes {other.features} inputs, but trial {trials[0].trial_id} "
                    f"{first.features}; choose trials of one data set"
                )
        return first

    def _architecture(self, trial: TrialFiles) -> Architecture:
        try:
            return trial_outputs.read_architecture(trial_outputs.model_path(self._data, trial))
        except EnsembleError as error:
            raise EnsembleError(f"trial {trial.trial_id}: {error}") from error

    def _check_files(self, trial: TrialFiles) -> None:
        """Raises `EnsembleError` unless weights and code are those that the trial left."""
        trial_outputs.check_model(trial_outputs.model_path(self._data, trial), trial.model_sha256 or "")
        found = self._architecture(trial)
        if found.is_users:
            try:
                trial_outputs.check_code(self._data, found.bundle, found.code_sha256)
            except EnsembleError as error:
                raise EnsembleError(f"trial {trial.trial_id}: {error}") from error

    # Fitting.

    def _fit(
        self, request: EnsembleOptions, members: Sequence[TrialFiles], weights: Sequence[float], found: Architecture
    ) -> Combination:
        if found.task is Task.REGRESSION and request.combine not in REGRESSION_RULES:
            known = ", ".join(sorted(rule.value for rule in REGRESSION_RULES))
            raise EnsembleError(f"combine: {request.combine.value} is for classes; for values there are {known}")
        if found.task is Task.REGRESSION and request.calibrate:
            raise EnsembleError("calibrate: a temperature is for probabilities; leave it out for values")
        given = isinstance(request, EnsembleRequest) and request.weights is not None
        if not _needs_fit(request, found.task, given=given):
            return Combination(found.task, request.combine, tuple(weights))
        predictions, targets = self.predictions(members, found, request.fit_on)
        fixed = None if request.combine is Rule.WEIGHTED and not given else weights
        return fitting.fit(
            request.combine, found.task, predictions, targets, weights=fixed, calibrate=request.calibrate
        )  # fmt: skip

    def predictions(
        self, trials: Sequence[TrialFiles], found: Architecture, split: Split
    ) -> tuple[NDArray[np.float32], NDArray[Any]]:
        """(members, rows, outputs) and the targets of a split, which must be the same rows for all of them."""
        for trial in trials:
            other = self._architecture(trial)
            if not other.same_rows(found):
                raise EnsembleError(
                    f"trial {trial.trial_id} split its data differently from trial {trials[0].trial_id}: what one was "
                    "trained on, the other was judged by; use a rule that needs no fit, or trials of one sweep"
                )
        targets = trial_outputs.targets_of(self._data, trials, found, split)
        predictions = [trial_outputs.read_predictions(self._data, trial, split) for trial in trials]
        for trial, said in zip(trials, predictions, strict=True):
            if said.shape != (len(targets), len(found.classes)):
                raise EnsembleError(
                    f"trial {trial.trial_id} left predictions of shape {list(said.shape)} for {len(targets)} rows of "
                    f"{split.value}; its data has changed since"
                )
        return np.stack(predictions), targets


def _usable_trials(request: EnsembleOptions, trials: Sequence[TrialFiles], *, allow_fewer: bool) -> list[TrialFiles]:
    """Those that can be members: all that were named, or the finished ones of the sweep that saved a model."""
    if request.select is Select.EXPLICIT:
        for trial in trials:
            if trial.state is not TrialState.FINISHED:
                raise EnsembleError(f"trial_ids: trial {trial.trial_id} is {trial.state.value}, not finished")
            if trial.model_sha256 is None:
                why = f"cannot be a member: {trial.not_kept}" if trial.not_kept else "saved no model"
                raise EnsembleError(f"trial_ids: trial {trial.trial_id} {why}")
        return list(trials)
    usable = [t for t in trials if t.model_sha256 is not None and t.value is not None and not math.isnan(t.value)]
    not_kept = _not_kept(trials)
    if not_kept and len(usable) < _member_count(request.k, MIN_MEMBERS, allow_fewer=allow_fewer):
        raise EnsembleError(f"k is {request.k}, but only {len(usable)} trials have weights; of another, {not_kept}")
    if not usable:
        raise EnsembleError(
            "this sweep has no finished trial that saved a model and violates no constraint; built-in programs save "
            "theirs, your own function calls trial.save_model(network), with a function build(params) beside it"
        )
    return usable


def _not_kept(trials: Sequence[TrialFiles]) -> str:
    """Why a model is not there any more, if there is such a trial."""
    return next((trial.not_kept for trial in trials if trial.not_kept), "")


def _member_count(k: int, found: int, *, allow_fewer: bool) -> int:
    """How many members there are to be, of so many that can be one. Raises `EnsembleError` below `MIN_MEMBERS`."""
    if not allow_fewer or found >= k:
        return k
    if found < MIN_MEMBERS:
        raise EnsembleError(
            f"k is {k}, and an ensemble has {MIN_MEMBERS} members at least, but only {found} finished trials of this sweep "
            "left a model that can be one"
        )
    return found


def _fit_to_available(
    request: EnsembleOptions, chosen: Selection, usable: Sequence[TrialFiles], trials: Sequence[TrialFiles]
) -> tuple[EnsembleOptions, Selection]:
    """The request as it can be met by those that were chosen, and their note saying what it asked for."""
    found = len(chosen.chosen)
    said = []
    if len(usable) < request.k:
        why = _not_kept(trials)
        reason = f"; of another, {why}" if why else ""
        said.append(f"k is {request.k}, but only {len(usable)} finished trials left a model to choose from{reason}")
    elif found < request.k and not chosen.note:
        said.append(f"k is {request.k}, but only {found} trials left predictions that are all finite")
    said += [chosen.note] if chosen.note else []
    if request.quorum is not None and request.quorum > found:
        said.append(f"the quorum is {found} instead of {request.quorum}")
        request = request.model_copy(update={"quorum": found})
    return request, replace(chosen, note="; ".join(said))


def _needs_fit(request: EnsembleOptions, task: Task, *, given: bool) -> bool:
    """Whether anything must be learned: for values always, how far off they are."""
    fitted_rule = request.combine is Rule.STACKING or (request.combine is Rule.WEIGHTED and not given)
    return fitted_rule or request.calibrate or task is Task.REGRESSION


def _quorum(request: EnsembleOptions, members: int) -> int:
    if request.quorum is None:
        return majority(members)
    if request.quorum > members:
        raise EnsembleError(f"quorum: {request.quorum}, but greedy took only {members} members; lower it")
    return request.quorum


def _selection_record(
    request: EnsembleOptions,
    chosen: Selection,
    usable: Sequence[TrialFiles],
    members: Sequence[TrialFiles],
    combination: Combination,
) -> dict[str, Any]:
    """How the members were found, and which splits were used up by it."""
    maximize = members[0].goal == "maximize"
    values = [member.value if member.value is not None else math.nan for member in members]
    best = (np.nanargmax if maximize else np.nanargmin)(values) if not np.isnan(values).all() else 0
    fitted = combination.stacking is not None or combination.noise_variance or combination.temperature != 1.0
    fitted = fitted or (combination.rule is Rule.WEIGHTED and getattr(request, "weights", None) is None)
    return {
        "method": request.select.value,
        "path": [{**asdict(step), "trial_id": usable[step.position].trial_id} for step in chosen.path],
        "note": chosen.note,
        "candidates": len(usable),
        "best_member": int(best),
        "fitted_on": request.fit_on.value if fitted else None,
        "forced": request.force,
    }


def _shown(classes: Sequence[str]) -> str:
    return ", ".join(classes[:4]) + (f" and {len(classes) - 4} more" if len(classes) > 4 else "")
