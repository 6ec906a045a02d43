"""Runs queued evaluations, oldest first; host process, background thread."""

from __future__ import annotations

import logging

from podium.db.schema.database import Database
from podium.db.stores import ensemble_evaluations, ensemble_reader
from podium.db.stores.ensemble_evaluations import EvaluationRow
from podium.ensemble.host.evaluator import Evaluator
from podium.sweep.runtime.clock import Clock
from podium.sweep.runtime.service_settings import ServiceSettings
from podium.sweep.values.errors import PodiumError

log = logging.getLogger("podium.evaluations")


class EvaluationQueue:
    """Runs queued evaluations; one that an earlier host did not finish is retried once."""

    def __init__(self, settings: ServiceSettings, database: Database, evaluator: Evaluator, clock: Clock) -> None:
        self._settings = settings
        self._database = database
        self._evaluator = evaluator
        self._clock = clock
        self._recovered = False

    def step(self) -> None:
        """Run all queued evaluations."""
        if not self._recovered:
            self._recover()
        with self._database.read() as connection:
            queued = ensemble_evaluations.queued(connection)
        for evaluation in queued:
            self._evaluate(evaluation)

    def _recover(self) -> None:
        with self._database.write() as connection:
            lost = ensemble_evaluations.recover(connection, self._clock.wall_s())
        for evaluation_id in lost:
            self._forget_rows(evaluation_id)
        self._recovered = True

    def _evaluate(self, evaluation: EvaluationRow) -> None:
        result, reason = None, ""
        with self._database.write() as connection:
            ensemble_evaluations.begin(connection, evaluation.id, self._clock.wall_s())
        try:
            with self._database.read() as connection:
                row = ensemble_reader.get(connection, evaluation.ensemble_id)
            result = self._evaluator.evaluate(row, evaluation, self._settings.data.probabilities(evaluation.id))
        except PodiumError as error:
            reason = str(error)
        except Exception as error:
            log.exception("evaluation %d failed", evaluation.id)
            reason = f"{type(error).__name__}: {error}; see the host's log"
        with self._database.write() as connection:
            ensemble_evaluations.finish(connection, evaluation.id, result, reason, at=self._clock.wall_s())
        self._forget_rows(evaluation.id)

    def _forget_rows(self, evaluation_id: int) -> None:
        self._settings.data.posted_rows(evaluation_id).unlink(missing_ok=True)
