"""A prediction in NumPy's .npy format, for clients that accept application/x-npy; api and gateway.

The array holds the combined outputs only. Headers report outcome and quorum, so that a degraded answer is recognized.
"""

from __future__ import annotations

import io

import numpy as np
from fastapi import Response

from podium.ensemble.values.prediction import Prediction

NPY = "application/x-npy"
JSON = "application/json"
OUTCOME, VERSION, ANSWERED, REQUESTED = HEADERS = (
    "Podium-Outcome",
    "Podium-Version",
    "Podium-Answered",
    "Podium-Requested",
)


def accepts_npy(accept: str) -> bool:
    """Whether an `Accept` header prefers .npy to JSON; of equal weights, the first wins."""
    if NPY not in accept:
        return False
    weights = dict(_weighted(item) for item in accept.split(","))
    npy = weights.get(NPY, 0.0)
    json = next((weights[kind] for kind in (JSON, "application/*", "*/*") if kind in weights), 0.0)
    if npy != json:
        return npy > json
    kinds = list(weights)
    return npy > 0 and (JSON not in weights or kinds.index(NPY) < kinds.index(JSON))


def _weighted(item: str) -> tuple[str, float]:
    """One media type of the header and its weight; 0 if the weight is not a number."""
    kind, *parameters = (part.strip() for part in item.split(";"))
    stated = next((text.removeprefix("q=") for text in parameters if text.startswith("q=")), "1")
    try:
        return kind, float(stated)
    except ValueError:
        return kind, 0.0


def write(prediction: Prediction) -> Response:
    """Float32 (rows, outputs): probabilities of the classes in their order, or values."""
    assert prediction.outputs is not None
    content = io.BytesIO()
    np.save(content, np.ascontiguousarray(prediction.outputs), allow_pickle=False)
    headers = {
        OUTCOME: prediction.outcome.value,
        VERSION: str(prediction.snapshot.version),
        ANSWERED: str(prediction.answered),
        REQUESTED: str(len(prediction.snapshot.members)),
    }
    return Response(content.getvalue(), headers=headers, media_type=NPY)
