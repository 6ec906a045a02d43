"""Sampler and pruner classes that a sweep file names: checked, given what ended, rebuilt, and loud when they fail."""

from __future__ import annotations

import json
import queue
import textwrap
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from podium.sweep.lifecycle.scheduler_messages import Inbox, SearchFailed, TrialProposed
from podium.sweep.search.class_loading import pruner_of_class, sampler_of_class
from podium.sweep.search.samplers import AskContext, sampler_of
from podium.sweep.search.search_client import OnMessage, Proposer
from podium.sweep.search.search_threads import MAX_FAILURES, SearchThread
from podium.sweep.search.sweep_search import TRIAL_NOTES, Search
from podium.sweep.spec.search_methods import CUSTOM
from podium.sweep.spec.sweep_spec import SweepSpec, parse_spec, spec_from_json
from podium.sweep.values.errors import InvalidSpecError, UnusableClassError
from podium.sweep.values.trial import TrialState
from podium.sweep.values.trial_history import PastTrial, Planned
from tests.specs import document, spec
from tests.unit.sweep.search.test_sweep_search import CONDITIONAL, RESTARTS, Sweep

ANSWER_S = 20.0
MODULE = """
    from optuna.pruners import BasePruner
    from optuna.samplers import RandomSampler

    class Listening(RandomSampler):
        '''Keeps what ended in Python and on the trials, and stops after `last` of them.'''
        def __init__(self, seed=None, last=1000, note=True):
            super().__init__(seed)
            self.heard, self.last, self.note = [], last, note

        def after_trial(self, study, trial, state, values):
            self.heard.append((trial.number, state.name, values))
            if self.note:
                study._storage.set_trial_system_attr(trial._trial_id, "mine:heard", len(self.heard))
                study._storage.set_study_system_attr(study._study_id, "mine:count", len(self.heard))
            if len(self.heard) >= self.last:
                study.stop()

    class Raising(RandomSampler):
        def __init__(self):
            raise ValueError("no license")

    class Grumpy(BasePruner):
        def prune(self, study, trial):
            raise KeyError("threshold")

    class Sometimes(BasePruner):
        def prune(self, study, trial):
            if trial.last_step == 1:
                raise KeyError("threshold")
            return trial.last_step >= 3

    def function():
        pass
"""


@pytest.fixture(autouse=True)
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package with classes, as if it were installed."""
    (tmp_path / "my_samplers.py").write_text(textwrap.dedent(MODULE))
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


def _searched(name: str, args: dict[str, Any] | None = None, **changes: Any) -> SweepSpec:
    method = {"sampler": name, **({"args": args} if args else {})}
    return spec(method=method, seed=3, parameters=CONDITIONAL, run_cap=60, **changes)


def _ask(search: Search) -> Planned:
    planned = search.ask()
    assert planned is not None
    return planned


# The sweep file.


def test_a_class_is_a_method() -> None:
    searched = _searched("optuna.samplers:TPESampler", {"n_startup_trials": 5})
    assert (searched.searched_by, searched.method_name) == (CUSTOM, "optuna.samplers:TPESampler")
    assert spec_from_json(searched.to_json()) == searched


def test_a_pruner_class_is_a_rule() -> None:
    early = {"pruner": "optuna.pruners:MedianPruner", "args": {"n_warmup_steps": 2}, "metric": "score"}
    searched = spec(early_terminate=early)
    assert searched.early_terminate.type == "custom"
    assert json.loads(searched.to_json())["early_terminate"]["type"] == "custom"  # the database looks for it
    assert spec_from_json(searched.to_json()) == searched


@pytest.mark.parametrize(
    ("changes", "key", "words"),
    [
        ({"method": {"sampler": "TPESampler"}}, "method.sampler",
         "must be MODULE:CLASS, got 'TPESampler'; for a built-in one write"),
        ({"method": {"sampler": "a:B", "arg": {}}}, "method.arg", "did you mean 'args'?"),
        ({"method": {"args": {}}}, "method.sampler", "is required"),
        ({"method": {"sampler": "a:B", "args": []}}, "method.args", ""),
        ({"method": {"sampler": "a:B", "args": {"x": "y" * 20_000}}}, "method.args", "at most 16,384 characters"),
        ({"method": {"sampler": "a:B"}, "parameters": None}, "parameters", "method: a:B needs at least one parameter"),
        ({"method": {"sampler": "a:B"}, "parameters": {"x": {"distribution": "normal"}}}, "parameters.x",
         "distribution normal needs method: random, not a:B"),
        ({"method": "bogus"}, "method", "'bogus'"),
        ({"early_terminate": {"pruner": "median"}}, "early_terminate.pruner", "type: median"),
        ({"early_terminate": {"type": "custom"}}, "early_terminate", "custom requires pruner"),
        ({"early_terminate": {"type": "asha", "pruner": "a:B"}}, "early_terminate.pruner",
         "only valid with type: custom"),
        ({"early_terminate": {"pruner": "a:B", "eta": 3}}, "early_terminate.eta",
         "the keys of type: custom are pruner, args"),
        ({"early_terminate": {"type": "wilcoxon", "p_threshold": 0}}, "early_terminate.p_threshold",
         "must be greater than 0"),
        ({"method": "brute_force"}, "parameters.x", "brute_force needs a finite list"),
        ({"method": "brute_force", "parameters": {"x": {"min": 1, "max": 10**6}}}, "parameters.x",
         "use method: grid"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused_with_its_key(changes: dict[str, Any], key: str, words: str) -> None:
    plain = document()
    plain |= {name: value for name, value in changes.items() if value is not None}
    for name in [name for name, value in changes.items() if value is None]:
        del plain[name]
    with pytest.raises(InvalidSpecError) as caught:
        parse_spec(plain)
    assert [problem.key for problem in caught.value.problems] == [key]
    assert words in caught.value.problems[0].message


# Loading.


@pytest.mark.parametrize(
    ("name", "args", "words"),
    [
        ("nowhere_to_be:Sampler", {}, "there is no package 'nowhere_to_be' in the service's Python environment"),
        ("my_samplers:Listning", {}, "did you mean 'Listening'?"),
        ("my_samplers:function", {}, "is not a subclass of optuna.samplers.BaseSampler"),
        ("my_samplers:Grumpy", {}, "is not a subclass of optuna.samplers.BaseSampler"),
        ("my_samplers:Raising", {}, "cannot be constructed: ValueError: no license"),
        ("my_samplers:Listening", {"laste": 3}, "unexpected keyword argument 'laste'; it takes seed, last, note"),
        ("optuna.samplers:BaseSampler", {}, "cannot be constructed: TypeError"),
        ("optuna.samplers:PartialFixedSampler", {"fixed_params": {}, "base_sampler": {"sampler": "nowhere:A"}},
         "there is no package 'nowhere'"),
    ],
)  # fmt: skip
def test_a_class_that_cannot_be_used_says_why(name: str, args: dict[str, Any], words: str) -> None:
    with pytest.raises(UnusableClassError) as caught:
        sampler_of_class(name, args)
    assert words in str(caught.value)


def test_a_sampler_may_hold_a_sampler_and_a_pruner_a_pruner() -> None:
    inner = {"sampler": "optuna.samplers:TPESampler", "args": {"n_startup_trials": 3}}
    sampler_of_class("my_samplers:Listening", {"last": 3}, seed=1)
    pruner_of_class("optuna.pruners:MedianPruner", {"n_warmup_steps": 1})
    with pytest.raises(UnusableClassError, match="fixed_params"):
        sampler_of_class("optuna.samplers:PartialFixedSampler", {"base_sampler": inner})


def test_a_method_without_a_builder_is_an_error() -> None:
    searched = _searched("my_samplers:Listening")
    with pytest.raises(LookupError, match="no sampler is registered for search method 'custom'"):
        sampler_of(AskContext(searched, 0), CUSTOM)


# Searching.


@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("optuna.samplers:TPESampler", {"n_startup_trials": 5}),
        ("optuna.samplers:RandomSampler", None),
        ("optuna.samplers:NSGAIISampler", {"population_size": 8}),
        ("my_samplers:Listening", {"note": False}),
    ],
)
def test_a_sampler_whose_state_is_the_study_goes_on_after_a_restart(name: str, args: dict[str, Any] | None) -> None:
    searched = _searched(name, args)
    assert Sweep(searched, RESTARTS).play(45) == Sweep(searched).play(45)


def test_it_chooses_within_the_space_and_its_name_stands_with_the_trial() -> None:
    searched = _searched("my_samplers:Listening")
    search = Search(searched)
    for number in range(10):
        planned = _ask(search)
        assert planned.sampler == "my_samplers:Listening"
        assert all(searched.parameters[name].complaint(value) is None for name, value in planned.params.items())
        search.tell(number, TrialState.FINISHED, [0.5])
    assert len({json.dumps(search.remembered(number).params) for number in range(10)}) == 10


def test_it_is_given_each_trial_that_ended_once_and_keeps_its_state() -> None:
    search = Search(_searched("my_samplers:Listening"))
    for _ in range(4):
        _ask(search)
    search.tell(2, TrialState.FINISHED, [0.5])
    search.tell(0, TrialState.FAILED, None)
    _ask(search)
    search.tell(1, TrialState.PRUNED, None)
    _ask(search)
    sampler: Any = search.class_sampler.sampler  # type: ignore[union-attr]
    assert sampler.heard == [(2, "COMPLETE", [0.5]), (0, "FAIL", None), (1, "PRUNED", None)]


def test_what_it_notes_on_trials_and_study_is_kept_with_the_next_trial() -> None:
    searched = _searched("my_samplers:Listening")
    search = Search(searched)
    first = _ask(search)
    search.tell(0, TrialState.FINISHED, [0.5])
    second = _ask(search)
    assert second.attributes[TRIAL_NOTES] == {"0": {"mine:heard": 1}}
    past = [
        PastTrial(0, TrialState.FINISHED, first.params, 0.5, attributes=first.attributes, sampler=first.sampler),
        PastTrial(1, TrialState.RUNNING, second.params, attributes=second.attributes, sampler=second.sampler),
    ]
    rebuilt = Search(searched, [PastTrial.from_dict(json.loads(json.dumps(trial.to_dict()))) for trial in past])
    assert rebuilt.study[0].system_attrs["mine:heard"] == 1
    assert rebuilt.study.notes()["mine:count"] == 1


def test_a_grid_of_optuna_that_is_exhausted_stays_so_after_a_restart() -> None:
    args = {"search_space": {"lr": [0.01, 0.1]}}
    grid = spec(
        method={"sampler": "optuna.samplers:GridSampler", "args": args}, parameters={"lr": {"values": [0.01, 0.1]}}
    )
    search = Search(grid)
    for number in range(2):
        assert _ask(search).number == number
        search.tell(number, TrialState.FINISHED, (0.5,))
    assert search.ask() is None
    assert Search(grid, list(search.all_remembered())).ask() is None


def test_a_sampler_that_stops_the_study_ends_the_search() -> None:
    search = Search(_searched("my_samplers:Listening", {"last": 3}))
    for number in range(3):
        _ask(search)
        search.tell(number, TrialState.FINISHED, [0.5])
    assert search.ask() is None


# The process beside the scheduler.


class _Process:
    """Says what the test has it say; see `podium.sweep.search.search_client.Process`."""

    pid = 4321

    def __init__(self, on_message: OnMessage) -> None:
        self.say = on_message
        self.asked: queue.SimpleQueue[int] = queue.SimpleQueue()

    def feed(self, trial: PastTrial) -> None:
        """Nothing to learn."""

    def ask(self, number: int) -> None:
        self.asked.put(number)

    def close(self) -> None:
        """Nothing to end."""


class _Bench:
    def __init__(self) -> None:
        self.processes: queue.SimpleQueue[_Process] = queue.SimpleQueue()
        self.inbox: Inbox = Inbox()
        self.search = Search(_searched("my_samplers:Listening"))
        self.thread = SearchThread(3, 8, lambda: self.search, self.inbox, self._open)

    def _open(self, search: Search, on_message: OnMessage) -> _Process:
        process = _Process(on_message)
        self.processes.put(process)
        return process

    def hear(self) -> Any:
        return self.inbox.get(timeout=ANSWER_S)


@pytest.fixture
def bench() -> Iterator[_Bench]:
    made = _Bench()
    yield made
    made.thread.close()


def test_the_scheduler_itself_never_imports_it(bench: _Bench) -> None:
    bench.thread.ask(deadline_s=600)
    bench.processes.get(timeout=ANSWER_S)
    assert bench.search.class_sampler is None


def test_a_class_that_cannot_be_used_fails_the_sweep_at_once(bench: _Bench) -> None:
    bench.thread.ask(deadline_s=600)
    bench.processes.get(timeout=ANSWER_S).say({"kind": "unusable", "error": "there is no package 'mine'"})
    failed = bench.hear()
    assert isinstance(failed, SearchFailed) and failed.reason == "there is no package 'mine'"


def test_the_first_trial_waits_until_the_class_is_there(bench: _Bench) -> None:
    bench.thread.ask(deadline_s=0.05)
    process = bench.processes.get(timeout=ANSWER_S)
    with pytest.raises(queue.Empty):
        bench.inbox.get(timeout=0.3)
    process.say({"kind": "ready"})
    process.asked.get(timeout=ANSWER_S)
    asked = bench.hear()  # it had its time, and was slow
    assert isinstance(asked, TrialProposed) and asked.planned is not None
    assert asked.planned.sampler == "random, for my_samplers:Listening was slow"


def test_a_sampler_that_raises_gives_a_random_trial_with_the_reason_and_in_the_end_fails(bench: _Bench) -> None:
    bench.thread.ask(deadline_s=600)
    process = bench.processes.get(timeout=ANSWER_S)
    process.say({"kind": "ready"})
    for _ in range(MAX_FAILURES - 1):
        process.say({"kind": "failed", "number": process.asked.get(timeout=ANSWER_S), "error": "ValueError: no"})
        asked = bench.hear()
        assert isinstance(asked, TrialProposed) and asked.planned is not None
        assert asked.planned.sampler == "random, for my_samplers:Listening failed: ValueError: no"
        bench.thread.ask(deadline_s=600)
    process.say({"kind": "failed", "number": process.asked.get(timeout=ANSWER_S), "error": "ValueError: no"})
    failed = bench.hear()
    assert isinstance(failed, SearchFailed) and failed.reason == "my_samplers:Listening failed: ValueError: no"


def test_a_process_that_ends_again_and_again_fails_the_sweep(bench: _Bench) -> None:
    bench.thread.ask(deadline_s=600)
    for _ in range(Proposer.STARTS):
        bench.processes.get(timeout=ANSWER_S).say({"kind": "gone"})
    failed = bench.hear()
    assert isinstance(failed, SearchFailed) and "ended 3 times" in failed.reason


def test_a_sampler_with_nothing_left_ends_the_asks(bench: _Bench) -> None:
    bench.thread.ask(deadline_s=600)
    process = bench.processes.get(timeout=ANSWER_S)
    process.say({"kind": "ready"})
    process.say({"kind": "exhausted", "number": process.asked.get(timeout=ANSWER_S)})
    asked = bench.hear()
    assert isinstance(asked, TrialProposed) and asked.planned is None
    assert threading.active_count() > 1  # the thread goes on telling


# Pruners.


def test_a_pruner_that_raises_now_and_then_lets_the_trial_go_on() -> None:
    search = Search(spec(early_terminate={"pruner": "my_samplers:Sometimes"}))
    _ask(search)
    assert [search.report(0, step, 0.5).prune for step in range(4)] == [False, False, False, True]


def test_a_pruner_that_only_raises_fails_the_sweep() -> None:
    search = Search(spec(early_terminate={"pruner": "my_samplers:Grumpy"}))
    _ask(search)
    search.report(0, 0, 0.5)
    search.report(0, 1, 0.5)
    with pytest.raises(UnusableClassError, match=r"my_samplers:Grumpy raised KeyError .* 3 consecutive reports"):
        search.report(0, 2, 0.5)


def test_a_pruner_that_is_not_there_fails_the_search() -> None:
    with pytest.raises(UnusableClassError, match="nowhere_to_be"):
        Search(spec(early_terminate={"pruner": "nowhere_to_be:P"}))


def test_wilcoxon_compares_with_the_best_that_breaks_no_constraint() -> None:
    search = Search(spec(early_terminate={"type": "wilcoxon"}))
    for level, constraint in ((0.5, -1.0), (0.9, 1.0)):
        number = _ask(search).number
        for step in range(8):
            search.report(number, step, level + step / 100)
        search.tell(number, TrialState.FINISHED, [level], constraints={"size": constraint})
    worse, between = _ask(search).number, _ask(search).number
    assert any(search.report(worse, step, 0.1 + step / 50).prune for step in range(8))
    assert not any(search.report(between, step, 0.7 + step / 100).prune for step in range(8))
