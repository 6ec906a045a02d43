"""Builds a version from a request and its candidate trials: select, check, fit; api and host processes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium.ensemble.building import member_selection, saved_trial_outputs
from podium.ensemble.building.member_selection import Candidate, Selection
from podium.ensemble.building.saved_trial_outputs import Architecture
from podium.ensemble.scoring import combination_fitting
from podium.ensemble.values.ensemble_snapshot import Combination
from podium.ensemble.values.ensemble_spec import (
    REGRESSION_RULES,
    EnsembleOptions,
    EnsembleRequest,
    Rule,
    Select,
    Split,
    Task,
    majority,
)
from podium.ensemble.values.member_candidate import TrialFiles
from podium.ensemble.values.new_version import NewVersion
from podium.sweep.runtime.layout import DataDirectory
from podium.sweep.values.errors import EnsembleError
from podium.sweep.values.states import TrialState

MIN_MEMBERS = 2  # minimum number of members if fewer than `k` are allowed
MAX_CANDIDATES = 100  # candidates of greedy and diverse selection: more rarely help and are slow


@dataclass(frozen=True, slots=True)
class Decision:
    """The members, weights and combination of a version, before the members' files are verified."""

    usable: list[TrialFiles]  # all candidates; the positions in
    chosen: Selection
    members: list[TrialFiles]
    architecture: Architecture
    combination: Combination
    quorum: int
    selection_record: dict[str, Any]  # how the members were selected, and which splits were used


class VersionBuilder:
    """Builds versions. All methods raise `EnsembleError` naming the trial or the field."""

    def __init__(self, data: DataDirectory) -> None:
        self._data = data

    def build(self, request: EnsembleOptions, trials: Sequence[TrialFiles], *, allow_fewer: bool = False) -> NewVersion:
        """Build the version that `request` describes, from the finished trials of its sweep or the listed trials.

        With `allow_fewer`, for requests made before the number of finished trials was known: if there are fewer than
        `k`, all are used, but at least `MIN_MEMBERS`; the quorum is lowered, and a note is stored with the selection.
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
            devices=request.devices,
            precisions=tuple(map(request.precision_of, range(len(found.members)))),
            max_loss_increase=request.max_loss_increase,
            combination=found.combination,
            selection=found.selection_record,
            classes=found.architecture.classes,
            features=found.architecture.features,
        )

    def decide(self, request: EnsembleOptions, trials: Sequence[TrialFiles], *, allow_fewer: bool = False) -> Decision:
        """The members, weights and combination that `build` would use."""
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
            selection_record=_selection_record(
                request, chosen, usable=usable, members=members, combination=combination
            ),
        )

    # Selection.

    def _select(self, request: EnsembleOptions, usable: list[TrialFiles], *, allow_fewer: bool) -> Selection:
        if isinstance(request, EnsembleRequest) and request.trial_ids is not None:
            weights = request.weights or [1.0] * len(usable)
            return Selection(tuple(range(len(usable))), tuple(w / sum(weights) for w in weights), (), "")
        candidates = [Candidate(t.trial_id, t.number, t.value) for t in usable if t.value is not None]
        goal = usable[0].goal
        if request.select is Select.TOP_K:
            return member_selection.top_k(
                candidates, _member_count(request.k, len(candidates), allow_fewer=allow_fewer), goal
            )
        pool = member_selection.top_k(candidates, min(MAX_CANDIDATES, len(candidates)), goal).chosen
        return self._select_by_predictions(request, usable, pool, allow_fewer=allow_fewer)

    def _select_by_predictions(
        self, request: EnsembleOptions, usable: list[TrialFiles], pool: Sequence[int], *, allow_fewer: bool
    ) -> Selection:
        """Greedy or diverse selection among the positions in `pool`, by predictions on validation."""
        trials = [usable[position] for position in pool]
        architecture = self._common_architecture(trials)
        predictions, targets = self.predictions(trials, architecture, Split.VALIDATION)
        k = _member_count(request.k, len(member_selection.finite_candidates(predictions)), allow_fewer=allow_fewer)
        if request.select is Select.GREEDY:
            found = member_selection.greedy(predictions, targets, k=k, task=architecture.task, bags=request.bags)
        else:
            found = member_selection.diverse(predictions, targets, k=k, task=architecture.task)
        return found.reindexed(pool)

    def _common_architecture(self, trials: Sequence[TrialFiles]) -> Architecture:
        """The common task, classes and inputs of the trials."""
        first, *others = [self._architecture(trial) for trial in trials]
        for trial, other in zip(trials[1:], others, strict=True):
            if other.task is not first.task:
                raise EnsembleError(
                    f"{trial.name} is for {other.task.value}, but {trials[0].name} is for {first.task.value}"
                )
            if other.classes != first.classes:
                raise EnsembleError(
                    f"{trial.name} has different classes ({_shown(other.classes)}) from "
                    f"{trials[0].name} ({_shown(first.classes)}); select trials of one data set"
                )
            if other.features != first.features:
                raise EnsembleError(
                    f"{trial.name} takes {other.features} inputs, but {trials[0].name} "
                    f"{first.features}; select trials of one data set"
                )
        return first

    def _architecture(self, trial: TrialFiles) -> Architecture:
        try:
            return saved_trial_outputs.read_architecture(saved_trial_outputs.model_path(self._data, trial), self._data)
        except EnsembleError as error:
            raise EnsembleError(f"{trial.name}: {error}") from error

    def _check_files(self, trial: TrialFiles) -> None:
        """Raise `EnsembleError` unless weights and code are unchanged."""
        saved_trial_outputs.check_model(
            saved_trial_outputs.model_path(self._data, trial), trial.model_sha256 or "", self._data
        )
        found = self._architecture(trial)
        if found.is_users:
            try:
                saved_trial_outputs.check_code(self._data, found.bundle, found.code_sha256)
            except EnsembleError as error:
                raise EnsembleError(f"{trial.name}: {error}") from error

    # Fitting.

    def _fit(
        self, request: EnsembleOptions, members: Sequence[TrialFiles], weights: Sequence[float], found: Architecture
    ) -> Combination:
        if found.task is Task.REGRESSION and request.combine not in REGRESSION_RULES:
            known = ", ".join(sorted(rule.value for rule in REGRESSION_RULES))
            raise EnsembleError(
                f"combine: {request.combine.value} is for classification; for regression use one of {known}"
            )
        if found.task is Task.REGRESSION and request.calibrate:
            raise EnsembleError("calibrate: not supported for regression")
        given = isinstance(request, EnsembleRequest) and request.weights is not None
        if not _needs_fit(request, found.task, given=given):
            return Combination(found.task, request.combine, tuple(weights))
        predictions, targets = self.predictions(members, found, request.fit_on)
        fixed = None if request.combine is Rule.WEIGHTED and not given else weights
        return combination_fitting.fit(
            request.combine,
            found.task,
            predictions,
            targets,
            weights=fixed,
            calibrate=request.calibrate,
            names=[member.name for member in members],
        )

    def predictions(
        self, trials: Sequence[TrialFiles], found: Architecture, split: Split
    ) -> tuple[NDArray[np.float32], NDArray[Any]]:
        """Predictions (members, rows, outputs) and targets of a split, which must have the same rows for all trials."""
        for trial in trials:
            other = self._architecture(trial)
            if not other.same_rows(found):
                raise EnsembleError(
                    f"{trial.name} split its data differently from {trials[0].name}, so one may "
                    "have been trained on rows of the other's split; use a rule without a fit, or trials of one sweep"
                )
        targets = saved_trial_outputs.targets_of(self._data, trials, found, split)
        predictions = [saved_trial_outputs.read_predictions(self._data, trial, split) for trial in trials]
        for trial, one in zip(trials, predictions, strict=True):
            if one.shape != (len(targets), len(found.classes)):
                raise EnsembleError(
                    f"{trial.name} saved predictions of shape {list(one.shape)} for {len(targets)} rows of "
                    f"{split.value}; its data has changed"
                )
        return np.stack(predictions), targets


def _usable_trials(request: EnsembleOptions, trials: Sequence[TrialFiles], *, allow_fewer: bool) -> list[TrialFiles]:
    """The trials that can be members: all listed ones, or the finished trials of the sweep that saved a model."""
    if request.select is Select.EXPLICIT:
        for trial in trials:
            if trial.state is not TrialState.FINISHED:
                raise EnsembleError(
                    f"trial_ids: {trial.name} (id {trial.trial_id}) is {trial.state.value}, not finished"
                )
            if trial.model_sha256 is None:
                why = f"cannot be a member: {trial.not_kept}" if trial.not_kept else "saved no model"
                raise EnsembleError(f"trial_ids: {trial.name} (id {trial.trial_id}) {why}")
        return list(trials)
    usable = [t for t in trials if t.model_sha256 is not None and t.value is not None and not math.isnan(t.value)]
    not_kept = _not_kept(trials)
    if not_kept and len(usable) < _member_count(request.k, MIN_MEMBERS, allow_fewer=allow_fewer):
        raise EnsembleError(f"k is {request.k}, but only {len(usable)} trials have weights; another trial: {not_kept}")
    if not usable:
        raise EnsembleError(
            "this sweep has no finished trial that saved a model and satisfies all constraints; built-in programs save "
            "models; in your own function, call trial.save_model(network) and define build(params) next to it"
        )
    return usable


def _not_kept(trials: Sequence[TrialFiles]) -> str:
    """Why a model was deleted, if any was."""
    return next((trial.not_kept for trial in trials if trial.not_kept), "")


def _member_count(k: int, found: int, *, allow_fewer: bool) -> int:
    """The number of members, given the number of candidates. Raises `EnsembleError` below `MIN_MEMBERS`."""
    if not allow_fewer or found >= k:
        return k
    if found < MIN_MEMBERS:
        raise EnsembleError(
            f"k is {k}, but only {found} finished trials of this sweep saved a usable model; an ensemble needs at "
            f"least {MIN_MEMBERS} members"
        )
    return found


def _fit_to_available(
    request: EnsembleOptions, chosen: Selection, usable: Sequence[TrialFiles], trials: Sequence[TrialFiles]
) -> tuple[EnsembleOptions, Selection]:
    """The request adapted to the selected members, and the selection with a note on the original request."""
    found = len(chosen.chosen)
    notes = []
    if len(usable) < request.k:
        why = _not_kept(trials)
        reason = f"; another trial: {why}" if why else ""
        notes.append(f"k is {request.k}, but only {len(usable)} finished trials saved a model{reason}")
    elif found < request.k and not chosen.note:
        notes.append(f"k is {request.k}, but only {found} trials saved finite predictions")
    notes += [chosen.note] if chosen.note else []
    if request.quorum is not None and request.quorum > found:
        notes.append(f"the quorum is lowered from {request.quorum} to {found}")
        request = request.model_copy(update={"quorum": found})
    return request, replace(chosen, note="; ".join(notes))


def _needs_fit(request: EnsembleOptions, task: Task, *, given: bool) -> bool:
    """Whether parameters must be fitted; for regression always, the noise variance."""
    fitted_rule = request.combine is Rule.STACKING or (request.combine is Rule.WEIGHTED and not given)
    return fitted_rule or request.calibrate or task is Task.REGRESSION


def _quorum(request: EnsembleOptions, members: int) -> int:
    if request.quorum is None:
        return majority(members)
    if request.quorum > members:
        raise EnsembleError(f"quorum: {request.quorum}, but greedy selected only {members} members; reduce it")
    return request.quorum


def _selection_record(
    request: EnsembleOptions,
    chosen: Selection,
    *,
    usable: Sequence[TrialFiles],
    members: Sequence[TrialFiles],
    combination: Combination,
) -> dict[str, Any]:
    """How the members were selected, and which splits were used, as plain JSON values."""
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
