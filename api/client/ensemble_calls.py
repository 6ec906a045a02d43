"""The ensembles of a service as methods of the Python client; the user's process and the CLI."""

from __future__ import annotations

import io
import time
from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from podium.api.client.connection import Connection
from podium.api.client.ensemble_responses import EnsembleInfo, EvaluationInfo, Prediction
from podium.api.client.ensemble_traffic_and_drift_responses import DriftInfo, EnsembleEvent, TrafficInfo
from podium.sweep.values.errors import EnsembleError, NotFoundError, ServiceError

SERVING = ("ready", "degraded")
PENDING = ("starting", "warming", "restarting")
EnsembleName: TypeAlias = int | str
Rows: TypeAlias = Sequence[Any] | NDArray[Any]


class EnsembleCalls(Connection):
    """Build, query, evaluate and control ensembles. Every ensemble may be given by id or name."""

    def build_ensemble(self, sweep_id: int | None = None, **options: Any) -> EnsembleInfo:
        """Build an ensemble of a sweep's best trials or of `trial_ids`; `EnsembleRequest` documents the options."""
        return self._answer(EnsembleInfo, "POST", "/api/v1/ensembles", json=_version(sweep_id, options))

    def add_version(
        self, ensemble: EnsembleName, sweep_id: int | None = None, *, canary_share: float | None = None, **options: Any
    ) -> EnsembleInfo:
        """Build another version: it becomes active when ready, or answers `canary_share` of the requests."""
        body = _version(sweep_id, options) | ({} if canary_share is None else {"canary_share": canary_share})
        return self._answer(EnsembleInfo, "POST", f"{self._path(ensemble)}/versions", json=body)

    def ensembles(self) -> Iterator[EnsembleInfo]:
        """All ensembles, newest first."""
        return self._pages(EnsembleInfo, "/api/v1/ensembles")

    def ensemble(self, ensemble: EnsembleName) -> EnsembleInfo:
        """An ensemble. Raises `NotFoundError`."""
        return self._answer(EnsembleInfo, "GET", self._path(ensemble))

    def wait_ensemble(self, ensemble: EnsembleName, timeout_s: float = 120.0) -> EnsembleInfo:
        """Wait until all members are ready. Raises `ServiceError` if they fail, or after `timeout_s`."""
        end = time.monotonic() + timeout_s
        while (found := self.ensemble(ensemble))["state"] != "ready":
            if settled(found) or time.monotonic() > end:
                raise ServiceError(f"ensemble {ensemble} is {found['state']}: {found['reason']}")
            time.sleep(self.poll_s)
        return found

    def start_ensemble(self, ensemble: EnsembleName) -> EnsembleInfo:
        """Start a stopped ensemble."""
        return self._command(ensemble, "start")

    def stop_ensemble(self, ensemble: EnsembleName) -> EnsembleInfo:
        """Stop an ensemble and release its devices; it can be started again."""
        return self._command(ensemble, "stop")

    def retire_ensemble(self, ensemble: EnsembleName) -> EnsembleInfo:
        """Retire an ensemble permanently; its evaluations are kept."""
        return self._command(ensemble, "retire")

    def promote(self, ensemble: EnsembleName) -> EnsembleInfo:
        """Make the canary the active version. Raises `PodiumError` if there is none."""
        return self._command(ensemble, "promote")

    def roll_back(self, ensemble: EnsembleName) -> EnsembleInfo:
        """Cancel the pending version, or return to the previous one."""
        return self._command(ensemble, "rollback")

    def evaluate(
        self,
        ensemble: EnsembleName,
        split: str = "test",
        *,
        force: bool = False,
        version: int | None = None,
        inputs: Rows | None = None,
        targets: Rows | None = None,
    ) -> EvaluationInfo:
        """Score an ensemble and its members on a split, or on `inputs` (rows, features) and their `targets`.

        `targets` are classes (rows,), by name or index, or values (rows, outputs). A split that was used for selection
        or fitting requires `force`. Waits for the result. Raises `PodiumError` if the evaluation fails.
        """
        body: dict[str, Any] = {} if version is None else {"version": version}
        if inputs is None:
            body |= {"split": split, "force": force}
        else:
            body |= {"inputs": np.asarray(inputs).tolist(), "targets": np.asarray(targets).tolist()}
        path = f"{self._path(ensemble)}/evaluate"
        found = self._answer(EvaluationInfo, "POST", path, json=body)
        while found["state"] not in ("finished", "failed"):
            time.sleep(self.poll_s)
            found = self.evaluation(found["ensemble_id"], found["id"])
        if found["state"] == "failed":
            raise EnsembleError(found["reason"])
        return found

    def evaluation(self, ensemble: EnsembleName, evaluation_id: int) -> EvaluationInfo:
        """An evaluation, finished or not."""
        return self._answer(EvaluationInfo, "GET", f"{self._path(ensemble)}/evaluations/{evaluation_id}")

    def probabilities(self, ensemble: EnsembleName, evaluation_id: int) -> NDArray[np.float32]:
        """The predictions of the ensemble in an evaluation: (rows, outputs)."""
        path = f"{self._path(ensemble)}/evaluations/{evaluation_id}/probabilities"
        content = self._request("GET", path).content
        return np.asarray(np.load(io.BytesIO(content), allow_pickle=False), dtype=np.float32)

    def traffic(self, ensemble: EnsembleName, minutes: int = 15) -> TrafficInfo:
        """Requests, latency and late replies of the last minutes, up to 1,440."""
        return self._answer(TrafficInfo, "GET", f"{self._path(ensemble)}/traffic", params={"minutes": minutes})

    def ensemble_events(self, ensemble: EnsembleName, limit: int = 50) -> list[EnsembleEvent]:
        """The last events of an ensemble, newest first."""
        return self._answer(list[EnsembleEvent], "GET", f"{self._path(ensemble)}/events", params={"limit": limit})

    def drift(self, ensemble: EnsembleName, most: int = 10) -> DriftInfo:
        """The features of recent requests that differ most from the training rows."""
        return self._answer(DriftInfo, "GET", f"{self._path(ensemble)}/drift", params={"most": most})

    def predict(
        self, ensemble: EnsembleName, inputs: Rows, deadline_ms: float | None = None, *, whole: bool = False
    ) -> Prediction:
        """Predict rows of numbers, (rows, features); a numpy array is sent in binary.

        `whole` waits for every member without a deadline and returns each member's outputs too. Raises `PodiumError`
        if fewer members than the quorum answer before the deadline.
        """
        path = f"{self._path(ensemble)}/predict"
        _check_rows(inputs)
        if not isinstance(inputs, np.ndarray):
            body = {"inputs": inputs, "deadline_ms": deadline_ms}
            return self._answer(Prediction, "POST", path, json=body, params={"whole": whole})
        params = {"whole": whole} | ({} if deadline_ms is None else {"deadline_ms": deadline_ms})
        headers = {"Content-Type": "application/x-npy"}
        return self._answer(Prediction, "POST", path, content=_npy(inputs), params=params, headers=headers)

    def _path(self, ensemble: EnsembleName) -> str:
        """The URL path of an ensemble; a name is looked up. Raises `NotFoundError`."""
        if not str(ensemble).isdecimal():
            named = (found["id"] for found in self.ensembles() if found["name"] == ensemble)
            ensemble_id = next(named, None)
            if ensemble_id is None:
                raise NotFoundError(f"there is no ensemble {ensemble!r}; `podium ensemble list` lists all ensembles")
            ensemble = ensemble_id
        return f"/api/v1/ensembles/{ensemble}"

    def _command(self, ensemble: EnsembleName, command: str) -> EnsembleInfo:
        return self._answer(EnsembleInfo, "POST", f"{self._path(ensemble)}/{command}")


def settled(ensemble: EnsembleInfo) -> bool:
    """Whether the state is final until somebody acts: ready, degraded with no member pending, stopped or retired."""
    if ensemble["state"] in ("ready", "stopped", "retired"):
        return True
    if ensemble["state"] in ("building", "warming"):  # the host leaves these states after the last member
        return False
    return not any(member["state"] in PENDING for member in ensemble["members"])


def serves(ensemble: EnsembleInfo) -> bool:
    """Whether it answers requests."""
    return ensemble["state"] in SERVING


def _version(sweep_id: int | None, options: dict[str, Any]) -> dict[str, Any]:
    return options if sweep_id is None else {"sweep_id": sweep_id, **options}


def _npy(array: NDArray[Any]) -> bytes:
    stream = io.BytesIO()
    np.save(stream, array, allow_pickle=False)
    return stream.getvalue()


def _check_rows(inputs: Rows) -> None:
    """Raises `EnsembleError` unless `inputs` is an array of numbers."""
    try:
        kind = np.asarray(inputs).dtype
    except ValueError:
        raise EnsembleError("inputs must be rows of numbers, all of the same length") from None
    if kind.kind not in "fiub":
        raise EnsembleError(f"inputs must be rows of numbers, not {kind}")
