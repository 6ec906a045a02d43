"""Sample rows over REST, from the data of an ensemble's members, for trying predictions; api."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
from fastapi import APIRouter, Query
from numpy.typing import NDArray

from podium.api.http.authentication import viewer
from podium.api.http.route_dependencies import RowId, context
from podium.api.http.service_context import ServiceContext
from podium.api.rest.schemas.base_schema import View
from podium.db.stores import ensemble_reader
from podium.ensemble.building import saved_trial_outputs
from podium.ensemble.values.ensemble_spec import Split, Task
from podium.sweep.data.memory_mapped_datasets import Dataset
from podium.sweep.values.errors import ConflictError

router = APIRouter(prefix="/api/v1/ensembles", tags=["ensembles"])
MAX_VALUES = 200_000  # per response
RANGE_ROWS = 256  # rows that `low` and `high` are computed from


class ImageView(View):
    """The shape of image rows, in channels-first, row-major order."""

    channels: int
    height: int
    width: int


class SamplesView(View):
    """Rows in the format of `predict`, with their labels or target values.

    `image` is null for tabular data; `columns` are the column names of a table, if it has names. `low` and `high` are
    the minimum and maximum of the first rows of the split.
    """

    split: str
    there: int  # rows in the split
    start: int
    inputs: list[list[float]]
    labels: list[str] | None  # for classification
    targets: list[list[float]] | None  # for regression
    image: ImageView | None
    columns: list[str]
    low: float
    high: float


@router.get("/{ensemble_id}/samples", dependencies=[viewer])
def show_samples(
    ensemble_id: RowId,
    split: Split = Split.TEST,
    start: Annotated[int, Query(ge=0, description="the first row, modulo the number of rows")] = 0,
    n: Annotated[int, Query(ge=1, le=100)] = 12,
    service: ServiceContext = context,
) -> SamplesView:
    """Sample rows. 409 if the members' code loads its own data, which the service cannot read."""
    with service.database.read() as connection:
        version = ensemble_reader.get(connection, ensemble_id).active
    found = saved_trial_outputs.read_architecture(
        saved_trial_outputs.model_path(service.settings.data, version.members[0].files)
    )
    if found.data is None:
        raise ConflictError(
            "the members load their own data, which the service cannot read; paste a row, or set program.data in the "
            "sweep file"
        )
    data = found.load_rows(service.settings.data.data_cache)
    return samples_of(data, found.task, split, start=start, n=n)


def samples_of(data: Dataset, task: Task, split: Split, *, start: int, n: int) -> SamplesView:
    """`n` rows of a split, from row `start`."""
    inputs, targets = data.inputs_of(split.value), data.targets_of(split.value)
    start %= max(1, len(inputs))
    some = slice(start, start + max(1, min(n, MAX_VALUES // data.inputs.shape[1])))
    classes = task is Task.CLASSIFICATION
    channels, height, width = data.image
    first = inputs[:RANGE_ROWS]
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
    """Shortest decimals: 0.1 as float32 is written 0.1, not 0.10000000149."""
    wide = rows.astype(np.float64)
    return wide if rows.dtype != np.float32 else np.asarray([[float(str(v)) for v in row] for row in rows])
