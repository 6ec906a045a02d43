"""The thread of a search and the process beside it: asks in order, deadlines, late answers, processes that end."""

from __future__ import annotations

import io
import json
import queue
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from podium.sweep.lifecycle.scheduler_messages import Inbox, TrialProposed
from podium.sweep.search.search_client import OnMessage, _opening
from podium.sweep.search.search_process import serve
from podium.sweep.search.search_threads import SearchThread
from podium.sweep.search.sweep_search import TOLD, Search
from podium.sweep.spec.sweep_spec import SweepSpec
from podium.sweep.values.trial import TrialState
from podium.sweep.values.trial_history import PastTrial, Planned
from tests.specs import spec

ANSWER_S = 20
LONG_S = 600.0  # a deadline that no test waits for
PASSED_S = 0.0  # and one that is over at once


class FakeProcess:
    """Says what the test has it say; see `podium.sweep.search.search_client.Process`."""

    pid = 4321

    def __init__(self, search: Search, on_message: OnMessage) -> None:
        self._on_message = on_message
        self.fed = [search.remembered(number) for number in range(len(search))]
        self.asked: queue.SimpleQueue[int] = queue.SimpleQueue()
        self.closed = threading.Event()

    def feed(self, trial: PastTrial) -> None:
        self.fed.append(trial)

    def ask(self, number: int) -> None:
        self.asked.put(number)

    def close(self) -> None:
        self.closed.set()

    def say(self, **message: Any) -> None:
        self._on_message(message)

    def propose(self, x: float) -> int:
        """Answer the next request; returns its number."""
        number = self.asked.get(timeout=ANSWER_S)
        self.say(kind="proposed", number=number, params={"x": x}, attributes={"podium:told": 0})
        return number


class Bench:
    """A search of GP whose trials have begun to teach it, and the processes that it starts."""

    def __init__(self, **changes: Any) -> None:
        self.processes: queue.SimpleQueue[FakeProcess] = queue.SimpleQueue()
        self.inbox: Inbox = Inbox()
        past = [PastTrial(n, TrialState.FINISHED, {"x": n / 20}, value=n / 20, sampler="gp") for n in range(12)]
        self.search = Search(spec(method="gp", run_cap=50, **changes), past)
        self.thread = SearchThread(3, 8, lambda: self.search, self.inbox, self._open)

    def _open(self, search: Search, on_message: OnMessage) -> FakeProcess:
        process = FakeProcess(search, on_message)
        self.processes.put(process)
        return process

    def process(self, *, ready: bool = True) -> FakeProcess:
        process = self.processes.get(timeout=ANSWER_S)
        if ready:
            process.say(kind="ready")
        return process

    def answer(self) -> Planned:
        asked = self.inbox.get(timeout=ANSWER_S)
        assert isinstance(asked, TrialProposed) and asked.planned is not None, asked
        return asked.planned


@pytest.fixture
def bench() -> Iterator[Bench]:
    made = Bench()
    yield made
    made.thread.close()


def test_what_the_process_proposes_is_the_next_trial(bench: Bench) -> None:
    bench.thread.ask(deadline_s=LONG_S)
    assert bench.process().propose(0.25) == 12
    planned = bench.answer()
    assert (planned.number, planned.params, planned.sampler) == (12, {"x": 0.25}, "gp")


def test_the_process_is_told_all_that_the_search_knows(bench: Bench) -> None:
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


def test_a_slow_sampler_is_passed_over_and_its_answer_goes_to_the_next_trial(bench: Bench) -> None:
    bench.thread.ask(deadline_s=PASSED_S)
    first = bench.answer()
    assert (first.number, first.sampler) == (12, "random, for gp was slow")
    process = bench.process()
    bench.thread.ask(deadline_s=PASSED_S)
    assert bench.answer().number == 13
    late = process.propose(0.25)
    bench.thread.ask(deadline_s=LONG_S)
    third = bench.answer()
    assert (third.number, third.params) == (14, {"x": 0.25})
    assert third.sampler == f"gp, asked for trial {late}"


def test_while_the_process_thinks_others_are_judged_and_told() -> None:
    bench = Bench(early_terminate={"type": "threshold", "lower": 0.1})
    bench.thread.ask(deadline_s=LONG_S)
    process = bench.process()
    bench.thread.retry(3)
    bench.thread.report(3, None, 4, 0.0)  # type: ignore[arg-type]
    judged = bench.inbox.get(timeout=ANSWER_S)
    assert judged.verdict.prune  # type: ignore[union-attr]
    process.propose(0.25)
    assert bench.answer().number == 12
    bench.thread.close()


def test_what_clients_add_waits_for_those_before_it_and_needs_no_sampler(bench: Bench) -> None:
    from podium.sweep.lifecycle.state_changes import Enqueued

    bench.thread.ask(deadline_s=LONG_S)
    bench.thread.ask(Enqueued(5, 3, {"x": 0.125}))
    bench.process().propose(0.25)
    assert bench.answer().params == {"x": 0.25}
    added = bench.answer()
    assert (added.number, added.params, added.sampler) == (13, {"x": 0.125}, "clone")


def test_a_proposal_that_fails_is_drawn_at_random(bench: Bench) -> None:
    bench.thread.ask(deadline_s=LONG_S)
    process = bench.process()
    process.say(kind="failed", number=process.asked.get(timeout=ANSWER_S), error="ValueError: no")
    assert bench.answer().sampler == "random, for gp failed: ValueError: no"
    bench.thread.ask(deadline_s=LONG_S)
    process.propose(0.25)
    assert bench.answer().sampler == "gp"


def test_a_process_that_ends_is_started_again_a_few_times(bench: Bench) -> None:
    bench.thread.ask(deadline_s=LONG_S)
    for _ in range(3):
        bench.process().say(kind="gone")
    assert bench.answer().sampler == "random, for gp ended too often"
    bench.thread.ask(deadline_s=LONG_S)
    assert bench.answer().sampler == "random, for gp ended too often"
    assert bench.processes.empty()


def test_the_process_ends_with_its_search() -> None:
    bench = Bench()
    bench.thread.ask(deadline_s=LONG_S)
    process = bench.process(ready=False)
    bench.thread.close()
    assert process.closed.wait(ANSWER_S)


def test_a_process_that_cannot_be_started_is_tried_again_for_the_next_trial() -> None:
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
        assert asked.planned.sampler.startswith("random, for gp failed: no search process could be started: cannot")
    thread.close()
    assert tries == [12, 13, 14, 15, 16]


def test_what_came_late_can_be_replayed_too() -> None:
    """As of another trial: by what that one's search knew, which is kept with the trial that got the values."""
    searched = spec(method="tpe", run_cap=50)
    past = [PastTrial(n, TrialState.FINISHED, {"x": n / 20}, value=n / 20, sampler="tpe") for n in range(15)]
    beside, search = Search(searched, past), Search(searched, past)
    late, again = beside.propose(15), Search(searched, past).propose(15)
    assert late is not None and again is not None
    passed_over = search.ask_at_random("random, for tpe was slow")
    search.tell(15, TrialState.FINISHED, [0.9])
    planned = search.accept(late)
    assert (planned.number, planned.sampler) == (16, "tpe, asked for trial 15")
    assert (planned.params, planned.attributes[TOLD]) == (again.params, 15)
    assert passed_over.params == Search(searched, past).ask_at_random("").params


# The process itself, without a process.


def _answers(searched: SweepSpec, *requests: dict[str, Any]) -> list[dict[str, Any]]:
    said = io.StringIO()
    opening: dict[str, Any] = {"spec": searched.to_json(), "earlier": []}
    serve(iter([json.dumps(request) for request in (opening, *requests)]), said)
    return [json.loads(line) for line in said.getvalue().splitlines()]


def _trial(past: PastTrial) -> dict[str, Any]:
    return {"kind": "trial", "trial": past.to_dict()}


@pytest.mark.parametrize("method", ["tpe", "cmaes", "nsga2", "qmc"])
def test_the_process_proposes_what_the_search_itself_would(method: str) -> None:
    searched = spec(method=method, run_cap=50)
    past = [
        PastTrial(n, TrialState.FINISHED, {"x": n / 20}, value=n / 20, sampler=method, attributes={}) for n in range(15)
    ]
    ready, proposed = _answers(searched, *map(_trial, past), {"kind": "ask", "number": 15})
    planned = Search(searched, past).ask()
    assert ready == {"kind": "ready"}
    assert planned is not None
    assert (proposed["kind"], proposed["params"]) == ("proposed", planned.params)
    assert proposed["attributes"].keys() == planned.attributes.keys()


def test_the_process_says_what_went_wrong_and_goes_on() -> None:
    past = [_trial(PastTrial(0, TrialState.RUNNING, {"x": 0.5}))]
    _, failed, proposed = _answers(
        spec(method="tpe"), {"kind": "ask", "number": 7}, *past, {"kind": "ask", "number": 1}
    )
    assert (failed["kind"], failed["number"]) == ("failed", 7)
    assert "asked for trial 7" in failed["error"]
    assert (proposed["kind"], proposed["number"]) == ("proposed", 1)


def test_a_trial_passes_through_json_unchanged() -> None:
    past = PastTrial(
        4, TrialState.PRUNED, {"x": 0.1, "y": None}, reports={3: 0.5}, attributes={"a": [1]}, sampler="tpe",
        values=(0.1, 2.0), constraints={"size": -1.0}, distributions={"z": {"min": 1, "max": 2}},
    )  # fmt: skip
    assert PastTrial.from_dict(json.loads(json.dumps(past.to_dict()))) == past


CURVE = {step: step / 1000 for step in range(1000)}
JUDGED = {"type": "median", "min_trials": 1}


def _with_curves() -> Search:
    past = [
        PastTrial(0, TrialState.PRUNED, {"x": 0.25}, reports=CURVE, sampler="gp"),
        PastTrial(1, TrialState.FINISHED, {"x": 0.5}, value=0.5, reports=CURVE, sampler="gp"),
        PastTrial(2, TrialState.RUNNING, {"x": 0.75}, reports=CURVE, sampler="gp"),
    ]
    return Search(spec(method="gp", early_terminate=JUDGED), past)


def test_a_process_is_told_of_no_more_reports_than_a_sampler_learns_from() -> None:
    lines = [json.loads(line) for line in _opening(_with_curves())]
    assert [line["trial"]["reports"] for line in lines[1:]] == [{"999": 0.999}, {}, {"999": 0.999}]


def test_what_a_process_is_told_at_first_is_what_was_known_when_it_started() -> None:
    search = _with_curves()
    opening = _opening(search)
    search.tell(2, TrialState.FINISHED, [0.75])
    search.retry(0)
    states = [json.loads(line)["trial"]["state"] for line in list(opening)[1:]]
    assert states == ["pruned", "finished", "running"]


def test_a_trial_that_ends_or_runs_again_is_still_judged_by_all_its_reports() -> None:
    search = _with_curves()
    search.tell(2, TrialState.PRUNED, None)
    search.retry(2)
    assert search.reports(2) == CURVE


def test_a_search_that_only_proposes_judges_nobody() -> None:
    search = Search(spec(early_terminate={"type": "threshold", "upper": 0.5}), judges=False)
    search.ask()
    assert not search.report(0, 0, 0.9).prune
