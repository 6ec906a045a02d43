"""Judges in the background which parameters matter: one process at a time, its answers kept in the database; api.

Optuna and scikit-learn are loaded there, never in the service's own process.
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

from podium.db.queries import importances, points
from podium.db.queries.importances import Judged
from podium.db.schema.engine import Database
from podium.db.stores import sweeps

log = logging.getLogger("podium.api")

MOST_WAITING = 16
TIMEOUT_S = 180.0
_ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
Key = tuple[int, str]  # of a sweep, and the metric
Json = dict[str, Any]


class AnalysisError(Exception):
    """It cannot be judged; the message says why."""


def in_its_own_process(document: Json) -> Json:
    """What `podium.sweep.studies.parameter_importance` says of the document. Raises `AnalysisError`."""
    command = [sys.executable, "-P", "-m", "podium.sweep.studies.parameter_importance", str(os.getpid())]
    environment = {**os.environ, **_ONE_THREAD}
    try:
        done = subprocess.run(
            command, input=json.dumps(document), capture_output=True, text=True, check=False,
            timeout=TIMEOUT_S, env=environment,
        )  # fmt: skip
    except subprocess.TimeoutExpired as error:
        raise AnalysisError(f"it took longer than {TIMEOUT_S:g} s") from error
    if done.returncode != 0:
        lines = done.stderr.strip().splitlines()
        raise AnalysisError(lines[-1] if lines else f"its process ended with status {done.returncode}")
    answer: Json = json.loads(done.stdout)
    return answer


class Analyst:
    """What is asked for waits in a queue; a thread works while there is something in it."""

    def __init__(self, database: Database, judge: Callable[[Json], Json] = in_its_own_process) -> None:
        self._database = database
        self._judge = judge
        self._lock = threading.Lock()
        self._waiting: dict[Key, None] = {}  # the first is being worked on
        self._failed: dict[Key, tuple[int, str]] = {}  # as of how many trials, and why
        self._working: threading.Thread | None = None

    def begin(self, sweep_id: int, metric: str) -> None:
        """Have it judged; asked again meanwhile, or while very much waits, nothing more happens."""
        with self._lock:
            if len(self._waiting) < MOST_WAITING:
                self._waiting.setdefault((sweep_id, metric))
            if self._working is None:
                self._working = threading.Thread(target=self._work, name="analyst", daemon=True)
                self._working.start()

    def failure(self, sweep_id: int, metric: str, as_of: int) -> str | None:
        """Why it could not be judged with so many finished trials; None where nobody tried."""
        tried, why = self._failed.get((sweep_id, metric), (-1, ""))
        return why if tried == as_of else None

    def settle(self) -> None:
        """Wait until nothing waits."""
        while (thread := self._working) is not None:
            thread.join()

    def _work(self) -> None:
        while True:
            with self._lock:
                key = next(iter(self._waiting), None)
                if key is None:
                    self._working = None
                    return
            self._try(key)
            with self._lock:
                del self._waiting[key]

    def _try(self, key: Key) -> None:
        sweep_id, metric = key
        as_of = -1
        try:
            with self._database.read() as connection:
                sweep = sweeps.get(connection, sweep_id)
                as_of = importances.finished(connection, sweep, metric)
                evidence = importances.evidence(connection, sweep, metric)
                seen = points.distributions(connection, sweep_id)
                parameters = seen | json.loads(sweep.spec_json).get("parameters", {})
            answer = self._judge({"parameters": parameters, "trials": evidence})
            judged = Judged(as_of, len(evidence), answer["importances"], answer["left_out"], time.time())
            with self._database.write() as connection:
                importances.keep(connection, sweep_id, metric, judged)
        except AnalysisError as error:
            self._failed[key] = (as_of, str(error))
        except Exception as error:  # whatever it is, the next question must not start it again at once
            log.exception("sweep %d: the importance of its parameters cannot be judged", sweep_id)
            self._failed[key] = (as_of, f"{type(error).__name__}; the service's log says more")
