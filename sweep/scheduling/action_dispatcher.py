"""Executes the actions of the scheduler: calls the searches, the study reader and the cleanup thread. Never blocks."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from pathlib import Path

from podium.sweep.lifecycle.scheduler_inbox_messages import Inbox, SearchFailed, Wake
from podium.sweep.lifecycle.scheduler_interfaces import Searcher, Searchers
from podium.sweep.runtime.fail_points import fail_point
from podium.sweep.scheduling.search_and_cleanup_actions import (
    Action,
    ApplyRetention,
    AskTrial,
    CleanUpAttempt,
    CloseSearch,
    OpenSearch,
    ReadAgain,
    ReadStudy,
    ReportValue,
    RetryTrial,
    SearchAction,
    SuggestValue,
    TellTrial,
)
from podium.sweep.scheduling.study_query_thread import StudyReader

log = logging.getLogger("podium.scheduler")


class ActionDispatcher:
    """Holds the open searches by sweep. What they answer goes to the inbox."""

    def __init__(
        self,
        *,
        inbox: Inbox,
        searchers: Searchers,
        study: StudyReader,
        clean_up: Callable[[Path], None],
        apply_retention: Callable[[int], None],
    ) -> None:
        self._inbox = inbox
        self._factory = searchers
        self._study = study
        self._clean_up = clean_up
        self._apply_retention = apply_retention
        self._searchers: dict[int, Searcher] = {}
        self._retention_due: dict[int, None] = {}
        self._read_due = False

    def execute(self, actions: Iterable[Action]) -> None:
        """Execute the actions in order; retention and another read wait for `after_commit`."""
        for action in actions:
            if isinstance(action, OpenSearch):
                self._open(action)
            elif isinstance(action, ReadStudy):
                self._study.read(action.sweep_id, action.request)
            elif isinstance(action, CleanUpAttempt):
                self._clean_up(action.folder)
            elif isinstance(action, ApplyRetention):
                self._retention_due[action.sweep_id] = None
            elif isinstance(action, ReadAgain):
                self._read_due = True
            elif (searcher := self._searchers.get(action.sweep_id)) is not None:
                self._search(searcher, action)

    def after_commit(self) -> None:
        """The changes so far are in the database: retention reads from there which files to remove, and the scheduler
        which sweeps can start.
        """
        for sweep_id in self._retention_due:
            self._apply_retention(sweep_id)
        self._retention_due.clear()
        if self._read_due:
            self._read_due = False
            fail_point("release.after-write")  # of the end of a sweep, or of a release
            self._inbox.put(Wake())

    def _open(self, action: OpenSearch) -> None:
        try:
            self._searchers[action.sweep_id] = self._factory.open(action.sweep_id, action.generation, action.load)
        except Exception as error:  # one search that cannot be opened must not end the scheduler
            log.exception("cannot open the search of sweep %d", action.sweep_id)
            reason = f"{type(error).__name__}: {error}"
            self._inbox.put(SearchFailed(action.sweep_id, reason, action.generation))

    def _search(self, searcher: Searcher, action: SearchAction) -> None:
        if isinstance(action, AskTrial):
            searcher.ask(action.enqueued, action.deadline_s)
        elif isinstance(action, ReportValue):
            searcher.report(action.number, action.key, action.step, action.value)
        elif isinstance(action, SuggestValue):
            searcher.suggest(action.number, action.request)
        elif isinstance(action, TellTrial):
            searcher.tell(
                action.number,
                action.state,
                action.values,
                infeasible=action.infeasible,
                constraints=action.constraints,
            )
        elif isinstance(action, RetryTrial):
            searcher.retry(action.number)
        elif isinstance(action, CloseSearch):
            searcher.close()
            del self._searchers[action.sweep_id]
