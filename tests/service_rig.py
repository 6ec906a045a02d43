"""A service on a fresh database, without its processes: api and gateway in the test's own process, rows seeded."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from anyio.from_thread import BlockingPortal
from fastapi import FastAPI
from httpx2 import Response
from safetensors.numpy import save_file
from starlette.routing import BaseRoute
from starlette.testclient import TestClient

from podium.api.gateway import main
from podium.api.http.problem_details import ProblemType
from podium.api.node_service import main as node_service
from podium.api.rest.app import create_app
from podium.db.access import tokens
from podium.db.access.tokens import Role
from podium.db.schema.database import Database
from podium.db.stores import ensemble_evaluations, ensemble_reader, ensemble_writer, member_replicas, sweeps
from podium.ensemble.serving.aggregator_limits import AggregatorLimits
from podium.ensemble.values.ensemble_snapshot import Combination
from podium.ensemble.values.ensemble_spec import (
    DEFAULT_MAX_LOSS_INCREASE,
    Mode,
    Placement,
    Precision,
    Rule,
    Task,
    majority,
)
from podium.ensemble.values.ensemble_states import EnsembleState, MemberState
from podium.ensemble.values.new_version import NewVersion
from podium.sweep.lifecycle.database_changes import (
    ArtifactSaved,
    AttemptEnded,
    AttemptPlaced,
    AttemptStarted,
    Change,
    DeviceChanged,
    MetricPoint,
    SweepChanged,
    TrialPlanned,
)
from podium.sweep.lifecycle.stored_sweeps import StoredSweep
from podium.sweep.runtime.attempt_directory import AttemptDirectory
from podium.sweep.runtime.layout import DataDirectory
from podium.sweep.runtime.runtime_directory import RuntimeDirectory
from podium.sweep.runtime.safe_file_reads import sha256_of
from podium.sweep.runtime.service_settings import ServiceSettings
from podium.sweep.scheduling.database_recorder import DatabaseRecorder
from podium.sweep.spec.sweep_spec import parse_spec
from podium.sweep.values.attempt_assignment import AttemptKey, Params
from podium.sweep.values.device_state import DeviceState
from podium.sweep.values.failure_causes import Cause
from podium.sweep.values.slot_events import Ended, Saved, Started
from podium.sweep.values.states import SweepState, TrialState
from tests.databases import open_database
from tests.specs import builtin_document

TRACEBACK = "Traceback …\nit broke\n"
AT = 1_700_000_000.0
MODEL = "model.safetensors"
ARCHITECTURE: dict[str, Any] = {
    "labels": ["cat", "dog"],
    "image": [1, 1, 3],
    "data": {"name": "digits"},
    "split": {"split": [0.7, 0.1, 0.1, 0.1], "seed": 0},
}


def _with_tokens(database: Database) -> None:
    """Add a token for each role."""
    with database.write() as connection:
        for role in Role:
            tokens.add(connection, role.value, role, f"token-of-{role.value}", AT)


_routes: dict[str, list[BaseRoute]] = {}


def _share_routes(app: FastAPI) -> FastAPI:
    """Give `app` the routes of the first app with its title: FastAPI prepares them for each app, 30 to 60 ms each."""
    app.router.routes[:] = _routes.setdefault(app.title, list(app.router.routes))
    return app


def nonce(number: int, attempt: int = 1) -> str:
    """The nonce of the folder of an attempt: another one for each."""
    return f"{number:04x}{attempt:04x}"


def new_version(trial_ids: list[int], **options: Any) -> NewVersion:
    """A version of these trials as `version_building` would decide it: two classes, three features."""
    members = len(trial_ids)
    values: dict[str, Any] = {
        "trial_ids": tuple(trial_ids),
        "mode": Mode.BETWEEN_GRAPH,
        "quorum": majority(members),
        "deadline_ms": 1000.0,
        "replicas": 1,
        "placement": Placement.SHARED,
        "devices": 1,
        "precisions": (Precision.FLOAT32,) * members,
        "max_loss_increase": DEFAULT_MAX_LOSS_INCREASE,
        "combination": Combination(Task.CLASSIFICATION, Rule.MEAN, (1 / members,) * members),
        "selection": {"method": "top_k", "path": [], "note": "", "best_member": 0, "fitted_on": None, "forced": False},
        "classes": ("cat", "dog"),
        "features": 3,
    }
    return NewVersion(**{**values, **options})


class ServiceRig:
    """One data directory with a token for each role; closes what it opened.

    Its clients call the app in the event loop of `portal`; without one, each request starts a loop of its own.
    What an earlier rig left in the folder is removed.
    """

    def __init__(self, folder: Path, portal: BlockingPortal | None = None) -> None:
        self._portal = portal
        self.data = DataDirectory(folder / "data")
        runtime = RuntimeDirectory(folder / "run")
        for root in (self.data.root, runtime.root):
            shutil.rmtree(root, ignore_errors=True)
        self.data.prepare()
        runtime.prepare()
        self.settings = ServiceSettings(str(self.data.root), str(runtime.root))
        self.database = open_database(self.data.database, _with_tokens)
        self._recorder = DatabaseRecorder(self.database)
        self.epoch = self._recorder.epoch

    def close(self) -> None:
        self.database.close()

    def app(self) -> FastAPI:
        """The REST API on this database."""
        return _share_routes(create_app(self.settings, self.database))

    def gateway(self, limits: AggregatorLimits | None = None) -> FastAPI:
        """The gateway on this database, which it follows during a `with` block of its client."""
        return _share_routes(main.create_app(self.settings, self.database, limits))

    def node_service(self) -> FastAPI:
        """The app for nodes on this database."""
        return _share_routes(node_service.create_app(self.settings, self.database))

    def client(self, role: Role | None = Role.ADMIN, app: FastAPI | None = None) -> TestClient:
        """A client with this role; unexpected server errors are a 500, as for any client."""
        headers = {} if role is None else {"Authorization": f"Bearer token-of-{role.value}"}
        made = TestClient(app or self.app(), self.settings.url, headers=headers, raise_server_exceptions=False)
        made.portal = self._portal
        return made

    def sweep(self, **changes: Any) -> int:
        """A sweep, accepted."""
        with self.database.write() as connection:
            return sweeps.accept(connection, parse_spec(builtin_document(**changes)), AT)[0]

    def end_sweep(self, sweep_id: int, state: SweepState = SweepState.FINISHED) -> None:
        self.commit(
            SweepChanged(sweep_id, SweepState.QUEUED, SweepState.RUNNING, "", AT),
            SweepChanged(sweep_id, SweepState.RUNNING, state, "over", AT + 1),
        )

    def trial(
        self,
        sweep_id: int,
        number: int,
        value: float | tuple[float, ...] | None,
        *,
        params: Params | None = None,
        model: bool = True,
        constraints: dict[str, float] | None = None,
        user_attrs: dict[str, Any] | None = None,
        log: str | None = None,
        architecture: dict[str, Any] | None = None,
        cause: Cause | None = None,
        planned: dict[str, Any] | None = None,
        device: str = "cpu-0",
        message: str = "it broke",
        traceback: str = "Traceback …\nit broke\n",
    ) -> int:
        """A trial with one attempt on a device: finished with `value`, failed of `cause`, or running without either.

        Several values are those of the sweep's objectives. `planned` changes fields of `TrialPlanned`.
        """
        trial_id = self._recorder.last_trial_id() + 1
        key = AttemptKey(trial_id, 1)
        plan = TrialPlanned(trial_id, sweep_id, number, params or {"lr": 0.01}, "random", {}, AT)
        self.commit(
            replace(plan, **(planned or {})),
            AttemptPlaced(key, sweep_id, number, device, "node", AT + 1, nonce(number, 1)),
            AttemptStarted(Started(key, 4321, AT + 1, "", "cpu")),
        )
        if log is not None:
            folder = self.attempt(sweep_id, number)
            folder.prepare()
            folder.log.write_text(log)
        if model:
            self.commit(ArtifactSaved(Saved(key, MODEL, self._save_model(sweep_id, number, architecture or {}), 1000)))
        if value is not None:
            values = value if isinstance(value, tuple) else (value,)
            ended = Ended(
                key, TrialState.FINISHED, AT + 1, AT + 3, values=values, exit="0",
                constraints=constraints or {}, user_attrs=user_attrs or {},
            )  # fmt: skip
            names = tuple(name for name, _ in self._objectives(sweep_id)) if len(values) > 1 else ()
            self.commit(AttemptEnded(ended, sweep_id, number, TrialState.FINISHED, 2.0, names))
        if cause is not None:
            ended = Ended(
                key,
                TrialState.FAILED,
                AT + 1,
                AT + 3,
                cause=cause,
                message=message,
                traceback=traceback,
                exit="1",
            )
            self.commit(AttemptEnded(ended, sweep_id, number, TrialState.FAILED, 2.0))
        return trial_id

    def attempt(self, sweep_id: int, number: int, attempt: int = 1) -> AttemptDirectory:
        """The folder of an attempt that was placed with `nonce(number, attempt)`."""
        return AttemptDirectory(self.data.attempt(sweep_id, number, attempt, nonce(number, attempt)))

    def _objectives(self, sweep_id: int) -> tuple[tuple[str, str], ...]:
        with self.database.read() as connection:
            return sweeps.get(connection, sweep_id).objectives

    def _save_model(self, sweep_id: int, number: int, architecture: dict[str, Any]) -> str:
        """Save a model file with the header that an ensemble needs; returns its SHA-256."""
        folder = self.attempt(sweep_id, number)
        folder.prepare()
        header = json.dumps({**ARCHITECTURE, **architecture})
        save_file({"number": np.full(1, number, np.float32)}, folder.model, {"architecture": header})
        return sha256_of(folder.model)

    def points(self, trial_id: int, name: str, *values: float) -> None:
        """A curve, from step 0 on."""
        key = AttemptKey(trial_id, 1)
        self.commit(*(MetricPoint(key, name, step, value, AT) for step, value in enumerate(values)))

    def device(self, device_id: str = "cpu-0") -> None:
        self.commit(DeviceChanged(device_id, "cpu", 0, "node", "", None, 99, DeviceState.READY, "", AT))

    def ensemble(
        self, sweep_id: int, trial_ids: list[int], name: str | None = None, *, requested: bool = False, **options: Any
    ) -> int:
        """An ensemble of these trials, `building`; `options` are fields of its version."""
        version = new_version(trial_ids, **options)
        with self.database.write() as connection:
            return ensemble_writer.create(connection, name, sweep_id, version, AT, requested=requested)

    def ready(self, ensemble_id: int, endpoints: list[str]) -> None:
        """Write what the host writes when all members of the active version are ready: an endpoint each, epoch 1."""
        with self.database.write() as connection:
            members = ensemble_reader.get(connection, ensemble_id).active.members
            for member, endpoint in zip(members, endpoints, strict=True):
                for replica in member.replicas:
                    member_replicas.change(
                        connection, replica.id, MemberState.READY, device_id="cpu-0", pid=77, epoch=1, endpoint=endpoint
                    )
            ensemble_writer.change(connection, ensemble_id, EnsembleState.READY, "", AT)

    def finish_evaluation(self, evaluation_id: int, result: dict[str, Any] | None, reason: str = "") -> None:
        """Write what the host writes when an evaluation has finished or failed."""
        with self.database.write() as connection:
            ensemble_evaluations.finish(connection, evaluation_id, result, reason, AT)

    def evaluation(self, ensemble_id: int) -> int:
        """An evaluation that no host has started."""
        with self.database.write() as connection:
            return ensemble_evaluations.queue(connection, ensemble_id, 1, "test", forced=False, at=AT)

    def stored(self, sweep_id: int) -> StoredSweep:
        """A sweep as the scheduler reads it."""
        return next(sweep for sweep in self._recorder.open_sweeps(frozenset()) if sweep.sweep_id == sweep_id)

    def commit(self, *changes: Change) -> None:
        self._recorder.commit(changes)


def assert_problem(response: Response, status: int, *words: str) -> dict[str, Any]:
    """Assert that the response is problem+json with this status and these words in its detail; returns it."""
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == "application/problem+json"
    body: dict[str, Any] = response.json()
    (kind,) = [kind for kind in ProblemType if kind.urn == body["type"]]
    assert (body["title"], body["status"]) == (kind.title, kind.status) == (kind.title, status)
    for word in words:
        assert word in body["detail"]
    return body
