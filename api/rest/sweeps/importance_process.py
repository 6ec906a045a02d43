"""Computes parameter importance in the background, one process at a time; results are stored in the database; api.

Optuna and scikit-learn are imported in that process only.
"""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

from podium.db.queries import chart_points, importance_data
from podium.db.schema.database import Database
from podium.db.stores import parameter_importances, sweeps
from podium.db.stores.parameter_importances import StoredImportances

log = logging.getLogger("podium.api")

MAX_QUEUED = 16
TIMEOUT_S = 180.0
_ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
Key = tuple[int, str]  # sweep id and metric
Json = dict[str, Any]


class AnalysisError(Exception):
    """The importance cannot be computed; the message says why."""


def compute_in_subprocess(document: Json) -> Json:
    """The result of `podium.sweep.studies.parameter_importance`, run as a process. Raises `AnalysisError`."""
    command = [sys.executable, "-P", "-m", "podium.sweep.studies.parameter_importance", str(os.getpid())]
    environment = {**os.environ, **_ONE_THREAD}
    try:
        done = subprocess.run(
            command, input=json.dumps(document), capture_output=True, text=True, check=False,
            timeout=TIMEOUT_S, env=environment,
        )  # fmt: skip
    except subprocess.TimeoutExpired as error:
        raise AnalysisError(f"timed out after {TIMEOUT_S:g} s") from error
    if done.returncode != 0:
        lines = done.stderr.strip().splitlines()
        raise AnalysisError(lines[-1] if lines else f"the process exited with status {done.returncode}")
    answer: Json = json.loads(done.stdout)
    return answer


class ImportanceQueue:
    """A queue of sweeps and metrics; a thread computes them one at a time and ends when the queue is empty."""

    def __init__(self, database: Database, compute: Callable[[Json], Json] = compute_in_subprocess) -> None:
        self._database = database
        self._compute = compute
        self._lock = threading.Lock()
        self._queue: dict[Key, None] = {}  # the first one is being computed
        self._failed: dict[Key, tuple[int, str]] = {}  # by number of finished trials, and the reason
        self._thread: threading.Thread | None = None

    def add(self, sweep_id: int, metric: str) -> None:
        """Queue a computation; without effect if it is queued already, or the queue is full."""
        with self._lock:
            if len(self._queue) < MAX_QUEUED:
                self._queue.setdefault((sweep_id, metric))
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="importance", daemon=True)
                self._thread.start()

    def failure(self, sweep_id: int, metric: str, as_of: int) -> str | None:
        """Why it failed with `as_of` finished trials; None if it was not tried."""
        tried, why = self._failed.get((sweep_id, metric), (-1, ""))
        return why if tried == as_of else None

    def join(self) -> None:
        """Wait until the queue is empty."""
        while (thread := self._thread) is not None:
            thread.join()

    def _run(self) -> None:
        while True:
            with self._lock:
                key = next(iter(self._queue), None)
                if key is None:
                    self._thread = None
                    return
            self._compute_one(key)
            with self._lock:
                del self._queue[key]

    def _compute_one(self, key: Key) -> None:
        sweep_id, metric = key
        as_of = -1
        try:
            with self._database.read() as connection:
                sweep = sweeps.get(connection, sweep_id)
                as_of = importance_data.count_finished(connection, sweep, metric)
                evidence = importance_data.importance_data(connection, sweep, metric)
                seen = chart_points.distributions(connection, sweep_id)
                parameters = seen | json.loads(sweep.spec_json).get("parameters", {})
            answer = self._compute({"parameters": parameters, "trials": evidence})
            computed = StoredImportances(
                as_of, len(evidence), answer["importances"], answer["left_out"], at=time.time()
            )
            with self._database.write() as connection:
                parameter_importances.store(connection, sweep_id, metric, computed)
        except AnalysisError as error:
            self._failed[key] = (as_of, str(error))
        except Exception as error:  # recorded, so that the next request does not start it again at once
            log.exception("sweep %d: cannot compute parameter importance", sweep_id)
            self._failed[key] = (as_of, f"{type(error).__name__}; the service log has the traceback")
