"""One thread per sweep for its search, so that a slow search does not block the loop. Scheduler process.

A slow sampler runs in a process of its own (`podium.sweep.search.search_client`), while the thread continues to prune
and tell. Asks are answered in order. After its deadline, an ask is answered with a random sample, so that no device
waits; the late proposal is used for the next trial.
"""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from podium.sweep.lifecycle.pending_commands import Enqueued
from podium.sweep.lifecycle.scheduler_inbox_messages import (
    Inbox,
    PruneDecision,
    SearchFailed,
    TrialProposed,
    ValueSuggested,
)
from podium.sweep.lifecycle.scheduler_interfaces import ASK_DEADLINE_S, SearchInputs
from podium.sweep.search.search_client import OnMessage, OpenProcess, ProcessMessage, Proposer, SearchProcess
from podium.sweep.search.sweep_search import NO_DEFINITIONS, Definitions, Search
from podium.sweep.spec.search_method_registry import BRUTE_FORCE, CUSTOM
from podium.sweep.values.attempt_assignment import AttemptKey, Params
from podium.sweep.values.errors import UnusableClassError, UserCodeError
from podium.sweep.values.search_messages import FallbackReason, TrialPlan
from podium.sweep.values.slot_events import SuggestRequested
from podium.sweep.values.states import TrialState

log = logging.getLogger("podium.search")

START_S = 120.0  # for the import and construction of a sampler class
MAX_SHOWN = 200  # characters of the error of a sampler, in the `fallback_error` of the trial
MAX_FAILURES = 10  # of a sampler, consecutive; then its sweep fails


@dataclass(frozen=True, slots=True)
class _Ask:
    """A pending ask."""

    enqueued: Enqueued | None
    began_s: float
    deadline_s: float  # on the same clock

    @property
    def wanted(self) -> Params | None:
        return None if self.enqueued is None else self.enqueued.params

    @property
    def defined(self) -> Definitions:
        return NO_DEFINITIONS if self.enqueued is None else self.enqueued.distributions


class SearchThread:
    """Runs one sweep's search; see `podium.sweep.lifecycle.scheduler_interfaces.Searcher`."""

    def __init__(
        self,
        sweep_id: int,
        search_generation: int,
        build: Callable[[], Search],
        inbox: Inbox,
        open_process: OpenProcess = SearchProcess,
    ) -> None:
        self._sweep_id = sweep_id
        self._search_generation = search_generation
        self._build: Callable[[], Search] | None = build
        self._open_process = open_process
        self._inbox = inbox
        self._built_s = 0.0
        self._work: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._asks: deque[_Ask] = deque()
        self._failures = 0  # of the sampler, consecutive
        threading.Thread(target=self._run, name=f"search-{sweep_id}", daemon=True).start()

    def ask(self, enqueued: Enqueued | None = None, deadline_s: float = ASK_DEADLINE_S) -> None:
        asked_s = time.perf_counter()

        def wait() -> None:
            began_s = max(asked_s, self._built_s)
            self._asks.append(_Ask(enqueued, began_s, began_s + deadline_s))

        self._work.put(wait)

    def retry(self, number: int) -> None:
        self._work.put(lambda: self._change(number, lambda: self._search.retry(number)))

    def report(self, number: int, key: AttemptKey, step: int, value: float) -> None:
        self._work.put(lambda: self._report(number, key, step, value))

    def suggest(self, number: int, request: SuggestRequested) -> None:
        self._work.put(lambda: self._suggest(number, request))

    def tell(
        self,
        number: int,
        state: TrialState,
        values: Sequence[float] | None,
        *,
        infeasible: bool = False,
        constraints: Mapping[str, float] | None = None,
    ) -> None:
        constraints = dict(constraints or {})

        def told() -> None:
            self._search.tell(number, state, values, infeasible=infeasible, constraints=constraints)

        self._work.put(lambda: self._change(number, told))

    def close(self) -> None:
        self._work.put(None)

    # In the thread.

    def _run(self) -> None:
        if self._run_guarded(self._begin):
            self._work_on()

    def _begin(self) -> None:
        """Build the search, and release its inputs, which may be large."""
        build, self._build = self._build, None
        assert build is not None
        self._search = build()
        self._proposer = Proposer(self._search, self._post, self._open_process)
        self._built_s = time.perf_counter()

    def _work_on(self) -> None:
        while True:
            try:
                work = self._work.get(timeout=self._timeout_s())
            except queue.Empty:
                work = _no_operation
            if work is None:
                self._release()
                return
            self._run_guarded(work)
            self._run_guarded(self._answer)

    def _release(self) -> None:
        """Free the search with its trials now: full garbage collections are rare in this process."""
        self._proposer.release()
        del self._search, self._proposer

    def _run_guarded(self, work: Callable[[], None]) -> bool:
        """Whether it succeeded; an error goes to the inbox."""
        try:
            work()
        except UnusableClassError as error:
            self._inbox.put(SearchFailed(self._sweep_id, str(error), self._search_generation))
            return False
        except Exception as error:  # noqa: BLE001 - one sweep's search must not end the scheduler
            self._inbox.put(SearchFailed(self._sweep_id, f"{type(error).__name__}: {error}", self._search_generation))
            return False
        return True

    def _timeout_s(self) -> float | None:
        """Seconds until the deadline of the first ask; None without asks or without a deadline."""
        if not self._asks or (deadline_s := self._deadline_s(self._asks[0])) is None:
            return None
        return min(max(0.0, deadline_s - time.perf_counter()), threading.TIMEOUT_MAX)

    def _deadline_s(self, ask: _Ask) -> float | None:
        """When to sample at random instead: never for brute force, nor while a class is being imported."""
        if self._search.method == BRUTE_FORCE:
            return None
        if self._search.method != CUSTOM:
            return ask.deadline_s
        if not self._proposer.ready:
            return self._proposer.started_s + START_S
        return max(ask.deadline_s, self._proposer.ready_s + ask.deadline_s - ask.began_s)

    def _answer(self) -> None:
        """Answer pending asks in order, as far as possible now."""
        while self._asks:
            ask = self._asks[0]
            if self._is_pending(ask):
                return
            self._asks.popleft()
            planned = self._planned(ask)
            if planned is not None:
                self._proposer.feed(planned.number)
            enqueued_id = None if ask.enqueued is None else ask.enqueued.enqueued_id
            took_s = time.perf_counter() - ask.began_s
            self._inbox.put(TrialProposed(self._sweep_id, planned, took_s, enqueued_id, self._search_generation))

    def _is_pending(self, ask: _Ask) -> bool:
        """Whether to wait for the search process, which has been asked."""
        if self._search.is_slow_soon:
            self._proposer.start()
        elif not self._search.is_slow:
            self._proposer.close()  # GP was continued by TPE
        if self._is_local(ask) or self._proposer.proposal is not None or self._proposer.exhausted:
            return False
        self._check_usable()
        if self._proposer.error or self._proposer.is_disabled:
            return False
        self._proposer.ask()
        deadline_s = self._deadline_s(ask)
        return deadline_s is None or time.perf_counter() < deadline_s

    def _check_usable(self) -> None:
        """Raises `UnusableClassError` if random samples must not replace the proposals of the method."""
        if self._proposer.unusable:
            raise UnusableClassError(self._proposer.unusable)
        if self._search.method not in (CUSTOM, BRUTE_FORCE):
            return
        label, error = self._search.label, self._proposer.error
        if self._proposer.is_disabled:
            raise UnusableClassError(
                f"the process of {label} ended {self._proposer.STARTS} times; see the service's log"
            )
        if not self._proposer.ready and time.perf_counter() > self._proposer.started_s + START_S:
            raise UnusableClassError(f"{label} could not be imported and constructed within {START_S:g} s")
        if error and (self._search.method == BRUTE_FORCE or self._failures + 1 >= MAX_FAILURES):
            raise UnusableClassError(f"{label} failed: {error}")

    def _is_local(self, ask: _Ask) -> bool:
        """Whether this thread answers the ask itself."""
        return self._search.is_fixed(ask.wanted) or not self._search.is_slow

    def _planned(self, ask: _Ask) -> TrialPlan | None:
        if self._is_local(ask):
            return self._search.ask(ask.wanted, ask.defined)
        if (proposal := self._proposer.take()) is not None:
            self._failures = 0
            return self._search.accept(proposal)
        if self._proposer.take_exhausted():
            return None
        return self._fallback()

    def _fallback(self) -> TrialPlan:
        if error := self._proposer.take_error():
            self._failures += 1
            log.warning("sweep %d: %s failed to propose a trial: %s", self._sweep_id, self._search.label, error)
            return self._search.ask_at_random(FallbackReason.FAILED, error[:MAX_SHOWN])
        hopeless = self._proposer.is_disabled
        return self._search.ask_at_random(FallbackReason.PROCESS_ENDED if hopeless else FallbackReason.SLOW)

    def _change(self, number: int, change: Callable[[], None]) -> None:
        change()
        self._proposer.feed(number)

    def _report(self, number: int, key: AttemptKey, step: int, value: float) -> None:
        verdict = self._search.report(number, step, value)
        if self._search.prunes:  # otherwise no trial waits for the decision
            self._inbox.put(PruneDecision(self._sweep_id, number, key, step, verdict, self._search_generation))

    def _suggest(self, number: int, request: SuggestRequested) -> None:
        self._inbox.put(
            answer_suggestion(
                self._sweep_id, self._search, number=number, request=request, search_generation=self._search_generation
            )
        )
        self._proposer.feed(number)

    def _post(self, callback: OnMessage, message: ProcessMessage) -> None:
        self._work.put(lambda: callback(message))


def _no_operation() -> None:
    """The deadline of the first ask has passed."""


def answer_suggestion(
    sweep_id: int, search: Search, number: int, request: SuggestRequested, search_generation: int
) -> ValueSuggested:
    """The answer to a trial that requests a value; an invalid request fails in the trial."""
    try:
        value = search.suggest(number, request)
    except UserCodeError as error:
        return ValueSuggested(sweep_id, request, error=str(error), search_generation=search_generation)
    return ValueSuggested(
        sweep_id, request, value, search_generation=search_generation, attributes=search.changed_by_suggesting(number)
    )


class SearchThreads:
    """Opens one thread per sweep."""

    def __init__(self, inbox: Inbox) -> None:
        self._inbox = inbox

    def open(self, sweep_id: int, search_generation: int, load: Callable[[], SearchInputs]) -> SearchThread:
        return SearchThread(sweep_id, search_generation, lambda: Search(*load()), self._inbox)
