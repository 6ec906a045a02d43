"""Serializes a prediction as a response of the Open Inference Protocol; no I/O, gateway."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec
import numpy as np
import orjson

from podium.api.gateway.inference_request import InferenceRequest
from podium.api.gateway.output_tensors import BYTES, FP32, Tensor
from podium.ensemble.values.ensemble_snapshot import Snapshot
from podium.ensemble.values.ensemble_spec import Task
from podium.ensemble.values.prediction import Outcome, Prediction

# In the order of the response; shapes are those of one row.
PROBABILITIES = "PROBABILITIES"
LABEL = "LABEL"
ENTROPY = "ENTROPY"  # of the combined probabilities, in nats
MUTUAL_INFORMATION = (
    "MUTUAL_INFORMATION"  # the part of the entropy that is due to disagreement between members, in nats
)
VALUES = "VALUES"
VARIANCE = "VARIANCE"


def outputs_of(snapshot: Snapshot) -> dict[str, tuple[str, tuple[int, ...]]]:
    """The outputs of an ensemble by name: datatype and shape of one row."""
    columns = (snapshot.outputs,)
    if snapshot.combination.task is Task.REGRESSION:
        return {VALUES: (FP32, columns), VARIANCE: (FP32, columns)}
    return {PROBABILITIES: (FP32, columns), LABEL: (BYTES, ()), ENTROPY: (FP32, ()), MUTUAL_INFORMATION: (FP32, ())}


def write(prediction: Prediction, request: InferenceRequest) -> tuple[bytes, int | None]:
    """The response body, and the length of its JSON part if raw tensors follow it. The prediction must have outputs."""
    found = _tensors(prediction, {output.name for output in request.outputs})
    described, raw = [], []
    for output in request.outputs:
        tensor = found[output.name]
        description: dict[str, Any] = {"name": tensor.name, "datatype": tensor.datatype, "shape": tensor.shape}
        if output.binary:
            raw.append(tensor.as_bytes())
            description["parameters"] = {"binary_data_size": len(raw[-1])}
        else:
            description["data"] = tensor.as_json()
        described.append(description)
    head = orjson.dumps(_head(prediction, request, described), option=orjson.OPT_SERIALIZE_NUMPY)
    return (b"".join([head, *raw]), len(head)) if raw else (head, None)


def report(prediction: Prediction) -> dict[str, str | int | float | bool]:
    """The response parameters. The protocol allows scalars only: lists are JSON in a string."""
    snapshot = prediction.snapshot
    reports = zip(snapshot.members, prediction.reports, strict=False)
    members = [
        {
            **msgspec.structs.asdict(each),
            "status": each.status.value,
            "trial_number": member.trial_number,
            "sweep_id": member.sweep_id,
        }
        for member, each in reports
    ]
    return {
        "ensemble": snapshot.name,
        "version": snapshot.version,
        "mode": snapshot.mode.value,
        "outcome": prediction.outcome.value,
        "requested": len(snapshot.members),
        "answered": prediction.answered,
        "quorum": snapshot.quorum,
        "degraded": prediction.outcome is not Outcome.OK,
        "deadline_ms": prediction.deadline_ms,
        "total_ms": prediction.total_ms,
        "weights": orjson.dumps(list(map(float, prediction.weights))).decode(),
        "members": orjson.dumps(members).decode(),
    }


def _head(prediction: Prediction, request: InferenceRequest, outputs: list[dict[str, Any]]) -> dict[str, Any]:
    head: dict[str, Any] = {
        "model_name": prediction.snapshot.name,
        "model_version": str(prediction.snapshot.version),
        "parameters": report(prediction),
        "outputs": outputs,
    }
    return head if request.request_id is None else {"id": request.request_id, **head}


def _tensors(prediction: Prediction, names: Iterable[str]) -> dict[str, Tensor]:
    """The named outputs; no other output is computed."""
    outputs, names = prediction.outputs, set(names)
    assert outputs is not None
    values: dict[str, Any] = {PROBABILITIES: outputs, VALUES: outputs}
    if LABEL in names:
        classes = prediction.snapshot.classes
        values[LABEL] = [classes[index] for index in outputs.argmax(axis=1).tolist()]
    if names & {ENTROPY, MUTUAL_INFORMATION, VARIANCE}:
        values |= _uncertainty(prediction)
    shapes = {name: (len(outputs), *row) for name, (_, row) in outputs_of(prediction.snapshot).items()}
    return {name: Tensor(name, shapes[name], values[name]) for name in names}


def _uncertainty(prediction: Prediction) -> dict[str, Any]:
    found = prediction.uncertainty()
    if prediction.snapshot.combination.task is Task.REGRESSION:
        return {VARIANCE: np.asarray(found.variance, np.float32)}
    return {ENTROPY: found.entropy, MUTUAL_INFORMATION: found.mutual_information}
