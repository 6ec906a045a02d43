"""Evaluates what somebody asked to have evaluated, oldest first; host process."""

from __future__ import annotations

import logging

from db import ensembles, evaluations
from db.engine import Database
from db.evaluations import EvaluationRow
from ensemble.evaluator import Evaluator
from sweep.clock import Clock
from sweep.errors import PodiumError
from sweep.settings import ServiceSettings

log = logging.getLogger("podium.evaluating")


class Evaluating:
    """Works on what is queued; what a dead host was on is queued still."""

    def __init__(self, settings: ServiceSettings, database: Database, evaluator: Evaluator, clock: Clock) -> None:
        self._settings = settings
        self._database = database
        self._evaluator = evaluator
        self._clock = clock

    def step(self) -> None:
        """Do all that is queued."""
        with self._database.read() as connection:
            queued = evaluations.queued(connection)
        for evaluation in queued:
            self._evaluate(evaluation)

    def _evaluate(self, evaluation: EvaluationRow) -> None:
        result, reason = None, ""
        try:
            with self._database.read() as connection:
                row = ensembles.get(connection, evaluation.ensemble_id)
            result = self._evaluator.evaluate(row, evaluation, self._settings.data.probabilities(evaluation.id))
        except PodiumError as error:
            reason = str(error)
        except Exception as error:
            log.exception("evaluation %d failed", evaluation.id)
            reason = f"{type(error).__name__}: {error}; the host's log has the rest"
        with self._database.write() as connection:
            evaluations.finish(connection, evaluation.id, result, reason, self._clock.wall_s())
