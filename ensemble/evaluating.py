"""Evaluates ensembles that somebody asked to have evaluated: a thread of its own, since it takes long; host process."""

from __future__ import annotations

import logging
import threading

from db import ensembles, evaluations
from db.engine import Database
from db.evaluations import EvaluationRow
from ensemble.evaluator import Evaluator
from sweep.clock import Clock
from sweep.errors import PodiumError
from sweep.settings import ServiceSettings

TICK_S = 0.5
log = logging.getLogger("podium.evaluating")


class Evaluating:
    """Works on what is queued, oldest first, until stopped; what a dead host was on is queued still."""

    def __init__(self, settings: ServiceSettings, database: Database, evaluator: Evaluator, clock: Clock) -> None:
        self._settings = settings
        self._database = database
        self._evaluator = evaluator
        self._clock = clock
        self._asked = threading.Event()
        self._stopping = False

    def start(self) -> None:
        """Begin, in a thread that ends with the process."""
        threading.Thread(target=self._run, name="evaluate", daemon=True).start()

    def wake(self) -> None:
        """Look at the queue now."""
        self._asked.set()

    def stop(self) -> None:
        """Take up nothing more."""
        self._stopping = True
        self._asked.set()

    def step(self) -> None:
        """Do all that is queued."""
        with self._database.read() as connection:
            queued = evaluations.queued(connection)
        for evaluation in queued:
            if not self._stopping:
                self._evaluate(evaluation)

    def _run(self) -> None:
        while not self._stopping:
            try:
                self.step()
            except PodiumError as error:
                log.error("%s; trying again", error)
            self._asked.wait(TICK_S)
            self._asked.clear()

    def _evaluate(self, evaluation: EvaluationRow) -> None:
        result, reason = None, ""
        try:
            with self._database.read() as connection:
                row = ensembles.get(connection, evaluation.ensemble_id)
            result = self._evaluator.evaluate(row, evaluation, self._settings.data.probabilities(evaluation.id))
        except PodiumError as error:
            reason = str(error)
        with self._database.write() as connection:
            evaluations.finish(connection, evaluation.id, result, reason, self._clock.wall_s())
