"""What an ensemble would be before it is built, from what its trials said of rows at hand; numpy only, api.

Nothing here touches the test split: candidates are scored on validation, which selects, and the ensemble on
calibration, or on validation where there are no predictions of that, which is said.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium.ensemble.building import selection
from podium.ensemble.building.selection import Candidate, Selection
from podium.ensemble.building.version_building import MAX_CANDIDATES, Builder, Decision
from podium.ensemble.scoring.combine import combine
from podium.ensemble.scoring.degradation import Scores, scores_of
from podium.ensemble.scoring.evaluation import Evaluation, evaluate
from podium.ensemble.values.ensemble_spec import (
    REGRESSION_RULES,
    Combination,
    EnsembleRequest,
    Rule,
    Select,
    Split,
    Task,
)
from podium.ensemble.values.version import TrialFiles, used_splits
from podium.sweep.values.errors import EnsembleError

ROWS = 2000  # of a split that are looked at: a preview is asked for again and again
ANSWERS = 20_000  # rows times members that are evaluated: every subset of the members is combined
SIZES = 20  # of an ensemble of the best ones, however few were asked for: to see what more would do
STEPS = 200
_WITHOUT_A_FIT = (REGRESSION_RULES | {Rule.LOGIT_MEAN, Rule.HARD_VOTE}) - {Rule.WEIGHTED, Rule.STACKING}


@dataclass(frozen=True, slots=True)
class Contender:
    """A trial that could be chosen, and how it does alone on validation."""

    trial_id: int
    number: int
    sweep_id: int
    value: float | None
    weight: float  # 0: it was not chosen
    scores: Scores | None  # None: it left no predictions


@dataclass(frozen=True, slots=True)
class PathStep:
    """The ensemble after so many choices, the last one being this trial."""

    trial_id: int
    number: int
    members: int  # different ones
    inside: bool  # whether the choice is part of the ensemble; the others show what more would do
    validation: Scores
    calibration: Scores | None  # rows that had no say in the choice


@dataclass(frozen=True, slots=True)
class Preview:
    """What `Builder.build` would make of a request."""

    decision: Decision
    contenders: tuple[Contender, ...]  # the best `MAX_CANDIDATES` by the sweep's metric, best first
    path: tuple[PathStep, ...]
    evaluation: Evaluation | None
    rows_there: int  # of the split that the evaluation is on; it may be on fewer
    unknown: str  # why there are no figures


@dataclass(frozen=True, slots=True)
class _Rows:
    """What some trials said of a split, (trials, rows, outputs), and what is true."""

    split: Split
    there: int
    predictions: NDArray[np.float32]
    targets: NDArray[Any]


def preview(builder: Builder, request: EnsembleRequest, trials: Sequence[TrialFiles]) -> Preview:
    """Raises `EnsembleError` where building would; that trials left no predictions costs the figures alone."""
    found = builder.decide(request, trials)
    pool = _pool(found, request)
    known, unknown = _rows_or_reason(builder, found, pool, Split.VALIDATION)
    evaluation, there, why = _evaluated(builder, found)
    return Preview(
        decision=found,
        contenders=_contenders(found, pool, known),
        path=() if known is None else _path(builder, request, found, pool, known),
        evaluation=evaluation,
        rows_there=there,
        unknown=why or unknown,
    )


def _pool(found: Decision, request: EnsembleRequest) -> tuple[int, ...]:
    """The positions among the usable that could have been chosen, best first, and all that were."""
    if request.select is Select.EXPLICIT:
        return tuple(range(len(found.usable)))
    candidates = [Candidate(t.trial_id, t.number, t.value) for t in found.usable if t.value is not None]
    pool = selection.top_k(candidates, min(MAX_CANDIDATES, len(candidates)), found.usable[0].goal).chosen
    return (*pool, *(position for position in found.chosen.chosen if position not in pool))


def _contenders(found: Decision, pool: Sequence[int], known: _Rows | None) -> tuple[Contender, ...]:
    weights = dict(zip(found.chosen.chosen, found.combination.weights, strict=True))
    task = found.architecture.task
    return tuple(
        Contender(
            trial_id=found.usable[position].trial_id,
            number=found.usable[position].number,
            sweep_id=found.usable[position].sweep_id,
            value=found.usable[position].value,
            weight=weights.get(position, 0.0),
            scores=None if known is None else _sound_scores(task, known.predictions[row], known.targets),
        )
        for row, position in enumerate(pool)
    )


def _sound_scores(task: Task, said: NDArray[np.float32], targets: NDArray[Any]) -> Scores | None:
    return scores_of(task, said, targets) if np.isfinite(said).all() else None


def _rows_or_reason(
    builder: Builder, found: Decision, positions: Sequence[int], split: Split
) -> tuple[_Rows | None, str]:
    try:
        return _rows(builder, found, positions, split), ""
    except EnsembleError as error:
        return None, str(error)


def _rows(builder: Builder, found: Decision, positions: Sequence[int], split: Split, most: int | None = None) -> _Rows:
    """At most `ROWS` of a split, or fewer still, evenly from all of it."""
    most = min(ROWS, most or ROWS)
    trials = [found.usable[position] for position in positions]
    predictions, targets = builder.predictions(trials, found.architecture, split)
    there = len(targets)
    if there > most:
        some = np.linspace(0, there - 1, most).astype(np.intp)
        predictions, targets = predictions[:, some], np.asarray(targets)[some]
    return _Rows(split, there, predictions, targets)


# The way there.


def _path(
    builder: Builder, request: EnsembleRequest, found: Decision, pool: Sequence[int], known: _Rows
) -> tuple[PathStep, ...]:
    """Scores after every choice; the mean stands for rules that would have to be fitted at every step."""
    order, inside = _order(request, found, pool, known)
    rows = {position: row for row, position in enumerate(pool)}
    if not all(np.isfinite(known.predictions[rows[position]]).all() for position in set(order)):
        return ()
    different = sorted(set(order))
    held_out, _ = _rows_or_reason(builder, found, different, Split.CALIBRATION)
    steps = []
    for size in range(1, len(order) + 1):
        counts = Counter(order[:size])
        trial = found.usable[order[size - 1]]
        calibration = None
        if held_out is not None and np.isfinite(held_out.predictions).all():
            calibration = _scored(request, found, counts, held_out, {p: row for row, p in enumerate(different)})
        validation = _scored(request, found, counts, known, rows)
        steps.append(PathStep(trial.trial_id, trial.number, len(counts), size <= inside, validation, calibration))
    return tuple(steps)


def _order(request: EnsembleRequest, found: Decision, pool: Sequence[int], known: _Rows) -> tuple[list[int], int]:
    """Positions in the order they were chosen, and how many of those choices make the ensemble."""
    chosen: Selection = found.chosen
    if request.select is Select.GREEDY and not request.bags:
        order = [step.position for step in chosen.path][:STEPS]
        return order, len(order)
    if request.select is Select.TOP_K:
        return list(pool[: max(SIZES, len(chosen.chosen))]), len(chosen.chosen)
    if request.select is Select.DIVERSE:
        finite = selection.finite_candidates(known.predictions)
        wanted = max(min(SIZES, len(finite)), len(chosen.chosen))
        more = selection.diverse(known.predictions, known.targets, k=wanted, task=found.architecture.task)
        same = more.reindexed(pool).chosen
        if same[: len(chosen.chosen)] == chosen.chosen:  # but for what was left out of the rows
            return list(same), len(chosen.chosen)
    return list(chosen.chosen), len(chosen.chosen)


def _scored(
    request: EnsembleRequest, found: Decision, counts: Counter[int], rows: _Rows, where: dict[int, int]
) -> Scores:
    task = found.architecture.task
    rule = request.combine if request.combine in _WITHOUT_A_FIT else Rule.MEAN
    members = sorted(counts, key=lambda position: where[position])
    total = sum(counts.values())
    combination = Combination(task, rule, tuple(counts[position] / total for position in members))
    said = rows.predictions[[where[position] for position in members]]
    return scores_of(task, combine(combination, said, range(len(members))), rows.targets)


# The whole.


def _evaluated(builder: Builder, found: Decision) -> tuple[Evaluation | None, int, str]:
    """On calibration, or where there are no predictions of that on validation; or why not at all."""
    why = ""
    for split in (Split.CALIBRATION, Split.VALIDATION):
        try:
            rows = _rows(builder, found, found.chosen.chosen, split, ANSWERS // len(found.members))
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
