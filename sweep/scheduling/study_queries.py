"""Answers the queries of `trial.study`, in a thread of the scheduler process that may block."""

from __future__ import annotations

import logging
import queue
import threading
from collections.abc import Callable
from typing import Any, Protocol

from podium.sweep.lifecycle.scheduler_messages import Inbox, StudyRead
from podium.sweep.values.trial import StudyAsked

log = logging.getLogger("podium.study")
Answer = Callable[[int, StudyAsked], dict[str, Any]]  # raises if the study cannot be read


class StudyReader(Protocol):
    """Answers the queries of trials. Calls never block: answers go to the inbox."""

    def read(self, sweep_id: int, asked: StudyAsked) -> None: ...


class StudyThread:
    """One thread for all sweeps; queries are answered in order."""

    def __init__(self, inbox: Inbox, answer: Answer) -> None:
        self._inbox = inbox
        self._answer = answer
        self._work: queue.SimpleQueue[tuple[int, StudyAsked]] = queue.SimpleQueue()
        threading.Thread(target=self._run, name="study", daemon=True).start()

    def read(self, sweep_id: int, asked: StudyAsked) -> None:
        self._work.put((sweep_id, asked))

    def _run(self) -> None:
        while True:
            sweep_id, asked = self._work.get()
            self._inbox.put(study_read(self._answer, sweep_id, asked))


def study_read(answer: Answer, sweep_id: int, asked: StudyAsked) -> StudyRead:
    """The answer, or the error."""
    try:
        return StudyRead(asked, answer(sweep_id, asked))
    except Exception as error:  # the trial gets the error, and the thread continues
        log.exception("cannot answer trial %d, which reads its study", asked.key.trial_id)
        return StudyRead(asked, {}, f"{type(error).__name__}: {error}")
