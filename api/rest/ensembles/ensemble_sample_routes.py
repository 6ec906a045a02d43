"""Rows of the data that an ensemble's networks were trained beside, to try a prediction with; api."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
from fastapi import APIRouter, Query
from numpy.typing import NDArray

from podium.api.http.authentication import viewer
from podium.api.http.route_context import RowId, ServiceContext, context
from podium.api.rest.models.response_models import View
from podium.db.stores import ensembles
from podium.ensemble.building import trial_outputs
from podium.ensemble.values.ensemble_spec import Split, Task
from podium.sweep.data.datasets import Dataset
from podium.sweep.values.errors import ConflictError

router = APIRouter(prefix="/api/v1/ensembles", tags=["ensembles"])
MAX_VALUES = 200_000  # of all the rows of one answer
LOOKED_AT = 256  # rows, for what values there are


class ImageView(View):
    """The rows are images: a row has channel by channel, in each line by line."""

    channels: int
    height: int
    width: int


class SamplesView(View):
    """Rows as `predict` takes them, with what is true of them.

    `image` is null where the rows are those of a table; `columns` names the values of a table, if they
    have names. `low` and `high` are the least and the largest value of the first rows of the split.
    """

    split: str
    there: int  # rows in the split
    start: int
    inputs: list[list[float]]
    labels: list[str] | None  # of classes
    targets: list[list[float]] | None  # of values
    image: ImageView | None
    columns: list[str]
    low: float
    high: float


@router.get("/{ensemble_id}/samples", dependencies=[viewer])
def show_samples(
    ensemble_id: RowId,
    split: Split = Split.TEST,
    start: Annotated[int, Query(ge=0, description="the first row; beyond the last one it begins anew")] = 0,
    n: Annotated[int, Query(ge=1, le=100)] = 12,
    service: ServiceContext = context,
) -> SamplesView:
    """Rows to try. 409 where the networks' own code brought the data: those rows are not known here."""
    with service.database.read() as connection:
        version = ensembles.get(connection, ensemble_id).active
    found = trial_outputs.read_architecture(trial_outputs.model_path(service.settings.data, version.members[0].files))
    if found.data is None:
        raise ConflictError(
            "the members brought data of their own, whose rows are not known here; paste a row, or name the data in "
            "the sweep file (program.data)"
        )
    data = found.load_rows(service.settings.data.data_cache)
    return samples_of(data, found.task, split, start, n)


def samples_of(data: Dataset, task: Task, split: Split, start: int, n: int) -> SamplesView:
    """`n` rows of a split from row `start` on."""
    inputs, targets = data.inputs_of(split.value), data.targets_of(split.value)
    start %= max(1, len(inputs))
    some = slice(start, start + max(1, min(n, MAX_VALUES // data.inputs.shape[1])))
    classes = task is Task.CLASSIFICATION
    channels, height, width = data.image
    first = inputs[:LOOKED_AT]
    return SamplesView(
        split=split.value,
        there=len(inputs),
        start=start,
        inputs=_floats(inputs[some]).tolist(),
        labels=[data.classes[number] for number in targets[some]] if classes else None,
        targets=None if classes else _floats(targets[some]).tolist(),
        image=None if data.image[:2] == (1, 1) else ImageView(channels=channels, height=height, width=width),
        columns=list(data.columns),
        low=float(str(first.min())),
        high=float(str(first.max())),
    )


def _floats(rows: NDArray[Any]) -> NDArray[np.float64]:
    """As JSON: 0.1 of float32 is 0.1, not 0.10000000149."""
    wide = rows.astype(np.float64)
    return wide if rows.dtype != np.float32 else np.asarray([[float(str(v)) for v in row] for row in rows])
