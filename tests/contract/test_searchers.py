"""The contract of a searcher, in a thread or inline: it processes calls in order and answers through the inbox."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from podium.sweep.lifecycle.scheduler_inbox_messages import Inbox, PruneDecision, SearchFailed, TrialProposed
from podium.sweep.lifecycle.scheduler_interfaces import Searchers, SearchInputs
from podium.sweep.search.scheduler_search_threads import SearchThreads
from podium.sweep.values.attempt_assignment import AttemptKey
from podium.sweep.values.states import TrialState
from tests.fakes import InlineSearchers
from tests.specs import spec

ANSWER_S = 20
KEY = AttemptKey(7, 1)


@pytest.fixture(params=[SearchThreads, InlineSearchers], ids=["thread", "inline"])
def open_searchers(request: pytest.FixtureRequest) -> Callable[[Inbox], Searchers]:
    """Each implementation that opens searchers."""
    opened: Callable[[Inbox], Searchers] = request.param
    return opened


def test_answers_arrive_in_the_inbox_in_order(open_searchers: Callable[[Inbox], Searchers]) -> None:
    inbox: Inbox = Inbox()
    searched = spec(method="grid", parameters={"x": {"values": [1, 2]}}, early_terminate={"type": "median"})
    searcher = open_searchers(inbox).open(3, 8, lambda: SearchInputs(searched))
    searcher.ask()
    searcher.report(0, KEY, 5, 0.5)
    searcher.tell(0, TrialState.FINISHED, [0.5])
    searcher.ask()
    searcher.ask()
    first, decision, second, none = (inbox.get(timeout=ANSWER_S) for _ in range(4))
    searcher.close()
    assert isinstance(first, TrialProposed) and isinstance(second, TrialProposed) and isinstance(none, TrialProposed)
    assert first.planned is not None and second.planned is not None and none.planned is None
    assert (first.sweep_id, first.planned.number, second.planned.number) == (3, 0, 1)
    assert {
        answer.search_generation
        for answer in (first, decision, second, none)
        if isinstance(answer, TrialProposed | PruneDecision)
    } == {8}
    assert isinstance(decision, PruneDecision)
    assert (decision.sweep_id, decision.number, decision.key, decision.step, decision.verdict.prune) == (
        3,
        0,
        KEY,
        5,
        False,
    )


def test_error_in_a_search_is_reported_and_its_thread_continues() -> None:
    inbox: Inbox = Inbox()
    searcher = SearchThreads(inbox).open(3, 8, lambda: SearchInputs(spec()))
    searcher.tell(99, TrialState.FINISHED, [0.5])  # not a trial of this sweep
    searcher.ask()
    failed, asked = inbox.get(timeout=ANSWER_S), inbox.get(timeout=ANSWER_S)
    searcher.close()
    assert isinstance(failed, SearchFailed) and (failed.sweep_id, failed.search_generation) == (3, 8)
    assert "KeyError" in failed.reason
    assert isinstance(asked, TrialProposed)


def test_search_is_built_in_its_own_thread_and_answers_once_built() -> None:
    inbox: Inbox = Inbox()
    proceed, builders = threading.Event(), []

    def load() -> SearchInputs:
        builders.append(threading.current_thread())
        assert proceed.wait(ANSWER_S)
        return SearchInputs(spec())

    searcher = SearchThreads(inbox).open(3, 8, load)
    searcher.ask()
    searcher.tell(0, TrialState.FINISHED, [0.5])
    searcher.ask()
    assert inbox.empty()
    proceed.set()
    first, second = inbox.get(timeout=ANSWER_S), inbox.get(timeout=ANSWER_S)
    searcher.close()
    assert isinstance(first, TrialProposed) and first.planned is not None and first.planned.number == 0
    assert isinstance(second, TrialProposed) and second.planned is not None and second.planned.number == 1
    assert threading.current_thread() not in builders


def test_search_that_cannot_be_built_is_reported_once_and_does_not_answer() -> None:
    inbox: Inbox = Inbox()

    def load() -> SearchInputs:
        raise ValueError("no such value")

    searcher = SearchThreads(inbox).open(3, 8, load)
    failed = inbox.get(timeout=ANSWER_S)
    searcher.ask()
    searcher.close()
    assert isinstance(failed, SearchFailed) and (failed.sweep_id, failed.search_generation) == (3, 8)
    assert failed.reason == "ValueError: no such value"
    assert inbox.empty()
