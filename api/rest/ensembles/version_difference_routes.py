"""The difference of two versions of an ensemble on the same rows, with its confidence interval, over REST; api."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
from fastapi import APIRouter, Query
from numpy.typing import NDArray

from podium.api.http.authentication import viewer
from podium.api.http.request_limits import MAX_ID
from podium.api.http.route_dependencies import RowId, context
from podium.api.http.service_context import ServiceContext
from podium.api.rest.schemas.base_schema import View
from podium.db.stores import ensemble_evaluations, ensemble_reader
from podium.db.stores.ensemble_evaluations import EvaluationRow
from podium.db.stores.ensemble_reader import EnsembleRow
from podium.ensemble.building import saved_trial_outputs
from podium.ensemble.building.saved_trial_outputs import Architecture
from podium.ensemble.scoring.paired_difference import PairedDifference, paired_differences
from podium.ensemble.scoring.predictor_comparison import McNemar
from podium.ensemble.values.ensemble_spec import POSTED
from podium.sweep.values.errors import ConflictError, NotFoundError

router = APIRouter(prefix="/api/v1/ensembles", tags=["ensembles"])
EvaluationId = Annotated[int, Query(ge=1, le=MAX_ID, description="a finished evaluation on a split")]


class MetricDifferenceView(View):
    """The second minus the first; `distinguishable`: the interval excludes zero."""

    metric: str
    difference: float
    ci95: list[float]  # low, high
    distinguishable: bool

    @classmethod
    def of(cls, found: PairedDifference) -> MetricDifferenceView:
        return cls(
            metric=found.metric,
            difference=found.difference,
            ci95=list(found.ci95),
            distinguishable=found.distinguishable,
        )


class VersionDifferenceView(View):
    """Two versions on the same rows: percentile intervals of 2,000 paired bootstrap resamples, and McNemar's test.

    In `mcnemar`, "ensemble" is the second and "best" the first; null if both are right on the same rows.
    """

    split: str
    rows: int
    first_version: int
    second_version: int
    metrics: list[MetricDifferenceView]
    mcnemar: McNemar | None


@router.get("/{ensemble_id}/version-difference", dependencies=[viewer])
def show_version_difference(
    ensemble_id: RowId, first: EvaluationId, second: EvaluationId, service: ServiceContext = context
) -> VersionDifferenceView:
    """How far two evaluations of an ensemble differ, row by row. 409 unless both are of the same rows of a split."""
    with service.database.read() as connection:
        row = ensemble_reader.get(connection, ensemble_id)
        pair = [ensemble_evaluations.get(connection, evaluation_id) for evaluation_id in (first, second)]
    for each in pair:
        _check_comparable(each, row)
    if pair[0].split != pair[1].split:
        raise ConflictError(f"evaluation {first} is on {pair[0].split}, evaluation {second} on {pair[1].split}")
    architectures = [_architecture(service, row, each) for each in pair]
    if not architectures[0].same_rows(architectures[1]):
        raise ConflictError("the two versions were trained on different splits of the data: their rows differ")
    targets = architectures[0].load_rows(service.settings.data.data_cache).targets_of(pair[0].split)
    outputs = [_outputs(service, each, len(targets)) for each in pair]
    found = paired_differences(outputs[0], outputs[1], targets, architectures[0].task)
    return VersionDifferenceView(
        split=pair[0].split,
        rows=found.rows,
        first_version=pair[0].version,
        second_version=pair[1].version,
        metrics=[MetricDifferenceView.of(each) for each in found.metrics],
        mcnemar=found.mcnemar,
    )


def _check_comparable(evaluation: EvaluationRow, row: EnsembleRow) -> None:
    if evaluation.ensemble_id != row.id or evaluation.version not in row.versions:
        raise NotFoundError(f"ensemble {row.id} has no evaluation {evaluation.id}")
    if evaluation.result is None:
        raise ConflictError(f"evaluation {evaluation.id} is {evaluation.state}; it has no result")
    if evaluation.split == POSTED:
        raise ConflictError(f"evaluation {evaluation.id} is on posted rows; evaluate both versions on a split")


def _architecture(service: ServiceContext, row: EnsembleRow, evaluation: EvaluationRow) -> Architecture:
    member = row.versions[evaluation.version].members[0]
    found = saved_trial_outputs.read_architecture(saved_trial_outputs.model_path(service.settings.data, member.files))
    if found.data is None:
        raise ConflictError("the members load their own data, which the service cannot read; set program.data")
    return found


def _outputs(service: ServiceContext, evaluation: EvaluationRow, rows: int) -> NDArray[np.float32]:
    try:
        found: NDArray[Any] = np.load(service.settings.data.probabilities(evaluation.id), allow_pickle=False)
    except FileNotFoundError:
        raise ConflictError(f"the outputs of evaluation {evaluation.id} are no longer there; evaluate again") from None
    if len(found) != rows:
        raise ConflictError(f"evaluation {evaluation.id} has {len(found):,} rows, the split has {rows:,} now")
    return found.astype(np.float32)
