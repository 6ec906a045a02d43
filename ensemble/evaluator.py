"""Asks a running ensemble for its predictions on a split and scores them; host process.

The rows go through the gateway, the way of every prediction, so what is measured is what users get.
"""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import httpx2
import numpy as np
from numpy.typing import NDArray
from safetensors import safe_open

from db.ensembles import EnsembleRow
from ensemble.evaluation import evaluate
from ensemble.spec import SERVING
from sweep import datasets
from sweep.errors import EnsembleError
from sweep.files import write_whole
from sweep.settings import ServiceSettings

BATCH_ROWS = 512
REQUEST_S = 60.0


class Evaluator:
    """Measures ensembles of one service."""

    def __init__(self, settings: ServiceSettings) -> None:
        self._settings = settings
        self._client: httpx2.Client | None = None

    def describe(self, models: Sequence[Path]) -> tuple[list[str], int]:
        """Classes and features that the members agree on, from their files' headers. Raises `EnsembleError`."""
        found: dict[tuple[tuple[str, ...], int], Path] = {}
        for path in models:
            architecture = read_architecture(path)
            key = (tuple(architecture["labels"]), int(np.prod(architecture["image"])))
            found.setdefault(key, path)
        if len(found) != 1:
            raise EnsembleError("the members differ in classes or inputs; choose trials of one data set")
        ((labels, features),) = found
        return list(labels), features

    def evaluate(self, row: EnsembleRow, model: Path, split: str, keep: Path) -> dict[str, Any]:
        """Scores on a split of the data the members were trained on; the probabilities go to `keep`.

        Raises `EnsembleError`.
        """
        if row.state not in SERVING:
            raise EnsembleError(f"ensemble {row.id} is {row.state}; evaluate it when it is ready")
        architecture = read_architecture(model)
        data = datasets.load(architecture["data"], architecture["split"], self._settings.data.data_cache)
        inputs, targets = data.split(split)
        answers = [
            self._predict(row.id, inputs[start : start + BATCH_ROWS]) for start in range(0, len(inputs), BATCH_ROWS)
        ]
        combined = np.concatenate([combined for combined, _ in answers])
        members = np.concatenate([members for _, members in answers], axis=1)
        content = io.BytesIO()
        np.save(content, combined, allow_pickle=False)
        write_whole(keep, content.getvalue())
        return {"mode": row.mode.value, **evaluate(split, combined, members, targets).to_dict()}

    def _predict(self, ensemble_id: int, rows: NDArray[Any]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Probabilities of the ensemble and of every member; all members must answer."""
        body = io.BytesIO()
        np.save(body, np.ascontiguousarray(rows, dtype=np.float32), allow_pickle=False)
        response = self._http().post(
            f"/api/v1/ensembles/{ensemble_id}/predict",
            params={"whole": True},
            content=body.getvalue(),
            headers={
                "Content-Type": "application/x-npy",
                "Authorization": f"Bearer {self._settings.data.admin_token.read_text().strip()}",
            },
        )
        answer = response.json()
        if response.status_code != 200:
            raise EnsembleError(f"the ensemble did not answer: {answer.get('detail', response.status_code)}")
        return (
            np.asarray(answer["outputs"], dtype=np.float32),
            np.asarray(answer["member_outputs"], dtype=np.float32),
        )

    def _http(self) -> httpx2.Client:
        if self._client is None:
            transport = httpx2.HTTPTransport(uds=str(self._settings.runtime.gateway_socket))
            self._client = httpx2.Client(transport=transport, base_url="http://gateway", timeout=REQUEST_S)
        return self._client


def read_architecture(path: Path) -> dict[str, Any]:
    """What a model file says of itself, without loading its weights. Raises `EnsembleError`."""
    try:
        with safe_open(path, framework="numpy") as file:
            metadata = file.metadata() or {}
        architecture: dict[str, Any] = json.loads(metadata["architecture"])
    except OSError as error:
        raise EnsembleError(f"cannot read {path}: {error}") from error
    except KeyError:
        raise EnsembleError(f"{path} does not say its architecture; it was not saved by a built-in model") from None
    except Exception as error:
        raise EnsembleError(f"{path} is damaged: {error}") from error
    return architecture
