"""The Python client: the nouns of the REST API as methods; also what the command line speaks through."""

from __future__ import annotations

import io
import json
import os
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, TypeAlias
from urllib.parse import quote

import httpx2
import numpy as np
from numpy.typing import NDArray

from sweep import bundles
from sweep.errors import (
    EnsembleError,
    InvalidSpecError,
    NotFoundError,
    NotPossibleError,
    PodiumError,
    Problem,
    ServiceError,
)
from sweep.layout import DataDirectory, default_data_directory
from sweep.service_state import lives

POLL_S = 0.2
SERVING = ("ready", "degraded")
COMING = ("starting", "warming", "restarting")
EnsembleName: TypeAlias = int | str
Rows: TypeAlias = Sequence[Any] | NDArray[Any]


class Client:
    """Talks to one service. Every method raises `PodiumError` with the server's own words when it says no."""

    def __init__(self, url: str, token: str, timeout_s: float = 70.0) -> None:
        self._http = httpx2.Client(
            base_url=url, headers={"Authorization": f"Bearer {token}"}, timeout=timeout_s, trust_env=False
        )
        self.url = url

    @classmethod
    def of(cls, data_dir: Path | None = None) -> Client:
        """The service that runs on a data directory. Raises `ServiceError` when there is none."""
        data = DataDirectory(data_dir or default_data_directory())
        try:
            about = json.loads(data.service_file.read_text())
            token = data.admin_token.read_text().strip()
            if not lives(about.get("pid", os.getpid())):
                raise ValueError("what is written there was left by a service that was killed")
        except (OSError, ValueError) as error:
            raise ServiceError(f"no service runs on {data.root}; start one with `podium serve`") from error
        return cls(about["url"], token)

    def close(self) -> None:
        self._http.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # Sweeps.

    def submit(self, document: dict[str, Any], *, idempotency_key: str | None = None) -> dict[str, Any]:
        """Submit a sweep; code named by `program.code` is uploaded first. Raises `InvalidSpecError`."""
        headers = {} if idempotency_key is None else {"Idempotency-Key": idempotency_key}
        return self._object("POST", "/api/v1/sweeps", json=self._with_bundle(document), headers=headers)

    def sweeps(self) -> Iterator[dict[str, Any]]:
        """All sweeps, newest first."""
        return self._pages("/api/v1/sweeps")

    def sweep(self, sweep_id: int) -> dict[str, Any]:
        """One sweep."""
        return self._object("GET", f"/api/v1/sweeps/{sweep_id}")

    def pause_sweep(self, sweep_id: int) -> dict[str, Any]:
        """Start nothing new of a sweep. Raises `NotPossibleError`, as all that change one, where it cannot be."""
        return self._object("POST", f"/api/v1/sweeps/{sweep_id}/pause")

    def resume_sweep(self, sweep_id: int) -> dict[str, Any]:
        """Go on with a paused sweep."""
        return self._object("POST", f"/api/v1/sweeps/{sweep_id}/resume")

    def stop_sweep(self, sweep_id: int) -> dict[str, Any]:
        """Let what runs end, then finish."""
        return self._object("POST", f"/api/v1/sweeps/{sweep_id}/stop")

    def cancel_sweep(self, sweep_id: int) -> dict[str, Any]:
        """End a sweep now."""
        return self._object("POST", f"/api/v1/sweeps/{sweep_id}/cancel")

    def extend_sweep(
        self, sweep_id: int, run_cap: int | None = None, *, priority: float | None = None
    ) -> dict[str, Any]:
        """Let `run_cap` trials count in all, or change the priority; a finished sweep goes on."""
        body = {"run_cap": run_cap, "priority": priority}
        return self._object("PATCH", f"/api/v1/sweeps/{sweep_id}", json=body)

    def best(self, sweep_id: int, k: int = 1) -> list[dict[str, Any]]:
        """The `k` best finished trials."""
        found: list[dict[str, Any]] = self._json("GET", f"/api/v1/sweeps/{sweep_id}/best", params={"k": k})
        return found

    def trials(self, sweep_id: int) -> Iterator[dict[str, Any]]:
        """The trials of a sweep, by number."""
        return self._pages(f"/api/v1/sweeps/{sweep_id}/trials", limit=1000)

    def wait(self, sweep_id: int, timeout_s: float | None = None) -> dict[str, Any]:
        """The sweep when it is over. Raises `ServiceError` when it is not within `timeout_s`."""
        end = None if timeout_s is None else time.monotonic() + timeout_s
        while (sweep := self.sweep(sweep_id))["state"] not in ("finished", "failed", "cancelled"):
            if end is not None and time.monotonic() > end:
                raise ServiceError(f"sweep {sweep_id} is still {sweep['state']} after {timeout_s:g} s")
            time.sleep(POLL_S)
        return sweep

    # Trials and devices.

    def trial(self, trial_id: int) -> dict[str, Any]:
        """One trial with its attempts."""
        return self._object("GET", f"/api/v1/trials/{trial_id}")

    def stop_trial(self, trial_id: int) -> dict[str, Any]:
        """End a trial; its sweep goes on. Raises `NotPossibleError`, as `retry_trial` does, where it cannot be."""
        return self._object("POST", f"/api/v1/trials/{trial_id}/stop")

    def retry_trial(self, trial_id: int) -> dict[str, Any]:
        """Run a trial again that failed or was cancelled."""
        return self._object("POST", f"/api/v1/trials/{trial_id}/retry")

    def clone_trial(
        self, trial_id: int, params: dict[str, Any] | None = None, *, idempotency_key: str | None = None
    ) -> dict[str, Any]:
        """Add a trial with the same parameters, but for `params`, to its sweep. Raises `InvalidSpecError`."""
        headers = {} if idempotency_key is None else {"Idempotency-Key": idempotency_key}
        body = {"params": params or {}}
        return self._object("POST", f"/api/v1/trials/{trial_id}/clone", json=body, headers=headers)

    def metrics(self, trial_id: int) -> dict[str, list[list[float]]]:
        """Each metric of a trial as [step, value] pairs."""
        return self._object("GET", f"/api/v1/trials/{trial_id}/metrics")

    def log(self, trial_id: int) -> str:
        """The end of what the trial printed."""
        return self._request("GET", f"/api/v1/trials/{trial_id}/log").text

    def devices(self) -> list[dict[str, Any]]:
        """Every device."""
        found: list[dict[str, Any]] = self._json("GET", "/api/v1/devices")
        return found

    def drain_device(self, device_id: str, reason: str | None = None) -> dict[str, Any]:
        """Give a device no more trials until it is returned. Raises `NotFoundError`."""
        body = {} if reason is None else {"reason": reason}
        return self._object("POST", f"/api/v1/devices/{quote(device_id, safe='')}/drain", json=body)

    def return_device(self, device_id: str) -> dict[str, Any]:
        """Give a device trials again. Raises `NotFoundError`."""
        return self._object("POST", f"/api/v1/devices/{quote(device_id, safe='')}/return")

    # Ensembles. Every one may be named by its id or by its name.

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
            time.sleep(POLL_S)
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
            time.sleep(POLL_S)
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

    # The service.

    def ready(self) -> dict[str, Any]:
        """The parts of the service; `ready` when all of them are."""
        try:
            found: dict[str, Any] = self._http.get("/readyz").json()
        except httpx2.HTTPError as error:
            raise ServiceError(f"the service at {self.url} does not answer: {error}") from error
        return found

    def _with_bundle(self, document: dict[str, Any]) -> dict[str, Any]:
        program = document.get("program")
        if not isinstance(program, dict) or program.get("code") is None or program.get("bundle") is not None:
            return document
        content = bundles.pack(Path(program["code"]))
        sha256 = self._object("POST", "/api/v1/bundles", content=content)["sha256"]
        without = {key: value for key, value in program.items() if key != "code"}
        return {**document, "program": {**without, "bundle": sha256}}

    def _pages(self, path: str, limit: int = 200) -> Iterator[dict[str, Any]]:
        after: int | None = None
        while True:
            params = {"limit": limit} if after is None else {"limit": limit, "after": after}
            page = self._object("GET", path, params=params)
            yield from page["items"]
            after = page["next"]
            if after is None:
                return

    def _object(self, method: str, path: str, **more: Any) -> dict[str, Any]:
        found: dict[str, Any] = self._json(method, path, **more)
        return found

    def _json(self, method: str, path: str, **more: Any) -> Any:
        return self._request(method, path, **more).json()

    def _request(self, method: str, path: str, **more: Any) -> httpx2.Response:
        try:
            response = self._http.request(method, path, **more)
        except httpx2.HTTPError as error:
            raise ServiceError(f"the service at {self.url} does not answer: {error}") from error
        if response.status_code >= 400:
            raise _error_of(response)
        return response


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


def _error_of(response: httpx2.Response) -> PodiumError:
    try:
        problem = response.json()
    except ValueError:
        return ServiceError(f"the service answered with status {response.status_code}")
    if response.status_code == 422 and problem.get("errors"):
        return InvalidSpecError([Problem(tuple(e["location"]), e["message"]) for e in problem["errors"]])
    detail = problem.get("detail") or problem.get("title") or f"status {response.status_code}"
    if "possible" in problem:
        return NotPossibleError(detail, problem["possible"])
    return NotFoundError(detail) if response.status_code == 404 else PodiumError(detail)
