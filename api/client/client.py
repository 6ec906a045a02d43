"""The Python client: the nouns of the REST API as methods; also what the command line speaks through."""

from __future__ import annotations

import json
import os
import time
import uuid
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import httpx2

from podium.api.client import shell_commands
from podium.api.client.connection import RETRY_S, TIMEOUT_S
from podium.api.client.ensemble_calls import EnsembleCalls, EnsembleName, Rows, serves, settled
from podium.api.client.export_calls import ExportCalls
from podium.sweep.runtime.layout import DataDirectory, default_data_directory
from podium.sweep.runtime.service_state import lives
from podium.sweep.specfile import code_bundles
from podium.sweep.values.errors import NotFoundError, ServiceError

if TYPE_CHECKING:
    from podium.api.client.notebook import Ensemble, Sweep, Trial

DEFAULT_TOKEN_S = 90 * 86400.0
__all__ = ["Client", "EnsembleName", "Rows", "serves", "settled"]


class Client(EnsembleCalls, ExportCalls):
    """Talks to one service. Every method raises `PodiumError` with the server's own words when it says no.

    A service that restarts is asked again for `retry_s` seconds; what must not be done twice carries a key, by which
    the service knows it again.
    """

    @classmethod
    def of(
        cls, data_dir: Path | str | None = None, *, timeout_s: float = TIMEOUT_S, retry_s: float = RETRY_S
    ) -> Client:
        """The service that runs on a data directory. Raises `ServiceError` when there is none."""
        data = DataDirectory(Path(data_dir or default_data_directory()))
        try:
            about = json.loads(data.service_file.read_text())
            token = data.admin_token.read_text().strip()
            if not lives(about.get("pid", os.getpid())):
                raise ValueError("what is written there was left by a service that was killed")
        except (OSError, ValueError) as error:
            raise ServiceError(
                f"no service runs on {data.root}; start one with `{shell_commands.command(data.root, 'serve')}`"
            ) from error
        return cls(about["url"], token, timeout_s, retry_s=retry_s, certificate=about.get("certificate"))

    # Sweeps.

    def submit(self, document: dict[str, Any], *, idempotency_key: str | None = None) -> dict[str, Any]:
        """Submit a sweep; code named by `program.code` is uploaded first. Raises `InvalidSpecError`."""
        body = self._with_bundle(document)
        headers = {**_once(idempotency_key), **_provenance(document)}
        return self._object("POST", "/api/v1/sweeps", json=body, headers=headers)

    def submit_file(self, path: Path | str) -> dict[str, Any]:
        """Submit a sweep file, W&B's too; paths in it are relative to it. Raises `InvalidSpecError` with its lines."""
        from podium.api.client import sweep_submission  # YAML and pydantic: not for those who do not need them

        file, document, _ = sweep_submission.read(Path(path))
        return sweep_submission.submit(self, file, document)

    def sweeps(self, state: str | None = None) -> Iterator[dict[str, Any]]:
        """Sweeps, newest first; all, or those in one state."""
        only = {} if state is None else {"state": state}
        return self._pages("/api/v1/sweeps", limit=200, **only)

    def sweep(self, sweep_id: int) -> dict[str, Any]:
        """One sweep."""
        return self._object("GET", f"/api/v1/sweeps/{sweep_id}")

    def packages(self, sweep_id: int) -> str:
        """The packages of the service when a sweep was submitted, `name==version`, a line each."""
        return self._request("GET", f"/api/v1/sweeps/{sweep_id}/packages").text

    def pause_sweep(self, sweep_id: int) -> dict[str, Any]:
        """Start nothing new of a sweep. Raises `NotPossibleError`, as all that change one, where it cannot be."""
        return self._tell_sweep(sweep_id, "pause")

    def resume_sweep(self, sweep_id: int) -> dict[str, Any]:
        """Go on with a paused sweep."""
        return self._tell_sweep(sweep_id, "resume")

    def stop_sweep(self, sweep_id: int) -> dict[str, Any]:
        """Let what runs end, then finish."""
        return self._tell_sweep(sweep_id, "stop")

    def cancel_sweep(self, sweep_id: int) -> dict[str, Any]:
        """End a sweep now."""
        return self._tell_sweep(sweep_id, "cancel")

    def extend_sweep(
        self, sweep_id: int, run_cap: int | None = None, *, priority: float | None = None, **terms: Any
    ) -> dict[str, Any]:
        """Let `run_cap` trials count in all, or change the priority; a finished sweep goes on.

        `budget={"device_s": 7200}` and `target=0.95` change what ends it; None is no bound. Raises `PodiumError` where
        what it may use is spent.
        """
        body = {"run_cap": run_cap, "priority": priority, **terms}
        return self._object("PATCH", f"/api/v1/sweeps/{sweep_id}", json=body, repeatable=True)

    def best(self, sweep_id: int, k: int | None = None) -> list[dict[str, Any]]:
        """The `k` best finished trials: 1, if not said otherwise, or the Pareto front of several objectives."""
        params = {} if k is None else {"k": k}
        found: list[dict[str, Any]] = self._json("GET", f"/api/v1/sweeps/{sweep_id}/best", params=params)
        return found

    def trials(
        self, sweep_id: int, sort: str = "number", state: str | None = None, filter: str | None = None
    ) -> Iterator[dict[str, Any]]:
        """The trials of a sweep, by number, or by `value`, `params.NAME` or another column; with - before it falling.

        All, those in one state, or those that a filter finds (docs/dashboard.md).
        """
        only = {name: text for name, text in (("state", state), ("filter", filter)) if text is not None}
        return self._pages(f"/api/v1/sweeps/{sweep_id}/trials", limit=1000, sort=sort, **only)

    def open_sweep(self, sweep_id: int) -> Sweep:
        """A sweep as an object, for notebooks. Raises `NotFoundError`."""
        from podium.api.client.notebook import Sweep  # not for the command line

        return Sweep(self, sweep_id)

    def open_trial(self, trial_id: int) -> Trial:
        """A trial as an object. Raises `NotFoundError`."""
        from podium.api.client.notebook import Trial  # not for the command line

        return Trial(self, self.trial(trial_id))

    def open_ensemble(self, ensemble: EnsembleName) -> Ensemble:
        """An ensemble as an object. Raises `NotFoundError`."""
        from podium.api.client.notebook import Ensemble  # not for the command line

        return Ensemble(self, ensemble)

    def wait(self, sweep_id: int, timeout_s: float | None = None) -> dict[str, Any]:
        """The sweep when it is over. Raises `ServiceError` when it is not within `timeout_s`."""
        end = None if timeout_s is None else time.monotonic() + timeout_s
        while (sweep := self.sweep(sweep_id))["state"] not in ("finished", "failed", "cancelled"):
            if end is not None and time.monotonic() > end:
                raise ServiceError(f"sweep {sweep_id} is still {sweep['state']} after {timeout_s:g} s")
            time.sleep(self.poll_s)
        return sweep

    def _tell_sweep(self, sweep_id: int, what: str) -> dict[str, Any]:
        return self._object("POST", f"/api/v1/sweeps/{sweep_id}/{what}", repeatable=True)

    # Trials and devices.

    def trial(self, trial_id: int) -> dict[str, Any]:
        """One trial with its attempts."""
        return self._object("GET", f"/api/v1/trials/{trial_id}")

    def stop_trial(self, trial_id: int) -> dict[str, Any]:
        """End a trial; its sweep goes on. Raises `NotPossibleError`, as `retry_trial` does, where it cannot be."""
        return self._object("POST", f"/api/v1/trials/{trial_id}/stop", repeatable=True)

    def retry_trial(self, trial_id: int) -> dict[str, Any]:
        """Run a trial again that failed or was cancelled."""
        return self._object("POST", f"/api/v1/trials/{trial_id}/retry")

    def clone_trial(
        self, trial_id: int, params: dict[str, Any] | None = None, *, idempotency_key: str | None = None
    ) -> dict[str, Any]:
        """Add a trial with the same parameters, but for `params`, to its sweep. Raises `InvalidSpecError`."""
        body = {"params": params or {}}
        path = f"/api/v1/trials/{trial_id}/clone"
        return self._object("POST", path, json=body, headers=_once(idempotency_key))

    def note_trial(self, trial_id: int, note: str) -> dict[str, Any]:
        """Write a note about a trial; "" takes it away. Raises `InvalidSpecError`, as `tag_trial` does."""
        return self._object("PATCH", f"/api/v1/trials/{trial_id}", json={"note": note}, repeatable=True)

    def tag_trial(self, trial_id: int, add: Sequence[str] = (), remove: Sequence[str] = ()) -> dict[str, Any]:
        """Give a trial some tags, and take some away."""
        body = {"add_tags": list(add), "remove_tags": list(remove)}
        return self._object("PATCH", f"/api/v1/trials/{trial_id}", json=body, repeatable=True)

    def metrics(self, trial_id: int) -> dict[str, list[list[float]]]:
        """Each metric of a trial as [step, value] pairs."""
        return self._object("GET", f"/api/v1/trials/{trial_id}/metrics")

    def log(self, trial_id: int) -> str:
        """The end of what the trial printed."""
        return self._request("GET", f"/api/v1/trials/{trial_id}/log").text

    def log_from(self, trial_id: int, attempt: int, start: int = 0) -> tuple[str, int]:
        """What an attempt printed, from a byte on, and the byte to go on from."""
        params = {"from_byte": start, "attempt": attempt}
        response = self._request("GET", f"/api/v1/trials/{trial_id}/log", params=params)
        return response.text, int(response.headers["Podium-Next-Byte"])

    def devices(self) -> list[dict[str, Any]]:
        """Every device."""
        found: list[dict[str, Any]] = self._json("GET", "/api/v1/devices")
        return found

    def drain_device(self, device_id: str, reason: str | None = None) -> dict[str, Any]:
        """Give a device no more trials until it is returned. Raises `NotFoundError`."""
        body = {} if reason is None else {"reason": reason}
        return self._object("POST", f"/api/v1/devices/{quote(device_id, safe='')}/drain", json=body, repeatable=True)

    def return_device(self, device_id: str) -> dict[str, Any]:
        """Give a device trials again. Raises `NotFoundError`."""
        return self._object("POST", f"/api/v1/devices/{quote(device_id, safe='')}/return", repeatable=True)

    # The service.

    def create_token(self, name: str, role: str, *, expires_in_s: float | None = DEFAULT_TOKEN_S) -> dict[str, Any]:
        """A token for somebody or something else; `token` is told this once. Raises `PodiumError`: admins alone may."""
        body = {"name": name, "role": role, "expires_in_s": expires_in_s}
        return self._object("POST", "/api/v1/tokens", json=body)

    def tokens(self) -> Iterator[dict[str, Any]]:
        """Every token that there was, oldest first."""
        return self._pages("/api/v1/tokens")

    def revoke_token(self, token: int | str) -> dict[str, Any]:
        """Let the holder of a token in no more, by id or by the name of a valid one. Raises `NotFoundError`."""
        if not str(token).isdecimal():
            found = [each["id"] for each in self.tokens() if (each["name"], each["state"]) == (token, "valid")]
            if not found:
                raise NotFoundError(f"there is no valid token {token!r}; `podium token list` has all")
            token = found[0]
        return self._object("DELETE", f"/api/v1/tokens/{token}", repeatable=True)

    def login_link(self, valid_s: float | None = None) -> dict[str, Any]:
        """A link that logs a browser in, once, within `valid_s` seconds."""
        body = {} if valid_s is None else {"valid_s": valid_s}
        return self._object("POST", "/api/v1/login-links", json=body)

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
        content = code_bundles.pack(Path(program["code"]))
        sha256 = self._object("POST", "/api/v1/bundles", content=content, repeatable=True)["sha256"]
        without = {key: value for key, value in program.items() if key != "code"}
        return {**document, "program": {**without, "bundle": sha256}}


def _provenance(document: dict[str, Any]) -> dict[str, str]:
    """The header that says where a submission comes from."""
    from podium.sweep.runtime.git_provenance import HEADER, provenance_of  # pydantic: not for --help

    program = document.get("program")
    code = program.get("code") if isinstance(program, dict) else None
    return {HEADER: provenance_of(None if code is None else Path(code)).to_header()}


def _once(idempotency_key: str | None) -> dict[str, str]:
    """The header by which the service knows a request again that it may have had."""
    return {"Idempotency-Key": idempotency_key or uuid.uuid4().hex}
