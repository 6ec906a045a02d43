"""Evaluates a running ensemble: requests its predictions on a split and scores them; host process, background thread.

The rows are sent through the gateway like any request, so the evaluation measures what users receive.
"""

from __future__ import annotations

import io
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import httpx2
import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import load_file

from podium.db.stores.ensemble_evaluations import EvaluationRow
from podium.db.stores.ensemble_reader import EnsembleRow, MemberRow, VersionRow
from podium.ensemble.building import saved_trial_outputs
from podium.ensemble.building.saved_trial_outputs import Architecture
from podium.ensemble.host.precision_decisions import worker_threads
from podium.ensemble.host.precision_measurement_runner import Measure
from podium.ensemble.protocol.gateway_http_client import BASE_URL, GatewayTransport
from podium.ensemble.scoring.ensemble_and_member_evaluation import evaluate
from podium.ensemble.values.ensemble_spec import POSTED, Precision, Split
from podium.ensemble.values.selection_and_fitting_splits import used_splits
from podium.ensemble.worker.model_file_spec import ModelFile
from podium.ensemble.worker.precision_measurement_messages import MeasurementRequest, MeasurementResult
from podium.sweep.data.memory_mapped_datasets import SplitInputs
from podium.sweep.runtime.atomic_files import write_atomic
from podium.sweep.runtime.clock import Clock, SystemClock
from podium.sweep.runtime.service_settings import ServiceSettings
from podium.sweep.values.errors import EnsembleError

BATCH_ROWS = 512
REQUEST_S = 120.0
RETRY_S = 10.0  # a member that dies is usually restarted sooner
PAUSE_S = 0.5
_RETRY_STATUSES = (429, 503)


class Evaluator:
    """Evaluates the ensembles of one service."""

    def __init__(
        self,
        settings: ServiceSettings,
        measure: Measure | None = None,
        client: httpx2.Client | None = None,
        *,
        clock: Clock | None = None,
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        self._settings = settings
        self._measure = measure
        self._client = client
        self._clock = clock or SystemClock()
        self._pause = pause

    def evaluate(self, row: EnsembleRow, evaluation: EvaluationRow, predictions_path: Path) -> dict[str, Any]:
        """Evaluate on a split of the members' training data, or on posted rows, and write the predictions to a file."""
        version = row.versions[evaluation.version]
        architectures = [saved_trial_outputs.read_architecture(self._model(member)) for member in version.members]
        inputs, targets = self._rows(evaluation, architectures[0])
        combined, members = self._predict_all(row.id, version.number, inputs)
        content = io.BytesIO()
        np.save(content, combined, allow_pickle=False)
        write_atomic(predictions_path, content.getvalue())
        found = evaluate(
            evaluation.split,
            members,
            targets,
            version.combination,
            quorum=version.quorum,
            best_member=version.selection["best_member"],
            calibration=self._calibration(version, architectures),
            combined=combined,
            flags=_flags(version, architectures, evaluation.split),
            names=[member.name for member in version.members],
        )
        precisions = self._precisions(version, evaluation)
        return {"mode": version.mode.value, "version": version.number, "precisions": precisions, **found.to_dict()}

    def _precisions(self, version: VersionRow, evaluation: EvaluationRow) -> list[dict[str, Any]]:
        """The figures of members with a lower precision, in it and in float32, on the same rows."""
        found = []
        posted = str(self._settings.data.posted_rows(evaluation.id)) if evaluation.split == POSTED else ""
        for member in version.members:
            if self._measure is None or member.requested_precision is Precision.FLOAT32:
                continue
            request = MeasurementRequest(
                ModelFile(str(self._model(member)), member.files.model_sha256 or "", 0, str(self._settings.data.root)),
                (Precision.FLOAT32, member.requested_precision),
                threads=worker_threads(version),
                split="" if posted else evaluation.split,
                posted=posted,
                max_rows=sys.maxsize,
            )
            try:
                result = self._measure(request)
            except EnsembleError as error:
                result = MeasurementResult(problem=str(error))  # the scores of what is served do not depend on it
            served = (member.precision or Precision.FLOAT32).value
            about = {"position": member.position, "served": served, "device": result.device, "problem": result.problem}
            found.append({**about, "figures": [asdict(figures) for figures in result.figures]})
        return found

    def _rows(
        self, evaluation: EvaluationRow, architecture: Architecture
    ) -> tuple[NDArray[Any] | SplitInputs, NDArray[Any]]:
        if evaluation.split == POSTED:
            posted = load_file(self._settings.data.posted_rows(evaluation.id))
            return posted["inputs"], posted["targets"]
        if architecture.data is None:
            raise EnsembleError(
                f"the {evaluation.split} rows are unknown: the members loaded their own data; post rows with targets, "
                "or set program.data in the sweep file"
            )
        data = architecture.load_rows(self._settings.data.data_cache)
        return data.inputs_of(evaluation.split), data.targets_of(evaluation.split)

    def _calibration(
        self, version: VersionRow, architectures: Sequence[Architecture]
    ) -> tuple[NDArray[np.float32], NDArray[Any]] | None:
        """The members' predictions on the calibration rows, with targets; None if they saved none."""
        if not _same_rows(architectures):
            return None
        data = self._settings.data
        files = [member.files for member in version.members]
        try:
            predictions = [saved_trial_outputs.read_predictions(data, trial, Split.CALIBRATION) for trial in files]
            targets = saved_trial_outputs.targets_of(data, files, architectures[0], Split.CALIBRATION)
            return np.stack(predictions), targets
        except EnsembleError:
            return None

    def _predict_all(
        self, ensemble_id: int, version: int, inputs: NDArray[Any] | SplitInputs
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Request predictions: combined (rows, outputs), and of every member (members, rows, outputs)."""
        starts = range(0, len(inputs), BATCH_ROWS)
        answers = [self.predict(ensemble_id, version, inputs[start : start + BATCH_ROWS]) for start in starts]
        return (
            np.concatenate([combined for combined, _ in answers]),
            np.concatenate([members for _, members in answers], axis=1),
        )

    def predict(
        self, ensemble_id: int, version: int, rows: NDArray[Any]
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Predictions of `rows` (rows, features): combined (rows, outputs), of every member (members, rows, outputs).

        Retries for up to `RETRY_S` while a member is unavailable. Raises `EnsembleError` if it stays unavailable, or if
        the gateway refuses the request or is unreachable.
        """
        body = io.BytesIO()
        np.save(body, np.ascontiguousarray(rows, dtype=np.float32), allow_pickle=False)
        retry_until_s = self._clock.monotonic_s() + RETRY_S
        response = self._post(ensemble_id, version, body.getvalue())
        while response.status_code in _RETRY_STATUSES and self._clock.monotonic_s() < retry_until_s:
            self._pause(PAUSE_S)
            response = self._post(ensemble_id, version, body.getvalue())
        answer = response.json()
        if response.status_code != 200:
            detail = answer.get("detail", response.status_code)
            raise EnsembleError(f"an evaluation needs all members: {detail}; retry when all are ready")
        return (
            np.asarray(answer["outputs"], dtype=np.float32),
            np.asarray(answer["member_outputs"], dtype=np.float32),
        )

    def _post(self, ensemble_id: int, version: int, content: bytes) -> httpx2.Response:
        try:
            return self._http().post(
                f"/api/v1/ensembles/{ensemble_id}/predict",
                params={"whole": True, "version": version},
                content=content,
                headers={
                    "Content-Type": "application/x-npy",
                    "Authorization": f"Bearer {self._settings.data.admin_token.read_text().strip()}",
                },
            )
        except httpx2.HTTPError as error:
            raise EnsembleError(f"the gateway is unreachable: {error}; retry when it is running") from error

    def _model(self, member: MemberRow) -> Path:
        return saved_trial_outputs.model_path(self._settings.data, member.files)

    def _http(self) -> httpx2.Client:
        if self._client is None:
            self._client = gateway_client(self._settings)
        return self._client


def gateway_client(settings: ServiceSettings) -> httpx2.Client:
    """An HTTP client of the gateways, through their Unix sockets; reads no certificate authorities."""
    transport = GatewayTransport(settings.gateway_sockets)
    return httpx2.Client(transport=transport, base_url=BASE_URL, timeout=REQUEST_S, trust_env=False)


def _same_rows(architectures: Sequence[Architecture]) -> bool:
    return all(other.same_rows(architectures[0]) for other in architectures)


def _flags(version: VersionRow, architectures: Sequence[Architecture], split: str) -> list[str]:
    """Warnings that limit what the scores mean."""
    flags = [reason for used, reason in used_splits(version.selection).items() if used.value == split]
    if split != POSTED and not _same_rows(architectures):
        flags.append(
            "the members were trained on different splits of the data: some may have been trained on these rows"
        )
    return flags
