"""Answers the queries of `trial.study`, in a thread of the scheduler process that may block."""

from __future__ import annotations

import logging
import queue
import threading
from collections.abc import Callable
from typing import Any, Protocol

from podium.sweep.lifecycle.scheduler_inbox_messages import Inbox, StudyAnswered
from podium.sweep.values.slot_events import StudyRequested

log = logging.getLogger("podium.study")
Answer = Callable[[int, StudyRequested], dict[str, Any]]  # raises if the study cannot be read


class StudyReader(Protocol):
    """Answers the queries of trials. Calls never block: answers go to the inbox."""

    def read(self, sweep_id: int, request: StudyRequested) -> None: ...


class StudyThread:
    """One thread for all sweeps; queries are answered in order."""

    def __init__(self, inbox: Inbox, answer: Answer) -> None:
        self._inbox = inbox
        self._answer = answer
        self._work: queue.SimpleQueue[tuple[int, StudyRequested]] = queue.SimpleQueue()
        threading.Thread(target=self._run, name="study", daemon=True).start()

    def read(self, sweep_id: int, request: StudyRequested) -> None:
        self._work.put((sweep_id, request))

    def _run(self) -> None:
        while True:
            sweep_id, asked = self._work.get()
            self._inbox.put(study_answered(self._answer, sweep_id, asked))


def study_answered(answer: Answer, sweep_id: int, request: StudyRequested) -> StudyAnswered:
    """The answer, or the error."""
    try:
        return StudyAnswered(request, answer(sweep_id, request))
    except Exception as error:  # the trial gets the error, and the thread continues
        log.exception("cannot answer trial %d, which reads its study", request.key.trial_id)
        return StudyAnswered(request, {}, f"{type(error).__name__}: {error}")
