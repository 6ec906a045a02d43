"""The Python client: the resources of the REST API as methods; the user's process and the CLI."""

from __future__ import annotations

import json
import socket
import time
import uuid
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import quote

import httpx2

from podium.api.client import shell_quoted_commands
from podium.api.client.connection import RETRY_S, TIMEOUT_S, error_of
from podium.api.client.device_responses import DeviceInfo
from podium.api.client.ensemble_calls import EnsembleCalls, EnsembleName, Rows, serves, settled
from podium.api.client.import_export_calls import ExportCalls
from podium.api.client.multi_metric_curve_responses import CurveGridInfo, MetricNameInfo
from podium.api.client.node_responses import NodeInfo, RemovedNodeInfo
from podium.api.client.readiness_responses import Readiness, Services
from podium.api.client.sweep_organization_calls import SweepOrganizationCalls
from podium.api.client.sweep_responses import BestTrialInfo, FailuresInfo, SweepInfo
from podium.api.client.token_responses import LoginLink, NewTokenInfo, TokenInfo
from podium.api.client.trial_responses import (
    EnqueuedInfo,
    IntervalInfo,
    ScheduleInfo,
    TrialDetails,
    TrialInfo,
    UsageInfo,
)
from podium.sweep.runtime.layout import DataDirectory, default_data_directory
from podium.sweep.runtime.local_service_discovery import runs, service_of_this_machine
from podium.sweep.specfile import code_bundles
from podium.sweep.values.errors import NotFoundError, ServiceError, UnauthorizedError

if TYPE_CHECKING:
    from podium.api.client.notebook_objects import Ensemble, Sweep, Trial

DEFAULT_TOKEN_S = 90 * 86400.0
__all__ = ["Client", "EnsembleName", "Rows", "serves", "settled"]


class Client(EnsembleCalls, ExportCalls, SweepOrganizationCalls):
    """A client of one service. Every method raises `PodiumError` with the server's message if the request is refused.

    Requests are retried for `retry_s` seconds while the service restarts. Requests that must not run twice carry an
    idempotency key.
    """

    @classmethod
    def of(
        cls, data_dir: Path | str | None = None, *, timeout_s: float = TIMEOUT_S, retry_s: float = RETRY_S
    ) -> Client:
        """A client of the service that runs on a data directory. Raises `ServiceError` if none runs."""
        data = service_of_this_machine(Path(data_dir or default_data_directory()))
        try:
            about = json.loads(data.service_file.read_text())
            token = data.admin_token.read_text().strip()
            if not runs(data):
                raise ValueError("the service file was left by a service that was killed")
        except (OSError, ValueError) as error:
            raise ServiceError(_no_service(data)) from error
        return cls(about["url"], token, timeout_s, retry_s=retry_s, certificate=about.get("certificate"))

    # Sweeps.

    def submit(
        self,
        document: dict[str, Any],
        *,
        after: int | str | Sequence[int | str] = (),
        idempotency_key: str | None = None,
    ) -> SweepInfo:
        """Submit a sweep; the code of `program.code` is uploaded first. Raises `InvalidSpecError`.

        `after`: ids or names of earlier sweeps that must finish first, in addition to those of the document.
        """
        body = self._with_bundle(_after(document, after))
        headers = {**_idempotent(idempotency_key), **_provenance_header(document)}
        return self._answer(SweepInfo, "POST", "/api/v1/sweeps", json=body, headers=headers)

    def submit_file(self, path: Path | str, *, after: int | str | Sequence[int | str] = ()) -> SweepInfo:
        """Submit a sweep file, also of W&B; its paths are relative to it. Raises `InvalidSpecError` with lines.

        `after`: as in `submit`.
        """
        from podium.api.client import sweep_file_document  # loads YAML and pydantic

        file, document, _ = sweep_file_document.read(Path(path))
        return sweep_file_document.submit(self.submit, file, _after(document, after))

    def sweeps(self, state: str | None = None, filter: str | None = None) -> Iterator[SweepInfo]:
        """The sweeps, newest first; all, those in one state, or those that match a filter (docs/reference/filter.md).

        Archived sweeps only with a filter that has a term `is:archived`.
        """
        only = {name: text for name, text in (("state", state), ("filter", filter)) if text is not None}
        return self._pages(SweepInfo, "/api/v1/sweeps", limit=200, **only)

    def sweep(self, sweep_id: int) -> SweepInfo:
        """A sweep. Raises `NotFoundError`."""
        return self._answer(SweepInfo, "GET", f"/api/v1/sweeps/{sweep_id}")

    def packages(self, sweep_id: int) -> str:
        """The packages installed when a sweep was submitted: one `name==version` per line."""
        return self._request("GET", f"/api/v1/sweeps/{sweep_id}/packages").text

    def pause_sweep(self, sweep_id: int) -> SweepInfo:
        """Start no new trials of a sweep. Raises `NotPossibleError` in a state that does not allow it."""
        return self._command_sweep(sweep_id, "pause")

    def resume_sweep(self, sweep_id: int) -> SweepInfo:
        """Resume a paused sweep. Raises `NotPossibleError`."""
        return self._command_sweep(sweep_id, "resume")

    def stop_sweep(self, sweep_id: int) -> SweepInfo:
        """Finish a sweep after its running trials complete. Raises `NotPossibleError`."""
        return self._command_sweep(sweep_id, "stop")

    def cancel_sweep(self, sweep_id: int) -> SweepInfo:
        """Cancel a sweep; running trials are killed. Raises `NotPossibleError`."""
        return self._command_sweep(sweep_id, "cancel")

    def release_sweep(self, sweep_id: int) -> SweepInfo:
        """Start a sweep although not all sweeps of its `after` have finished. Raises `PodiumError` if it cannot."""
        return self._command_sweep(sweep_id, "release")

    def extend_sweep(
        self, sweep_id: int, run_cap: int | None = None, *, priority: float | None = None, **terms: Any
    ) -> SweepInfo:
        """Change the total number of trials, the priority, the budget or the target; a finished sweep resumes.

        `budget={"device_s": 7200}` and `target=0.95` change when it ends; None removes a limit. Raises `PodiumError`
        if the budget is already used up.
        """
        body = {"run_cap": run_cap, "priority": priority, **terms}
        return self._answer(SweepInfo, "PATCH", f"/api/v1/sweeps/{sweep_id}", json=body, repeatable=True)

    def best(self, sweep_id: int, k: int | None = None) -> list[BestTrialInfo]:
        """The `k` best finished trials; by default the best one, or with several objectives the Pareto front."""
        params = {} if k is None else {"k": k}
        return self._answer(list[BestTrialInfo], "GET", f"/api/v1/sweeps/{sweep_id}/best", params=params)

    def trials(
        self,
        sweep_id: int,
        sort: str = "number",
        state: str | None = None,
        filter: str | None = None,
        metrics: Sequence[str] = (),
    ) -> Iterator[TrialInfo]:
        """The trials of a sweep, sorted by number, `value`, `params.NAME` or another column; `-value`: descending.

        All, those in one state, or those that match a filter (docs/reference/filter.md). `metrics` are figures of
        metrics to include, such as `min(val_loss)`.
        """
        only: dict[str, Any] = {name: text for name, text in (("state", state), ("filter", filter)) if text is not None}
        if metrics:
            only["metrics"] = list(metrics)
        return self._pages(TrialInfo, f"/api/v1/sweeps/{sweep_id}/trials", limit=1000, sort=sort, **only)

    def metric_names(self, sweep_id: int, *, filter: str | None = None) -> list[MetricNameInfo]:
        """The metrics that trials of a sweep have reported, the objectives first."""
        params = {} if filter is None else {"filter": filter}
        return self._answer(list[MetricNameInfo], "GET", f"/api/v1/sweeps/{sweep_id}/metrics", params=params)

    def curves(
        self,
        sweep_id: int,
        metrics: Sequence[str],
        *,
        x: str = "step",
        filter: str | None = None,
        group: str | None = None,
        bands: bool = False,
        limit: int = 50,
        max_points: int = 800,
    ) -> CurveGridInfo:
        """Curves of up to 30 metrics of the same trials, thinned to at most 20,000 points in all.

        `x` is `step`, `time`, `runtime` (seconds) or `metric:NAME`; `group` is `params.NAME`, `tag` or `state`. With
        `bands`, mean, minimum and maximum per group instead of each curve.
        """
        params: dict[str, Any] = {"metric": list(metrics), "x": x, "limit": limit, "max_points": max_points}
        params |= {name: value for name, value in (("filter", filter), ("group", group)) if value is not None}
        params |= {"show": "bands"} if bands else {}
        return self._answer(CurveGridInfo, "GET", f"/api/v1/sweeps/{sweep_id}/curve-grid", params=params)

    def intervals(self, sweep_id: int) -> Iterator[IntervalInfo]:
        """The intervals of the trials of a population, by trial and number: the lineage of each trial."""
        return self._pages(IntervalInfo, f"/api/v1/sweeps/{sweep_id}/intervals", limit=1000)

    def schedule(self, trial_id: int) -> ScheduleInfo:
        """The configurations that led to the state of a trial of a population, and a sweep that repeats them.

        Raises `NotFoundError` if the trial was not trained in intervals.
        """
        return self._answer(ScheduleInfo, "GET", f"/api/v1/trials/{trial_id}/schedule")

    def failures(self, sweep_id: int, filter: str | None = None) -> FailuresInfo:
        """The failed trials of a sweep, or those that match a filter, grouped by cause and message."""
        params = {} if filter is None else {"filter": filter}
        return self._answer(FailuresInfo, "GET", f"/api/v1/sweeps/{sweep_id}/failures", params=params)

    def open_sweep(self, sweep_id: int) -> Sweep:
        """A sweep as an object. Raises `NotFoundError`."""
        from podium.api.client.notebook_objects import Sweep

        return Sweep(self, sweep_id)

    def open_trial(self, trial_id: int) -> Trial:
        """A trial as an object. Raises `NotFoundError`."""
        from podium.api.client.notebook_objects import Trial

        return Trial(self, self.trial(trial_id))

    def open_ensemble(self, ensemble: EnsembleName) -> Ensemble:
        """An ensemble as an object. Raises `NotFoundError`."""
        from podium.api.client.notebook_objects import Ensemble

        return Ensemble(self, ensemble)

    def wait(self, sweep_id: int, timeout_s: float | None = None) -> SweepInfo:
        """Wait until a sweep ends, and return it. Raises `ServiceError` after `timeout_s`."""
        end = None if timeout_s is None else time.monotonic() + timeout_s
        while (sweep := self.sweep(sweep_id))["state"] not in ("finished", "failed", "cancelled"):
            if end is not None and time.monotonic() > end:
                raise ServiceError(f"sweep {sweep_id} is still {sweep['state']} after {timeout_s:g} s")
            time.sleep(self.poll_s)
        return sweep

    def _command_sweep(self, sweep_id: int, command: str) -> SweepInfo:
        return self._answer(SweepInfo, "POST", f"/api/v1/sweeps/{sweep_id}/{command}", repeatable=True)

    # Trials and devices.

    def trial(self, trial_id: int) -> TrialDetails:
        """A trial with its attempts and files. Raises `NotFoundError`."""
        return self._answer(TrialDetails, "GET", f"/api/v1/trials/{trial_id}")

    def stop_trial(self, trial_id: int) -> TrialDetails:
        """Stop a trial; its sweep continues. Raises `NotPossibleError` in a state that does not allow it."""
        return self._answer(TrialDetails, "POST", f"/api/v1/trials/{trial_id}/stop", repeatable=True)

    def retry_trial(self, trial_id: int) -> TrialDetails:
        """Retry a failed or cancelled trial. Raises `NotPossibleError` in a state that does not allow it."""
        return self._answer(TrialDetails, "POST", f"/api/v1/trials/{trial_id}/retry")

    def clone_trial(
        self, trial_id: int, params: dict[str, Any] | None = None, *, idempotency_key: str | None = None
    ) -> EnqueuedInfo:
        """Add a trial with the same parameters except `params` to the sweep. Raises `InvalidSpecError`."""
        body = {"params": params or {}}
        path = f"/api/v1/trials/{trial_id}/clone"
        return self._answer(EnqueuedInfo, "POST", path, json=body, headers=_idempotent(idempotency_key))

    def note_trial(self, trial_id: int, note: str) -> TrialDetails:
        """Write a note about a trial; "" removes it. Raises `InvalidSpecError`."""
        path = f"/api/v1/trials/{trial_id}"
        return self._answer(TrialDetails, "PATCH", path, json={"note": note}, repeatable=True)

    def tag_trial(self, trial_id: int, add: Sequence[str] = (), remove: Sequence[str] = ()) -> TrialDetails:
        """Add and remove tags of a trial. Raises `InvalidSpecError`."""
        body = {"add_tags": list(add), "remove_tags": list(remove)}
        return self._answer(TrialDetails, "PATCH", f"/api/v1/trials/{trial_id}", json=body, repeatable=True)

    def metrics(self, trial_id: int) -> dict[str, list[list[float]]]:
        """The [step, value] pairs of each metric of a trial."""
        return self._answer(dict[str, list[list[float]]], "GET", f"/api/v1/trials/{trial_id}/metrics")

    def usage(self, trial_id: int, attempt: int | None = None, max_points: int = 600) -> UsageInfo:
        """What an attempt of a trial used over time, by default the current attempt. Raises `NotFoundError`."""
        params: dict[str, int] = {"max_points": max_points, **({} if attempt is None else {"attempt": attempt})}
        return self._answer(UsageInfo, "GET", f"/api/v1/trials/{trial_id}/usage", params=params)

    def log(self, trial_id: int, rank: int = 0, attempt: int | None = None) -> str:
        """The end of the output of an attempt, by default the last one.

        `rank`: of a trial with a process on each of several devices. Raises `NotFoundError`.
        """
        params = {"rank": rank} if attempt is None else {"rank": rank, "attempt": attempt}
        return self._request("GET", f"/api/v1/trials/{trial_id}/log", params=params).text

    def log_from(self, trial_id: int, attempt: int, start: int = 0, rank: int = 0) -> tuple[str, int]:
        """The output of an attempt from byte `start` on, and the byte where the next read continues."""
        params = {"from_byte": start, "attempt": attempt, "rank": rank}
        response = self._request("GET", f"/api/v1/trials/{trial_id}/log", params=params)
        return response.text, int(response.headers["Podium-Next-Byte"])

    def devices(self) -> list[DeviceInfo]:
        """All devices."""
        return self._answer(list[DeviceInfo], "GET", "/api/v1/devices")

    def drain_device(self, device_id: str, reason: str | None = None) -> DeviceInfo:
        """Place no more trials on a device until it is returned. Raises `NotFoundError`."""
        body = {} if reason is None else {"reason": reason}
        path = f"/api/v1/devices/{quote(device_id, safe='')}/drain"
        return self._answer(DeviceInfo, "POST", path, json=body, repeatable=True)

    def return_device(self, device_id: str) -> DeviceInfo:
        """Place trials on a drained device again. Raises `NotFoundError`."""
        return self._answer(DeviceInfo, "POST", f"/api/v1/devices/{quote(device_id, safe='')}/return", repeatable=True)

    def nodes(self) -> list[NodeInfo]:
        """All other machines that have joined the service, by name."""
        return self._answer(list[NodeInfo], "GET", "/api/v1/nodes")

    def drain_node(self, name: str, reason: str | None = None) -> NodeInfo:
        """Place no more trials on the devices of a node until they are returned. Raises `NotFoundError`."""
        body = {} if reason is None else {"reason": reason}
        path = f"/api/v1/nodes/{quote(name, safe='')}/drain"
        return self._answer(NodeInfo, "POST", path, json=body, repeatable=True)

    def return_node(self, name: str) -> NodeInfo:
        """Place trials on the devices of a node again; it stays if it was to leave. Raises `NotFoundError`."""
        return self._answer(NodeInfo, "POST", f"/api/v1/nodes/{quote(name, safe='')}/return", repeatable=True)

    def remove_node(self, name: str, *, now: bool = False) -> RemovedNodeInfo:
        """Ask a node to leave after its running trials, or `now`: they are then repeated elsewhere.

        A silent node is forgotten at once. Raises `NotFoundError`.
        """
        params = {"now": "true"} if now else {}
        return self._answer(RemovedNodeInfo, "DELETE", f"/api/v1/nodes/{quote(name, safe='')}", params=params)

    # The service.

    def create_token(self, name: str, role: str, *, expires_in_s: float | None = DEFAULT_TOKEN_S) -> NewTokenInfo:
        """Create an access token; only this response contains the secret, `token`. Requires the role admin."""
        body = {"name": name, "role": role, "expires_in_s": expires_in_s}
        return self._answer(NewTokenInfo, "POST", "/api/v1/tokens", json=body)

    def tokens(self) -> Iterator[TokenInfo]:
        """All tokens, oldest first, also expired and revoked ones."""
        return self._pages(TokenInfo, "/api/v1/tokens")

    def revoke_token(self, token: int | str) -> TokenInfo:
        """Revoke a token, by id or by the name of a valid one. Raises `NotFoundError`."""
        if not str(token).isdecimal():
            found = [each["id"] for each in self.tokens() if (each["name"], each["state"]) == (token, "valid")]
            if not found:
                raise NotFoundError(f"there is no valid token {token!r}; `podium token list` lists all tokens")
            token = found[0]
        return self._answer(TokenInfo, "DELETE", f"/api/v1/tokens/{token}", repeatable=True)

    def login_link(self, valid_s: float | None = None) -> LoginLink:
        """A link that logs a browser in once, within `valid_s` seconds."""
        body = {} if valid_s is None else {"valid_s": valid_s}
        return self._answer(LoginLink, "POST", "/api/v1/login-links", json=body)

    def ready(self) -> Readiness:
        """The components of the service, and whether all of them are ready. Requires the role viewer."""
        try:
            response = self._http.get("/readyz")
        except httpx2.HTTPError as error:
            raise ServiceError(f"the service at {self.url} does not respond: {error}") from error
        return _readiness(response)

    def services(self) -> Services:
        """The service that leads, and those of the same database that stand by."""
        return self._answer(Services, "GET", "/api/v1/services")

    def _with_bundle(self, document: dict[str, Any]) -> dict[str, Any]:
        program = document.get("program")
        if not isinstance(program, dict) or program.get("code") is None or program.get("bundle") is not None:
            return document
        content = code_bundles.pack(Path(program["code"]))
        sha256 = self._answer(dict[str, str], "POST", "/api/v1/bundles", content=content, repeatable=True)["sha256"]
        without = {key: value for key, value in program.items() if key != "code"}
        return {**document, "program": {**without, "bundle": sha256}}


def _no_service(data: DataDirectory) -> str:
    """The message that no service runs on this machine; others may share the data directory."""
    start = shell_quoted_commands.command(data.root, "serve")
    here = socket.gethostname()
    others = [each.service for each in data.services() if each.service != here and each.service_file.exists()]
    if not others:
        return f"no service runs on {data.root}; start one with `{start}`"
    return (
        f"no service runs on {data.root} on this machine; start one with `{start}`; other machines that "
        f"have started one on it: {', '.join(others)}"
    )


def _readiness(response: httpx2.Response) -> Readiness:
    """The body, whatever its status is. Raises `UnauthorizedError` if it is the one for strangers, or `PodiumError`."""
    try:
        found = response.json()
    except ValueError:
        found = None
    if isinstance(found, dict) and "parts" in found:
        return cast(Readiness, found)
    if isinstance(found, dict) and "ready" in found:
        raise UnauthorizedError("the token is unknown, expired or revoked, or its role is not viewer or higher")
    raise error_of(response)


def _provenance_header(document: dict[str, Any]) -> dict[str, str]:
    """The header with the git commit and the command of a submission."""
    from podium.sweep.runtime.submission_provenance import HEADER, provenance_of_document  # loads pydantic

    return {HEADER: provenance_of_document(document).to_header()}


def _after(document: dict[str, Any], after: int | str | Sequence[int | str]) -> dict[str, Any]:
    """The document with further predecessors."""
    added = [after] if isinstance(after, int | str) else list(after)
    if not added:
        return document
    known = document.get("after") or []
    return {**document, "after": [*known, *(each for each in added if each not in known)]}


def _idempotent(idempotency_key: str | None) -> dict[str, str]:
    """The header by which the service recognizes a repeated request."""
    return {"Idempotency-Key": idempotency_key or uuid.uuid4().hex}
