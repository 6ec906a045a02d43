"""The search thread and the search process: order of asks, deadlines, late answers, and ending processes."""

from __future__ import annotations

import gc
import io
import json
import queue
import threading
import time
import weakref
from collections.abc import Iterator
from typing import Any

import pytest

from podium.sweep.lifecycle.scheduler_inbox_messages import Inbox, TrialProposed
from podium.sweep.protocol.search_process_messages import (
    ProposalComputed,
    ProposalFailed,
    ProposalRequested,
    SearchOpening,
    SearchProcessEnded,
    SearchReady,
    SearchReply,
    SearchRequest,
    TrialChanged,
    decode_reply,
    encode_request,
)
from podium.sweep.search.scheduler_search_threads import MAX_SHOWN, SearchThread
from podium.sweep.search.search_client import OnMessage, ProcessMessage, opening_lines
from podium.sweep.search.search_process import serve
from podium.sweep.search.sweep_search import TRIALS_TOLD, Search
from podium.sweep.search.trials_bounding_proposal_time import LIMITS, SearchLimits
from podium.sweep.spec.sweep_spec import SweepSpec
from podium.sweep.values.search_messages import FallbackReason, PastTrial, TrialPlan
from podium.sweep.values.states import TrialState
from tests.specs import spec

ANSWER_S = 20
LONG_S = 600.0  # a deadline that no test waits for
PASSED_S = 0.0  # a deadline that has already passed


class FakeProcess:
    """Sends the messages of the test; see `podium.sweep.search.search_client.Process`."""

    pid = 4321

    def __init__(self, search: Search, on_message: OnMessage) -> None:
        self._on_message = on_message
        self.fed = [search.past_trial(number) for number in range(len(search))]
        self.asked: queue.SimpleQueue[int] = queue.SimpleQueue()
        self.closed = threading.Event()

    def feed(self, trial: PastTrial) -> None:
        self.fed.append(trial)

    def ask(self, number: int) -> None:
        self.asked.put(number)

    def close(self) -> None:
        self.closed.set()

    def send(self, message: ProcessMessage) -> None:
        self._on_message(message)

    def propose(self, x: float) -> int:
        """Answer the next request; returns its number."""
        number = self.asked.get(timeout=ANSWER_S)
        self.send(ProposalComputed(TrialPlan(number, {"x": x}, "gp", {"podium:told": 0})))
        return number


class Bench:
    """A GP search with finished trials, and the processes that it starts."""

    def __init__(self, limits: SearchLimits = LIMITS, **changes: Any) -> None:
        self.processes: queue.SimpleQueue[FakeProcess] = queue.SimpleQueue()
        self.inbox: Inbox = Inbox()
        past = [PastTrial(n, TrialState.FINISHED, {"x": n / 20}, value=n / 20, sampler="gp") for n in range(12)]
        self.search = Search(spec(method="gp", run_cap=50, **changes), past, limits=limits)
        self.thread = SearchThread(3, 8, lambda: self.search, self.inbox, self._open)

    def _open(self, search: Search, on_message: OnMessage) -> FakeProcess:
        process = FakeProcess(search, on_message)
        self.processes.put(process)
        return process

    def process(self, *, ready: bool = True) -> FakeProcess:
        process = self.processes.get(timeout=ANSWER_S)
        if ready:
            process.send(SearchReady())
        return process

    def answer(self) -> TrialPlan:
        asked = self.inbox.get(timeout=ANSWER_S)
        assert isinstance(asked, TrialProposed) and asked.planned is not None, asked
        return asked.planned


@pytest.fixture
def bench() -> Iterator[Bench]:
    made = Bench()
    yield made
    made.thread.close()


def test_proposal_of_process_is_next_trial(bench: Bench) -> None:
    bench.thread.ask(deadline_s=LONG_S)
    assert bench.process().propose(0.25) == 12
    planned = bench.answer()
    assert (planned.number, planned.params, planned.sampler) == (12, {"x": 0.25}, "gp")


def test_search_is_freed_at_its_end_without_garbage_collection(bench: Bench) -> None:
    bench.thread.ask(deadline_s=LONG_S)
    process = bench.process()
    process.propose(0.25)
    bench.answer()
    search = weakref.ref(bench.search)
    del bench.search
    gc.disable()
    try:
        bench.thread.close()
        assert process.closed.wait(ANSWER_S)
        process.send(SearchProcessEnded())  # it is late
        end_s = time.monotonic() + ANSWER_S
        while search() is not None and time.monotonic() < end_s:
            time.sleep(0.01)
        assert search() is None
    finally:
        gc.enable()


def test_process_receives_all_results(bench: Bench) -> None:
    bench.thread.ask(deadline_s=LONG_S)
    process = bench.process()
    process.propose(0.25)
    bench.answer()
    bench.thread.tell(12, TrialState.FINISHED, [0.5])
    bench.thread.retry(3)
    bench.thread.ask(deadline_s=LONG_S)
    process.propose(0.75)
    bench.answer()
    told = [(trial.number, trial.state, trial.objectives) for trial in process.fed[12:]]
    assert told[:3] == [
        (12, TrialState.RUNNING, None),
        (12, TrialState.FINISHED, (0.5,)),
        (3, TrialState.RUNNING, None),
    ]


def test_slow_sampler_is_skipped_and_its_answer_used_for_next_trial(bench: Bench) -> None:
    bench.thread.ask(deadline_s=PASSED_S)
    first = bench.answer()
    assert (first.number, first.sampler, first.fallback_reason) == (12, "random", FallbackReason.SLOW)
    assert first.fallback_error is None and first.proposed_for is None
    process = bench.process()
    bench.thread.ask(deadline_s=PASSED_S)
    assert bench.answer().number == 13
    late = process.propose(0.25)
    bench.thread.ask(deadline_s=LONG_S)
    third = bench.answer()
    assert (third.number, third.params) == (14, {"x": 0.25})
    assert (third.sampler, third.proposed_for, third.fallback_reason) == ("gp", late, None)


def test_other_trials_are_pruned_and_told_while_process_computes() -> None:
    bench = Bench(early_terminate={"type": "threshold", "lower": 0.1})
    bench.thread.ask(deadline_s=LONG_S)
    process = bench.process()
    bench.thread.retry(3)
    bench.thread.report(3, None, 4, 0.0)  # type: ignore[arg-type]
    decision = bench.inbox.get(timeout=ANSWER_S)
    assert decision.verdict.prune  # type: ignore[union-attr]
    process.propose(0.25)
    assert bench.answer().number == 12
    bench.thread.close()


def test_clone_waits_for_earlier_asks_and_needs_no_sampler(bench: Bench) -> None:
    from podium.sweep.lifecycle.pending_commands import Enqueued

    bench.thread.ask(deadline_s=LONG_S)
    bench.thread.ask(Enqueued(5, 3, {"x": 0.125}))
    bench.process().propose(0.25)
    assert bench.answer().params == {"x": 0.25}
    added = bench.answer()
    assert (added.number, added.params, added.sampler) == (13, {"x": 0.125}, "clone")


def test_failed_proposal_is_drawn_at_random(bench: Bench) -> None:
    bench.thread.ask(deadline_s=LONG_S)
    process = bench.process()
    process.send(ProposalFailed(process.asked.get(timeout=ANSWER_S), "ValueError: no"))
    failed = bench.answer()
    assert (failed.sampler, failed.fallback_reason) == ("random", FallbackReason.FAILED)
    assert failed.fallback_error == "ValueError: no"
    bench.thread.ask(deadline_s=LONG_S)
    process.propose(0.25)
    proposed = bench.answer()
    assert (proposed.sampler, proposed.fallback_reason, proposed.fallback_error) == ("gp", None, None)


def test_the_error_of_a_sampler_is_stored_up_to_a_limit(bench: Bench) -> None:
    bench.thread.ask(deadline_s=LONG_S)
    process = bench.process()
    process.send(ProposalFailed(process.asked.get(timeout=ANSWER_S), "ValueError: " + 5_000 * "x"))
    failed = bench.answer()
    assert failed.fallback_error is not None and len(failed.fallback_error) == MAX_SHOWN


def test_ended_process_is_restarted_limited_times(bench: Bench) -> None:
    bench.thread.ask(deadline_s=LONG_S)
    for _ in range(3):
        bench.process().send(SearchProcessEnded())
    assert bench.answer().fallback_reason is FallbackReason.PROCESS_ENDED
    bench.thread.ask(deadline_s=LONG_S)
    assert bench.answer().fallback_reason is FallbackReason.PROCESS_ENDED
    assert bench.processes.empty()


def test_process_ends_with_its_search() -> None:
    bench = Bench()
    bench.thread.ask(deadline_s=LONG_S)
    process = bench.process(ready=False)
    bench.thread.close()
    assert process.closed.wait(ANSWER_S)


def test_process_ends_when_tpe_continues_the_search() -> None:
    bench = Bench(SearchLimits(gp_ends_at=13))
    bench.thread.ask(deadline_s=LONG_S)
    process = bench.process()
    number = process.propose(0.25)
    bench.answer()
    bench.thread.tell(number, TrialState.FINISHED, [0.25])
    bench.thread.ask(deadline_s=LONG_S)
    assert bench.answer().sampler == "tpe"
    assert process.closed.wait(ANSWER_S)
    bench.thread.close()


def test_process_start_is_retried_for_next_trial() -> None:
    tries: list[int] = []

    def full(search: Search, on_message: OnMessage) -> FakeProcess:
        tries.append(len(search))
        raise OSError("cannot allocate memory")

    inbox: Inbox = Inbox()
    past = [PastTrial(n, TrialState.FINISHED, {"x": 0.5}, value=0.5) for n in range(12)]
    thread = SearchThread(3, 8, lambda: Search(spec(method="gp"), past), inbox, full)
    for _ in range(5):
        thread.ask(deadline_s=LONG_S)
        asked = inbox.get(timeout=ANSWER_S)
        assert isinstance(asked, TrialProposed) and asked.planned is not None
        assert asked.planned.fallback_reason is FallbackReason.FAILED
        assert asked.planned.fallback_error == "failed to start the search process: cannot allocate memory"
    thread.close()
    assert tries == [12, 13, 14, 15, 16]


def test_late_proposal_can_be_replayed() -> None:
    """The replay uses what was known at the ask of the earlier trial; the trial with the values stores that number."""
    searched = spec(method="tpe", run_cap=50)
    past = [PastTrial(n, TrialState.FINISHED, {"x": n / 20}, value=n / 20, sampler="tpe") for n in range(15)]
    process_search, search = Search(searched, past), Search(searched, past)
    late, again = process_search.propose(15), Search(searched, past).propose(15)
    assert late is not None and again is not None
    passed_over = search.ask_at_random(FallbackReason.SLOW)
    search.tell(15, TrialState.FINISHED, [0.9])
    planned = search.accept(late)
    assert (planned.number, planned.sampler, planned.proposed_for) == (16, "tpe", 15)
    assert (planned.params, planned.attributes[TRIALS_TOLD]) == (again.params, 15)
    assert passed_over.params == Search(searched, past).ask_at_random(FallbackReason.SLOW).params


# The code of the search process, in the test's process.


def _replies(searched: SweepSpec, *requests: SearchRequest) -> list[SearchReply]:
    output = io.StringIO()
    opening = SearchOpening(searched.to_json())
    serve(iter([encode_request(request) for request in (opening, *requests)]), output)
    return [decode_reply(line) for line in output.getvalue().splitlines()]


@pytest.mark.parametrize("method", ["tpe", "cmaes", "nsga2", "qmc"])
def test_process_proposes_same_as_search(method: str) -> None:
    searched = spec(method=method, run_cap=50)
    past = [
        PastTrial(n, TrialState.FINISHED, {"x": n / 20}, value=n / 20, sampler=method, attributes={}) for n in range(15)
    ]
    ready, computed = _replies(searched, *map(TrialChanged, past), ProposalRequested(15))
    planned = Search(searched, past).ask()
    assert ready == SearchReady()
    assert planned is not None and isinstance(computed, ProposalComputed)
    assert (computed.planned.params, computed.planned.sampler) == (planned.params, method)
    assert computed.planned.attributes.keys() == planned.attributes.keys()


def test_process_reports_error_and_continues() -> None:
    changed = TrialChanged(PastTrial(0, TrialState.RUNNING, {"x": 0.5}))
    _, failed, computed = _replies(spec(method="tpe"), ProposalRequested(7), changed, ProposalRequested(1))
    assert isinstance(failed, ProposalFailed) and failed.number == 7
    assert "asked for trial 7" in failed.error
    assert isinstance(computed, ProposalComputed) and computed.planned.number == 1


CURVE = {step: step / 1000 for step in range(1000)}
MEDIAN = {"type": "median", "min_trials": 1}


def _with_curves() -> Search:
    past = [
        PastTrial(0, TrialState.PRUNED, {"x": 0.25}, reports=CURVE, sampler="gp"),
        PastTrial(1, TrialState.FINISHED, {"x": 0.5}, value=0.5, reports=CURVE, sampler="gp"),
        PastTrial(2, TrialState.RUNNING, {"x": 0.75}, reports=CURVE, sampler="gp"),
    ]
    return Search(spec(method="gp", early_terminate=MEDIAN), past)


def test_process_receives_only_last_report_of_each_trial() -> None:
    lines = [json.loads(line) for line in opening_lines(_with_curves())]
    assert [line["trial"]["reports"] for line in lines[1:]] == [{"999": 0.999}, {}, {"999": 0.999}]


def test_opening_messages_are_a_snapshot() -> None:
    search = _with_curves()
    opening = opening_lines(search)
    search.tell(2, TrialState.FINISHED, [0.75])
    search.retry(0)
    states = [json.loads(line)["trial"]["state"] for line in list(opening)[1:]]
    assert states == ["pruned", "finished", "running"]


def test_retried_trial_keeps_all_reports() -> None:
    search = _with_curves()
    search.tell(2, TrialState.PRUNED, None)
    search.retry(2)
    assert search.reports(2) == CURVE


def test_search_without_pruner_prunes_nothing() -> None:
    search = Search(spec(early_terminate={"type": "threshold", "upper": 0.5}), prunes=False)
    search.ask()
    assert not search.report(0, 0, 0.9).prune
