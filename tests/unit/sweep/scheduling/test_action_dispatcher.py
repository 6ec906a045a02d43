"""Actions reach the open search of their sweep in order; retention waits for the commit."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from podium.sweep.lifecycle.scheduler_inbox_messages import Inbox, SearchFailed, TrialProposed
from podium.sweep.lifecycle.scheduler_interfaces import Searcher, SearchInputs
from podium.sweep.scheduling.action_dispatcher import ActionDispatcher
from podium.sweep.scheduling.search_and_cleanup_actions import (
    ApplyRetention,
    AskTrial,
    CleanUpAttempt,
    CloseSearch,
    OpenSearch,
    RetryTrial,
    TellTrial,
)
from podium.sweep.values.states import TrialState
from tests.fakes import InlineSearchers, InlineStudyReader
from tests.rig import Rig
from tests.specs import spec


class BrokenSearchers:
    """Opens nothing."""

    def open(self, sweep_id: int, search_generation: int, load: Callable[[], SearchInputs]) -> Searcher:
        raise RuntimeError("can't start new thread")


class Bench:
    """An executor, and what it called."""

    def __init__(self, searchers: Any = None) -> None:
        self.inbox: Inbox = Inbox()
        self.searchers = searchers or InlineSearchers(self.inbox)
        self.cleaned_up: list[Path] = []
        self.retained: list[int] = []
        self.executor = ActionDispatcher(
            inbox=self.inbox,
            searchers=self.searchers,
            study=InlineStudyReader(self.inbox, lambda sweep_id, asked: {}),
            clean_up=self.cleaned_up.append,
            apply_retention=self.retained.append,
        )


def _open() -> OpenSearch:
    return OpenSearch(3, 8, lambda: SearchInputs(spec()))


def test_actions_reach_search_in_order_until_it_is_closed() -> None:
    bench = Bench()
    bench.executor.execute([_open(), AskTrial(3), TellTrial(3, 0, TrialState.FAILED), RetryTrial(3, 0), AskTrial(3)])
    proposals = [bench.inbox.get_nowait() for _ in range(2)]
    assert [m.planned.number for m in proposals if isinstance(m, TrialProposed) and m.planned] == [0, 1]
    assert bench.searchers.opened[3].search.past_trial(0).state is TrialState.RUNNING
    bench.executor.execute([CloseSearch(3), AskTrial(3), CloseSearch(3)])
    assert bench.inbox.empty()


def test_search_that_cannot_be_opened_fails_only_its_sweep() -> None:
    bench = Bench(BrokenSearchers())
    bench.executor.execute([_open(), AskTrial(3), CloseSearch(3)])
    assert bench.inbox.get_nowait() == SearchFailed(3, "RuntimeError: can't start new thread", 8)
    assert bench.inbox.empty()


def test_sweep_fails_when_its_search_cannot_be_opened(rig: Rig) -> None:
    rig.submit(run_cap=1)
    rig.scheduler.step([SearchFailed(1, "RuntimeError: can't start new thread", 1)])
    assert "can't start new thread" in rig.sweep().reason
    rig.submit(run_cap=1)
    rig.finish_all()
    assert rig.counted(2) == 1


def test_retention_runs_after_commit_once_per_sweep() -> None:
    bench = Bench()
    bench.executor.execute([ApplyRetention(4), CleanUpAttempt(Path("a")), ApplyRetention(5), ApplyRetention(4)])
    assert (bench.cleaned_up, bench.retained) == ([Path("a")], [])
    bench.executor.after_commit()
    bench.executor.after_commit()
    assert bench.retained == [4, 5]
