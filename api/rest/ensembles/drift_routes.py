"""Drift: the inputs of recent requests to an ensemble against the training rows of its members; api."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from fastapi import APIRouter, Query

from podium.api.gateway.per_minute_traffic_recorder import saved_inputs
from podium.api.http.authentication import viewer
from podium.api.http.route_dependencies import RowId, context
from podium.api.http.service_context import ServiceContext
from podium.api.rest.schemas.base_schema import View
from podium.db.stores import ensemble_reader
from podium.ensemble.building import saved_trial_outputs
from podium.ensemble.scoring.input_drift import MIN_ROWS, NOTABLE, drift
from podium.ensemble.serving.input_feature_statistics import MAX_FEATURES, Moments

router = APIRouter(prefix="/api/v1/ensembles", tags=["ensembles"])
TRAIN_ROWS = 5_000  # evenly spaced, that the means are computed from
Training = tuple[Moments, tuple[str, ...]]


class FeatureDriftView(View):
    """A feature in the training rows and in recent requests. `difference` is in standard deviations (Cohen's d).

    It is null if the feature is constant in both, at different values.
    """

    feature: int
    name: str
    train_mean: float
    train_std: float
    recent_mean: float
    recent_std: float
    difference: float | None


class DriftView(View):
    """`problem` says why nothing is compared; `notable` features differ by more than `threshold`."""

    rows: int  # recent ones, sampled
    problem: str
    threshold: float
    notable: int
    features: list[FeatureDriftView]  # the largest differences first


@router.get("/{ensemble_id}/drift", dependencies=[viewer])
def show_drift(
    ensemble_id: RowId, most: Annotated[int, Query(ge=1, le=100)] = 10, service: ServiceContext = context
) -> DriftView:
    """How far the rows of the last hour are from the training rows of the active version, by feature."""
    with service.database.read() as connection:
        row = ensemble_reader.get(connection, ensemble_id)
    paths = [service.settings.data.recent_inputs(name) for name in service.settings.gateway_names]
    recent = saved_inputs(paths).get(ensemble_id)
    rows = 0 if recent is None else recent.rows
    if row.active.features > MAX_FEATURES:
        return _nothing(rows, f"rows with more than {MAX_FEATURES:,} features are not summarized")
    if recent is None or rows < MIN_ROWS:
        return _nothing(rows, f"{rows} of at least {MIN_ROWS} rows have been sampled in the last hour")
    model = saved_trial_outputs.model_path(service.settings.data, row.active.members[0].files)
    training = _training(model, service.settings.data.data_cache)
    if training is None:
        return _nothing(rows, "the members load their own data, which the service cannot read; set program.data")
    moments, names = training
    if len(moments.mean) != len(recent.mean):
        return _nothing(rows, f"requests had {len(recent.mean)} features, the training rows have {len(moments.mean)}")
    features, notable = drift((moments.mean, moments.std), (recent.mean, recent.std), most)
    views = [
        FeatureDriftView(name=names[each.feature] if names else f"feature {each.feature}", **_plain(each))
        for each in features
    ]
    return DriftView(rows=rows, problem="", threshold=NOTABLE, notable=notable, features=views)


@lru_cache(maxsize=32)
def _training(model: Path, cache: Path) -> Training | None:
    """The moments of the training rows of a model, and the names of the features; None if its code loads its data."""
    found = saved_trial_outputs.read_architecture(model)
    if found.data is None:
        return None
    data = found.load_rows(cache)
    inputs = data.inputs_of("train")
    step = max(1, len(inputs) // TRAIN_ROWS)
    return Moments.of(np.asarray(inputs[::step])), data.columns


def _nothing(rows: int, problem: str) -> DriftView:
    return DriftView(rows=rows, problem=problem, threshold=NOTABLE, notable=0, features=[])


def _plain(each: Any) -> dict[str, Any]:
    return {name: getattr(each, name) for name in each.__dataclass_fields__}
