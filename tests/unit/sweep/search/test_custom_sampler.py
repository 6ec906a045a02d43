"""Sampler and pruner classes named in a sweep file: validation, trial results, rebuilding, and failures."""

from __future__ import annotations

import json
import queue
import textwrap
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from podium.sweep.lifecycle.scheduler_inbox_messages import Inbox, SearchFailed, TrialProposed
from podium.sweep.protocol.search_process_messages import (
    ProposalFailed,
    SamplerExhausted,
    SamplerUnusable,
    SearchProcessEnded,
    SearchReady,
)
from podium.sweep.search.custom_class_loading import load_pruner, load_sampler
from podium.sweep.search.samplers import AskContext, sampler_of
from podium.sweep.search.scheduler_search_threads import MAX_FAILURES, SearchThread
from podium.sweep.search.search_client import OnMessage, Proposer
from podium.sweep.search.sweep_search import TRIAL_NOTES, Search
from podium.sweep.spec.search_method_registry import CUSTOM
from podium.sweep.spec.sweep_spec import SweepSpec, parse_spec, spec_from_json
from podium.sweep.values.errors import InvalidSpecError, UnusableClassError
from podium.sweep.values.search_messages import FallbackReason, PastTrial, TrialPlan
from podium.sweep.values.states import TrialState
from tests.specs import document, spec
from tests.unit.sweep.search.test_sweep_search import CONDITIONAL, RESTARTS, Sweep

ANSWER_S = 20.0
MODULE = """
    from optuna.pruners import BasePruner
    from optuna.samplers import RandomSampler

    class Recording(RandomSampler):
        '''Records ended trials in memory and as attributes, and stops after `last` of them.'''
        def __init__(self, seed=None, last=1000, note=True):
            super().__init__(seed)
            self.ended, self.last, self.note = [], last, note

        def after_trial(self, study, trial, state, values):
            self.ended.append((trial.number, state.name, values))
            if self.note:
                study._storage.set_trial_system_attr(trial._trial_id, "mine:ended", len(self.ended))
                study._storage.set_study_system_attr(study._study_id, "mine:count", len(self.ended))
            if len(self.ended) >= self.last:
                study.stop()

    class Raising(RandomSampler):
        def __init__(self):
            raise ValueError("no license")

    class AlwaysRaising(BasePruner):
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


def _ask(search: Search) -> TrialPlan:
    planned = search.ask()
    assert planned is not None
    return planned


# The sweep file.


def test_sampler_class_is_a_method() -> None:
    searched = _searched("optuna.samplers:TPESampler", {"n_startup_trials": 5})
    assert (searched.searched_by, searched.method_name) == (CUSTOM, "optuna.samplers:TPESampler")
    assert spec_from_json(searched.to_json()) == searched


def test_pruner_class_is_an_early_termination_rule() -> None:
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
def test_invalid_class_reference_is_rejected_with_key(changes: dict[str, Any], key: str, words: str) -> None:
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
        ("nowhere_to_be:Sampler", {}, "package 'nowhere_to_be' is not installed in the service's Python environment"),
        ("my_samplers:Recordng", {}, "did you mean 'Recording'?"),
        ("my_samplers:function", {}, "is not a subclass of optuna.samplers.BaseSampler"),
        ("my_samplers:AlwaysRaising", {}, "is not a subclass of optuna.samplers.BaseSampler"),
        ("my_samplers:Raising", {}, "cannot be constructed: ValueError: no license"),
        ("my_samplers:Recording", {"laste": 3}, "unexpected keyword argument 'laste'; it takes seed, last, note"),
        ("optuna.samplers:BaseSampler", {}, "cannot be constructed: TypeError"),
        ("optuna.samplers:PartialFixedSampler", {"fixed_params": {}, "base_sampler": {"sampler": "nowhere:A"}},
         "package 'nowhere' is not installed"),
    ],
)  # fmt: skip
def test_unusable_class_is_rejected_with_reason(name: str, args: dict[str, Any], words: str) -> None:
    with pytest.raises(UnusableClassError) as caught:
        load_sampler(name, args)
    assert words in str(caught.value)


def test_nested_samplers_and_pruners_are_constructed() -> None:
    inner = {"sampler": "optuna.samplers:TPESampler", "args": {"n_startup_trials": 3}}
    load_sampler("my_samplers:Recording", {"last": 3}, seed=1)
    load_pruner("optuna.pruners:MedianPruner", {"n_warmup_steps": 1})
    with pytest.raises(UnusableClassError, match="fixed_params"):
        load_sampler("optuna.samplers:PartialFixedSampler", {"base_sampler": inner})


def test_method_without_builder_raises_lookup_error() -> None:
    searched = _searched("my_samplers:Recording")
    with pytest.raises(LookupError, match="no sampler is registered for search method 'custom'"):
        sampler_of(AskContext(searched, 0), CUSTOM)


# Searching.


@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("optuna.samplers:TPESampler", {"n_startup_trials": 5}),
        ("optuna.samplers:RandomSampler", None),
        ("optuna.samplers:NSGAIISampler", {"population_size": 8}),
        ("my_samplers:Recording", {"note": False}),
    ],
)
def test_stateless_sampler_continues_after_restart(name: str, args: dict[str, Any] | None) -> None:
    searched = _searched(name, args)
    assert Sweep(searched, RESTARTS).play(45) == Sweep(searched).play(45)


def test_class_sampler_stays_within_space_and_names_itself() -> None:
    searched = _searched("my_samplers:Recording")
    search = Search(searched)
    for number in range(10):
        planned = _ask(search)
        assert planned.sampler == "my_samplers:Recording"
        assert all(searched.parameters[name].invalid_reason(value) is None for name, value in planned.params.items())
        search.tell(number, TrialState.FINISHED, [0.5])
    assert len({json.dumps(search.past_trial(number).params) for number in range(10)}) == 10


def test_sampler_receives_each_ended_trial_once() -> None:
    search = Search(_searched("my_samplers:Recording"))
    for _ in range(4):
        _ask(search)
    search.tell(2, TrialState.FINISHED, [0.5])
    search.tell(0, TrialState.FAILED, None)
    _ask(search)
    search.tell(1, TrialState.PRUNED, None)
    _ask(search)
    sampler: Any = search.class_sampler.sampler  # type: ignore[union-attr]
    assert sampler.ended == [(2, "COMPLETE", [0.5]), (0, "FAIL", None), (1, "PRUNED", None)]


def test_attributes_of_sampler_are_kept_with_next_trial() -> None:
    searched = _searched("my_samplers:Recording")
    search = Search(searched)
    first = _ask(search)
    search.tell(0, TrialState.FINISHED, [0.5])
    second = _ask(search)
    assert second.attributes[TRIAL_NOTES] == {"0": {"mine:ended": 1}}
    past = [
        PastTrial(0, TrialState.FINISHED, first.params, 0.5, attributes=first.attributes, sampler=first.sampler),
        PastTrial(1, TrialState.RUNNING, second.params, attributes=second.attributes, sampler=second.sampler),
    ]
    rebuilt = Search(searched, [PastTrial.from_dict(json.loads(json.dumps(trial.to_dict()))) for trial in past])
    assert rebuilt.study[0].system_attrs["mine:ended"] == 1
    assert rebuilt.study.study_attributes()["mine:count"] == 1


def test_exhausted_optuna_grid_is_exhausted_after_restart() -> None:
    args = {"search_space": {"lr": [0.01, 0.1]}}
    grid = spec(
        method={"sampler": "optuna.samplers:GridSampler", "args": args}, parameters={"lr": {"values": [0.01, 0.1]}}
    )
    search = Search(grid)
    for number in range(2):
        assert _ask(search).number == number
        search.tell(number, TrialState.FINISHED, (0.5,))
    assert search.ask() is None
    assert Search(grid, list(search.past_trials())).ask() is None


def test_study_stop_by_sampler_ends_search() -> None:
    search = Search(_searched("my_samplers:Recording", {"last": 3}))
    for number in range(3):
        _ask(search)
        search.tell(number, TrialState.FINISHED, [0.5])
    assert search.ask() is None


# The search process.


class _Process:
    """Sends the messages of the test; see `podium.sweep.search.search_client.Process`."""

    pid = 4321

    def __init__(self, on_message: OnMessage) -> None:
        self.send = on_message
        self.asked: queue.SimpleQueue[int] = queue.SimpleQueue()

    def feed(self, trial: PastTrial) -> None:
        """Ignore the trial."""

    def ask(self, number: int) -> None:
        self.asked.put(number)

    def close(self) -> None:
        """Do nothing."""


class _Bench:
    def __init__(self) -> None:
        self.processes: queue.SimpleQueue[_Process] = queue.SimpleQueue()
        self.inbox: Inbox = Inbox()
        self.search = Search(_searched("my_samplers:Recording"))
        self.thread = SearchThread(3, 8, lambda: self.search, self.inbox, self._open)

    def _open(self, search: Search, on_message: OnMessage) -> _Process:
        process = _Process(on_message)
        self.processes.put(process)
        return process

    def receive(self) -> Any:
        return self.inbox.get(timeout=ANSWER_S)


@pytest.fixture
def bench() -> Iterator[_Bench]:
    made = _Bench()
    yield made
    made.thread.close()


def test_scheduler_process_does_not_import_class(bench: _Bench) -> None:
    bench.thread.ask(deadline_s=600)
    bench.processes.get(timeout=ANSWER_S)
    assert bench.search.class_sampler is None


def test_unusable_class_fails_sweep_immediately(bench: _Bench) -> None:
    bench.thread.ask(deadline_s=600)
    bench.processes.get(timeout=ANSWER_S).send(SamplerUnusable("there is no package 'mine'"))
    failed = bench.receive()
    assert isinstance(failed, SearchFailed) and failed.reason == "there is no package 'mine'"


def test_first_trial_waits_until_class_is_loaded(bench: _Bench) -> None:
    bench.thread.ask(deadline_s=0.05)
    process = bench.processes.get(timeout=ANSWER_S)
    with pytest.raises(queue.Empty):
        bench.inbox.get(timeout=0.3)
    process.send(SearchReady())
    process.asked.get(timeout=ANSWER_S)
    asked = bench.receive()  # its deadline had passed
    assert isinstance(asked, TrialProposed) and asked.planned is not None
    assert (asked.planned.sampler, asked.planned.fallback_reason) == ("random", FallbackReason.SLOW)


def test_failing_sampler_falls_back_to_random_and_finally_fails_sweep(bench: _Bench) -> None:
    bench.thread.ask(deadline_s=600)
    process = bench.processes.get(timeout=ANSWER_S)
    process.send(SearchReady())
    for _ in range(MAX_FAILURES - 1):
        process.send(ProposalFailed(process.asked.get(timeout=ANSWER_S), "ValueError: no"))
        asked = bench.receive()
        assert isinstance(asked, TrialProposed) and asked.planned is not None
        assert (asked.planned.sampler, asked.planned.fallback_reason) == ("random", FallbackReason.FAILED)
        assert asked.planned.fallback_error == "ValueError: no"
        bench.thread.ask(deadline_s=600)
    process.send(ProposalFailed(process.asked.get(timeout=ANSWER_S), "ValueError: no"))
    failed = bench.receive()
    assert isinstance(failed, SearchFailed) and failed.reason == "my_samplers:Recording failed: ValueError: no"


def test_repeatedly_ending_process_fails_sweep(bench: _Bench) -> None:
    bench.thread.ask(deadline_s=600)
    for _ in range(Proposer.STARTS):
        bench.processes.get(timeout=ANSWER_S).send(SearchProcessEnded())
    failed = bench.receive()
    assert isinstance(failed, SearchFailed) and "ended 3 times" in failed.reason


def test_exhausted_sampler_ends_asks(bench: _Bench) -> None:
    bench.thread.ask(deadline_s=600)
    process = bench.processes.get(timeout=ANSWER_S)
    process.send(SearchReady())
    process.send(SamplerExhausted(process.asked.get(timeout=ANSWER_S)))
    asked = bench.receive()
    assert isinstance(asked, TrialProposed) and asked.planned is None
    assert threading.active_count() > 1  # the thread still handles results


# Pruners.


def test_occasionally_failing_pruner_does_not_end_trial() -> None:
    search = Search(spec(early_terminate={"pruner": "my_samplers:Sometimes"}))
    _ask(search)
    assert [search.report(0, step, 0.5).prune for step in range(4)] == [False, False, False, True]


def test_always_failing_pruner_fails_sweep() -> None:
    search = Search(spec(early_terminate={"pruner": "my_samplers:AlwaysRaising"}))
    _ask(search)
    search.report(0, 0, 0.5)
    search.report(0, 1, 0.5)
    with pytest.raises(UnusableClassError, match=r"my_samplers:AlwaysRaising raised KeyError .* 3 consecutive reports"):
        search.report(0, 2, 0.5)


def test_missing_pruner_fails_search() -> None:
    with pytest.raises(UnusableClassError, match="nowhere_to_be"):
        Search(spec(early_terminate={"pruner": "nowhere_to_be:P"}))


def test_wilcoxon_compares_with_best_feasible_trial() -> None:
    search = Search(spec(early_terminate={"type": "wilcoxon"}))
    for level, constraint in ((0.5, -1.0), (0.9, 1.0)):
        number = _ask(search).number
        for step in range(8):
            search.report(number, step, level + step / 100)
        search.tell(number, TrialState.FINISHED, [level], constraints={"size": constraint})
    worse, between = _ask(search).number, _ask(search).number
    assert any(search.report(worse, step, 0.1 + step / 50).prune for step in range(8))
    assert not any(search.report(between, step, 0.7 + step / 100).prune for step in range(8))
