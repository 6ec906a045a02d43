"""The ensembles of a service, as methods of the Python client; cli, notebooks."""

from __future__ import annotations

import io
import time
from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from podium.api.client.connection import Connection
from podium.sweep.values.errors import EnsembleError, NotFoundError, ServiceError

SERVING = ("ready", "degraded")
COMING = ("starting", "warming", "restarting")
EnsembleName: TypeAlias = int | str
Rows: TypeAlias = Sequence[Any] | NDArray[Any]


class EnsembleCalls(Connection):
    """Ensembles built, asked, measured and steered. Every one may be named by its id or by its name."""

    def build_ensemble(self, sweep_id: int | None = None, **options: Any) -> dict[str, Any]:
        """Build an ensemble of a sweep's best trials, or of `trial_ids`; see `EnsembleRequest` for the options."""
        return self._object("POST", "/api/v1/ensembles", json=_version(sweep_id, options))

    def add_version(
        self, ensemble: EnsembleName, sweep_id: int | None = None, *, canary_share: float | None = None, **options: Any
    ) -> dict[str, Any]:
        """Build another version: it takes over when it is ready, or answers `canary_share` of the requests."""
        body = _version(sweep_id, options) | ({} if canary_share is None else {"canary_share": canary_share})
        return self._object("POST", f"{self._ensemble(ensemble)}/versions", json=body)

    def ensembles(self) -> Iterator[dict[str, Any]]:
        """All ensembles, newest first."""
        return self._pages("/api/v1/ensembles")

    def ensemble(self, ensemble: EnsembleName) -> dict[str, Any]:
        """One ensemble. Raises `NotFoundError`."""
        return self._object("GET", self._ensemble(ensemble))

    def wait_ensemble(self, ensemble: EnsembleName, timeout_s: float = 120.0) -> dict[str, Any]:
        """The ensemble when all its members are ready. Raises `ServiceError` when they cannot be, or take too long."""
        end = time.monotonic() + timeout_s
        while (found := self.ensemble(ensemble))["state"] != "ready":
            if settled(found) or time.monotonic() > end:
                raise ServiceError(f"ensemble {ensemble} is {found['state']}: {found['reason']}")
            time.sleep(self.poll_s)
        return found

    def start_ensemble(self, ensemble: EnsembleName) -> dict[str, Any]:
        """Have its members again, after it was stopped."""
        return self._tell(ensemble, "start")

    def stop_ensemble(self, ensemble: EnsembleName) -> dict[str, Any]:
        """End the members and give their devices back; it can be started again."""
        return self._tell(ensemble, "stop")

    def retire_ensemble(self, ensemble: EnsembleName) -> dict[str, Any]:
        """End it for good; its evaluations stay."""
        return self._tell(ensemble, "retire")

    def promote(self, ensemble: EnsembleName) -> dict[str, Any]:
        """Let the canary answer everything. Raises `PodiumError` when there is none."""
        return self._tell(ensemble, "promote")

    def roll_back(self, ensemble: EnsembleName) -> dict[str, Any]:
        """Drop the version on its way, or go back to the one before."""
        return self._tell(ensemble, "rollback")

    def evaluate(
        self,
        ensemble: EnsembleName,
        split: str = "test",
        *,
        force: bool = False,
        version: int | None = None,
        inputs: Rows | None = None,
        targets: Rows | None = None,
    ) -> dict[str, Any]:
        """Scores of an ensemble and its members on a split, or on `inputs` (rows, features) and their `targets`.

        `targets` are classes (rows,), by name or number, or values (rows, outputs). A split that something was chosen
        or fitted by needs `force`. Waits until it is done. Raises `PodiumError` when it cannot be.
        """
        body: dict[str, Any] = {} if version is None else {"version": version}
        if inputs is None:
            body |= {"split": split, "force": force}
        else:
            body |= {"inputs": np.asarray(inputs).tolist(), "targets": np.asarray(targets).tolist()}
        path = f"{self._ensemble(ensemble)}/evaluate"
        found = self._object("POST", path, json=body)
        while found["state"] not in ("finished", "failed"):
            time.sleep(self.poll_s)
            found = self.evaluation(found["ensemble_id"], found["id"])
        if found["state"] == "failed":
            raise EnsembleError(found["reason"])
        return found

    def evaluation(self, ensemble: EnsembleName, evaluation_id: int) -> dict[str, Any]:
        """An evaluation, done or under way."""
        return self._object("GET", f"{self._ensemble(ensemble)}/evaluations/{evaluation_id}")

    def probabilities(self, ensemble: EnsembleName, evaluation_id: int) -> NDArray[np.float32]:
        """What the ensemble said of each row in an evaluation: (rows, outputs)."""
        path = f"{self._ensemble(ensemble)}/evaluations/{evaluation_id}/probabilities"
        content = self._request("GET", path).content
        return np.asarray(np.load(io.BytesIO(content), allow_pickle=False), dtype=np.float32)

    def predict(
        self, ensemble: EnsembleName, inputs: Rows, deadline_ms: float | None = None, *, whole: bool = False
    ) -> dict[str, Any]:
        """The ensemble's answer for rows of numbers, (rows, features); an array of numpy is sent as it is.

        `whole` waits for every member, however long it takes, and returns its outputs too. Raises `PodiumError` when
        fewer members than the quorum answer in time.
        """
        path = f"{self._ensemble(ensemble)}/predict"
        _check_rows(inputs)
        if not isinstance(inputs, np.ndarray):
            body = {"inputs": inputs, "deadline_ms": deadline_ms}
            return self._object("POST", path, json=body, params={"whole": whole})
        params = {"whole": whole} | ({} if deadline_ms is None else {"deadline_ms": deadline_ms})
        headers = {"Content-Type": "application/x-npy"}
        return self._object("POST", path, content=_npy(inputs), params=params, headers=headers)

    def _ensemble(self, ensemble: EnsembleName) -> str:
        """The path of an ensemble; a name is looked up. Raises `NotFoundError`."""
        if not str(ensemble).isdecimal():
            named = (found["id"] for found in self.ensembles() if found["name"] == ensemble)
            ensemble_id = next(named, None)
            if ensemble_id is None:
                raise NotFoundError(f"there is no ensemble {ensemble!r}; `podium ensemble list` says which there are")
            ensemble = ensemble_id
        return f"/api/v1/ensembles/{ensemble}"

    def _tell(self, ensemble: EnsembleName, what: str) -> dict[str, Any]:
        return self._object("POST", f"{self._ensemble(ensemble)}/{what}")


def settled(ensemble: dict[str, Any]) -> bool:
    """Whether waiting changes nothing: it is as ready as it gets, or over."""
    if ensemble["state"] in ("ready", "stopped", "retired"):
        return True
    if ensemble["state"] in ("building", "warming"):  # the host ends these itself, a moment after the last member
        return False
    return not any(member["state"] in COMING for member in ensemble["members"])


def serves(ensemble: dict[str, Any]) -> bool:
    """Whether it answers."""
    return ensemble["state"] in SERVING


def _version(sweep_id: int | None, options: dict[str, Any]) -> dict[str, Any]:
    return options if sweep_id is None else {"sweep_id": sweep_id, **options}


def _npy(array: NDArray[Any]) -> bytes:
    stream = io.BytesIO()
    np.save(stream, array, allow_pickle=False)
    return stream.getvalue()


def _check_rows(inputs: Rows) -> None:
    """Raises `EnsembleError` for what is no array of numbers: texts, rows of different lengths."""
    try:
        kind = np.asarray(inputs).dtype
    except ValueError:
        raise EnsembleError("inputs: rows of numbers are wanted, all of the same length") from None
    if kind.kind not in "fiub":
        raise EnsembleError(f"inputs: rows of numbers are wanted, not {kind}")
