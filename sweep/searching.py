"""A thread per sweep that asks, reports and tells in order, so that no slow search holds up the loop; scheduler."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Mapping, Sequence

from sweep.changes import Enqueued
from sweep.messages import Asked, Inbox, Judged, SearchFailed
from sweep.search import Search
from sweep.trial import AttemptKey, TrialState


class SearchThread:
    """Runs one sweep's search; see `sweep.messages.Searcher`."""

    def __init__(self, sweep_id: int, taken: int, search: Search, inbox: Inbox) -> None:
        self._sweep_id = sweep_id
        self._taken = taken
        self._search = search
        self._inbox = inbox
        self._work: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        threading.Thread(target=self._run, name=f"search-{sweep_id}", daemon=True).start()

    def ask(self, enqueued: Enqueued | None = None) -> None:
        self._work.put(lambda: self._ask(enqueued))

    def retry(self, number: int) -> None:
        self._work.put(lambda: self._search.retry(number))

    def report(self, number: int, key: AttemptKey, step: int, value: float) -> None:
        self._work.put(lambda: self._report(number, key, step, value))

    def tell(
        self,
        number: int,
        state: TrialState,
        values: Sequence[float] | None,
        *,
        infeasible: bool = False,
        constraints: Mapping[str, float] | None = None,
    ) -> None:
        told = dict(constraints or {})
        self._work.put(lambda: self._search.tell(number, state, values, infeasible=infeasible, constraints=told))

    def close(self) -> None:
        self._work.put(None)

    def _ask(self, enqueued: Enqueued | None) -> None:
        began = time.perf_counter()
        planned = self._search.ask(None if enqueued is None else enqueued.params)
        took_s = time.perf_counter() - began
        enqueued_id = None if enqueued is None else enqueued.enqueued_id
        self._inbox.put(Asked(self._sweep_id, planned, took_s, enqueued_id, self._taken))

    def _report(self, number: int, key: AttemptKey, step: int, value: float) -> None:
        verdict = self._search.report(number, step, value)
        self._inbox.put(Judged(self._sweep_id, number, key, step, verdict, self._taken))

    def _run(self) -> None:
        while (work := self._work.get()) is not None:
            try:
                work()
            except Exception as error:  # noqa: BLE001 - one sweep's search must not end the scheduler
                self._inbox.put(SearchFailed(self._sweep_id, f"{type(error).__name__}: {error}", self._taken))


class SearchThreads:
    """Opens a thread per sweep."""

    def __init__(self, inbox: Inbox) -> None:
        self._inbox = inbox

    def open(self, sweep_id: int, taken: int, search: Search) -> SearchThread:
        return SearchThread(sweep_id, taken, search, self._inbox)
