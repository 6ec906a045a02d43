"""Previews an ensemble from the predictions that its trials saved; api process, numpy only.

The test split is never used. Candidates are scored on validation, which selects. The ensemble is scored on calibration,
or on validation if there are no predictions on calibration, with a warning.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium.ensemble.building import member_selection
from podium.ensemble.building.member_selection import Candidate, Selection
from podium.ensemble.building.version_building import MAX_CANDIDATES, Decision, VersionBuilder
from podium.ensemble.scoring.combine import combine
from podium.ensemble.scoring.ensemble_and_member_evaluation import Evaluation, evaluate
from podium.ensemble.scoring.missing_members_and_quorum import Scores, scores_of
from podium.ensemble.values.ensemble_snapshot import Combination
from podium.ensemble.values.ensemble_spec import REGRESSION_RULES, EnsembleRequest, Rule, Select, Split, Task
from podium.ensemble.values.member_candidate import TrialFiles
from podium.ensemble.values.selection_and_fitting_splits import used_splits
from podium.sweep.values.errors import EnsembleError

ROWS = 2000  # rows of a split that are used: previews are requested repeatedly
ANSWERS = 20_000  # rows times members that are evaluated: all subsets of the members are combined
SIZES = 20  # number of top-k members in the path, even if fewer were requested
STEPS = 200
_WITHOUT_A_FIT = (REGRESSION_RULES | {Rule.LOGIT_MEAN, Rule.HARD_VOTE}) - {Rule.WEIGHTED, Rule.STACKING}


@dataclass(frozen=True, slots=True)
class PreviewCandidate:
    """A candidate trial, and its scores on validation."""

    trial_id: int
    number: int
    sweep_id: int
    value: float | None
    weight: float  # 0: not selected
    scores: Scores | None  # None: it saved no predictions


@dataclass(frozen=True, slots=True)
class PathStep:
    """The ensemble after a number of selection steps, of which this trial is the last."""

    trial_id: int
    number: int
    members: int  # distinct members
    inside: bool  # whether the step is part of the ensemble; later steps show the effect of more
    validation: Scores
    calibration: Scores | None  # on rows that were not used for selection


@dataclass(frozen=True, slots=True)
class Preview:
    """The result that `VersionBuilder.build` would give for a request."""

    decision: Decision
    contenders: tuple[PreviewCandidate, ...]  # the best `MAX_CANDIDATES` by the sweep's metric, best first
    path: tuple[PathStep, ...]
    evaluation: Evaluation | None
    rows_there: int  # in the split of the evaluation, which may use fewer
    unknown: str  # why there are no scores


@dataclass(frozen=True, slots=True)
class _Rows:
    """The predictions of trials on a split, (trials, rows, outputs), and the targets."""

    split: Split
    there: int
    predictions: NDArray[np.float32]
    targets: NDArray[Any]


def preview(
    builder: VersionBuilder, request: EnsembleRequest, trials: Sequence[TrialFiles], max_rows: int = ROWS
) -> Preview:
    """Preview `request`. Raises `EnsembleError` if building would; missing predictions only omit the scores.

    `max_rows`: of a split that are used.
    """
    found = builder.decide(request, trials)
    pool = _pool(found, request)
    reader = _RowReader(builder, found, max_rows)
    known, unknown = reader.rows_or_reason(pool, Split.VALIDATION)
    evaluation, there, why = _evaluated(reader)
    return Preview(
        decision=found,
        contenders=_contenders(found, pool, known),
        path=() if known is None else _path(reader, request, pool=pool, known=known),
        evaluation=evaluation,
        rows_there=there,
        unknown=why or unknown,
    )


def _pool(found: Decision, request: EnsembleRequest) -> tuple[int, ...]:
    """Positions in `usable` of the candidates, best first, and of all selected trials."""
    if request.select is Select.EXPLICIT:
        return tuple(range(len(found.usable)))
    candidates = [Candidate(t.trial_id, t.number, t.value) for t in found.usable if t.value is not None]
    pool = member_selection.top_k(candidates, min(MAX_CANDIDATES, len(candidates)), found.usable[0].goal).chosen
    return (*pool, *(position for position in found.chosen.chosen if position not in pool))


def _contenders(found: Decision, pool: Sequence[int], known: _Rows | None) -> tuple[PreviewCandidate, ...]:
    weights = dict(zip(found.chosen.chosen, found.combination.weights, strict=True))
    task = found.architecture.task
    return tuple(
        PreviewCandidate(
            trial_id=found.usable[position].trial_id,
            number=found.usable[position].number,
            sweep_id=found.usable[position].sweep_id,
            value=found.usable[position].value,
            weight=weights.get(position, 0.0),
            scores=None if known is None else _scores_if_finite(task, known.predictions[row], known.targets),
        )
        for row, position in enumerate(pool)
    )


def _scores_if_finite(task: Task, predictions: NDArray[np.float32], targets: NDArray[Any]) -> Scores | None:
    return scores_of(task, predictions, targets) if np.isfinite(predictions).all() else None


@dataclass(frozen=True, slots=True)
class _RowReader:
    """Reads predictions of the trials in `found.usable`, by position."""

    builder: VersionBuilder
    found: Decision
    max_rows: int  # of a split

    def rows_or_reason(self, positions: Sequence[int], split: Split) -> tuple[_Rows | None, str]:
        try:
            return self.rows(positions, split), ""
        except EnsembleError as error:
            return None, str(error)

    def rows(self, positions: Sequence[int], split: Split, *, most: int | None = None) -> _Rows:
        """At most `max_rows` rows of a split, or `most`, evenly spaced."""
        most = min(self.max_rows, most or self.max_rows)
        trials = [self.found.usable[position] for position in positions]
        predictions, targets = self.builder.predictions(trials, self.found.architecture, split)
        there = len(targets)
        if there > most:
            some = np.linspace(0, there - 1, most).astype(np.intp)
            predictions, targets = predictions[:, some], np.asarray(targets)[some]
        return _Rows(split, there, predictions, targets)


# The selection path.


def _path(reader: _RowReader, request: EnsembleRequest, *, pool: Sequence[int], known: _Rows) -> tuple[PathStep, ...]:
    """Scores after every step; rules that would have to be fitted at every step are replaced by the mean."""
    found = reader.found
    order, inside = _order(request, found, pool, known)
    rows = {position: row for row, position in enumerate(pool)}
    if not all(np.isfinite(known.predictions[rows[position]]).all() for position in set(order)):
        return ()
    different = sorted(set(order))
    held_out, _ = reader.rows_or_reason(different, Split.CALIBRATION)
    steps = []
    for size in range(1, len(order) + 1):
        counts = Counter(order[:size])
        trial = found.usable[order[size - 1]]
        calibration = None
        if held_out is not None and np.isfinite(held_out.predictions).all():
            calibration = _scored(request, found, counts, held_out, where={p: row for row, p in enumerate(different)})
        validation = _scored(request, found, counts, known, where=rows)
        steps.append(
            PathStep(
                trial_id=trial.trial_id,
                number=trial.number,
                members=len(counts),
                inside=size <= inside,
                validation=validation,
                calibration=calibration,
            )
        )
    return tuple(steps)


def _order(request: EnsembleRequest, found: Decision, pool: Sequence[int], known: _Rows) -> tuple[list[int], int]:
    """Positions in the order of selection, and how many of these steps form the ensemble."""
    chosen: Selection = found.chosen
    if request.select is Select.GREEDY and not request.bags:
        order = [step.position for step in chosen.path][:STEPS]
        return order, len(order)
    if request.select is Select.TOP_K:
        return list(pool[: max(SIZES, len(chosen.chosen))]), len(chosen.chosen)
    if request.select is Select.DIVERSE:
        finite = member_selection.finite_candidates(known.predictions)
        wanted = max(min(SIZES, len(finite)), len(chosen.chosen))
        more = member_selection.diverse(known.predictions, known.targets, k=wanted, task=found.architecture.task)
        same = more.reindexed(pool).chosen
        if same[: len(chosen.chosen)] == chosen.chosen:  # may differ, since fewer rows are used
            return list(same), len(chosen.chosen)
    return list(chosen.chosen), len(chosen.chosen)


def _scored(
    request: EnsembleRequest, found: Decision, counts: Counter[int], rows: _Rows, *, where: dict[int, int]
) -> Scores:
    task = found.architecture.task
    rule = request.combine if request.combine in _WITHOUT_A_FIT else Rule.MEAN
    members = sorted(counts, key=lambda position: where[position])
    total = sum(counts.values())
    combination = Combination(task, rule, tuple(counts[position] / total for position in members))
    said = rows.predictions[[where[position] for position in members]]
    return scores_of(task, combine(combination, said, range(len(members))), rows.targets)


# The whole ensemble.


def _evaluated(reader: _RowReader) -> tuple[Evaluation | None, int, str]:
    """Evaluate on calibration, or on validation without predictions on it; or return the reason why there is none."""
    found, why = reader.found, ""
    for split in (Split.CALIBRATION, Split.VALIDATION):
        try:
            rows = reader.rows(found.chosen.chosen, split, most=ANSWERS // len(found.members))
            return _evaluate(found, rows), rows.there, ""
        except EnsembleError as error:
            why = why or str(error)
    return None, 0, why


def _evaluate(found: Decision, rows: _Rows) -> Evaluation:
    flags = [reason for used, reason in used_splits(found.selection_record).items() if used is rows.split]
    return evaluate(
        rows.split.value,
        rows.predictions,
        rows.targets,
        found.combination,
        quorum=found.quorum,
        best_member=found.selection_record["best_member"],
        flags=flags,
    )
