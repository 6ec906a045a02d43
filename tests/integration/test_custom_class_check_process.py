"""Sampler and pruner classes in real processes: checked on submission, and run outside the scheduler."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Any

import pytest

from podium.sweep.lifecycle.scheduler_inbox_messages import Inbox, SearchFailed, TrialProposed
from podium.sweep.lifecycle.scheduler_interfaces import SearchInputs
from podium.sweep.search.scheduler_search_threads import SearchThreads
from podium.sweep.spec.sweep_spec import SweepSpec
from podium.sweep.specfile.custom_class_check import check_classes
from podium.sweep.specfile.custom_class_check_cache import CustomClassCheckCache
from podium.sweep.values.errors import InvalidSpecError
from podium.sweep.values.search_messages import FallbackReason
from podium.sweep.values.states import TrialState
from tests.specs import spec

ANSWER_S = 120.0
MODULE = """
    import os
    from optuna.samplers import RandomSampler

    class Fine(RandomSampler):
        def __init__(self, seed=None, last=1000):
            super().__init__(seed)
            self.told, self.last = 0, last
        def after_trial(self, study, trial, state, values):
            self.told += 1
            if self.told >= self.last:
                study.stop()

    class Chatty(RandomSampler):
        def __init__(self, seed=None):
            print("loading the model of", __name__)
            super().__init__(seed)

    class Crashing(RandomSampler):
        def __init__(self):
            os._exit(3)

    class NoJson(RandomSampler):
        def before_trial(self, study, trial):
            study._storage.set_trial_system_attr(trial._trial_id, "mine", {1, 2})
"""


@pytest.fixture(autouse=True)
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Modules of a package on the Python path of the service and its child processes."""
    folder = tmp_path / "installed"
    folder.mkdir()
    (folder / "their_samplers.py").write_text(textwrap.dedent(MODULE))
    monkeypatch.setenv("PYTHONPATH", str(folder))
    return folder


def _searched(name: str, **args: Any) -> SweepSpec:
    return spec(method={"sampler": name, "args": args}, run_cap=20)


def test_usable_classes_pass() -> None:
    usable = CustomClassCheckCache()
    check_classes(_searched("their_samplers:Fine", last=3), usable=usable)
    check_classes(_searched("their_samplers:Fine", last=3), usable=usable)
    assert len(usable) == 1
    check_classes(_searched("their_samplers:Chatty"))  # its output is not the answer
    check_classes(spec(early_terminate={"pruner": "optuna.pruners:WilcoxonPruner", "args": {"p_threshold": 0.2}}))
    check_classes(spec())


def test_unusable_class_is_reported_at_its_key() -> None:
    wrap = {"pruner": "optuna.pruners:MedianPrunner"}
    changes = {"early_terminate": {"type": "patient", "patience": 3, "wrap": wrap}}
    searched = spec(method={"sampler": "optuna.samplers:TPESampler", "args": {"startup": 3}}, run_cap=20, **changes)
    with pytest.raises(InvalidSpecError) as caught:
        check_classes(searched)
    found = {problem.key: problem.message for problem in caught.value.problems}
    assert "unexpected keyword argument 'startup'" in found["method.sampler"]
    assert "did you mean 'MedianPruner'?" in found["early_terminate.wrap.pruner"]


def test_class_in_uploaded_code_is_refused(tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text("raise SystemExit('nobody imports this')\n")
    with pytest.raises(InvalidSpecError) as caught:
        check_classes(_searched("own:Sampler"), tmp_path)
    assert "package 'own' is not installed" in str(caught.value)
    assert "own is in the sweep's code, which only trials import" in str(caught.value)


def test_class_that_exits_its_process_is_refused() -> None:
    with pytest.raises(InvalidSpecError, match=r"crashed the process that checks it \(status 3\)"):
        check_classes(_searched("their_samplers:Crashing"))


class _Searching:
    def __init__(self, searched: SweepSpec) -> None:
        self.inbox: Inbox = Inbox()
        self.thread = SearchThreads(self.inbox).open(3, 8, lambda: SearchInputs(searched))

    def ask(self) -> Any:
        self.thread.ask(deadline_s=ANSWER_S)
        return self.inbox.get(timeout=ANSWER_S)


def test_custom_sampler_proposes_outside_scheduler_until_sweep_stops() -> None:
    searching = _Searching(_searched("their_samplers:Fine", last=2))
    numbers = []
    for number in range(2):
        asked = searching.ask()
        assert isinstance(asked, TrialProposed) and asked.planned is not None, asked
        assert asked.planned.sampler == "their_samplers:Fine"
        numbers.append(asked.planned.number)
        searching.thread.tell(number, TrialState.FINISHED, [0.5])
    asked = searching.ask()
    searching.thread.close()
    assert numbers == [0, 1]
    assert isinstance(asked, TrialProposed) and asked.planned is None


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("nowhere_to_be:Sampler", "package 'nowhere_to_be' is not installed"),
        ("their_samplers:Crashing", "the process of their_samplers:Crashing ended 3 times"),
    ],
)
def test_sweep_fails_immediately_when_sampler_cannot_be_constructed(name: str, words: str) -> None:
    searching = _Searching(_searched(name))
    failed = searching.ask()
    searching.thread.close()
    assert isinstance(failed, SearchFailed) and words in failed.reason


def test_trial_is_random_with_reason_when_sampler_attrs_are_not_json() -> None:
    searching = _Searching(_searched("their_samplers:NoJson"))
    asked = searching.ask()
    searching.thread.close()
    assert isinstance(asked, TrialProposed) and asked.planned is not None
    assert (asked.planned.sampler, asked.planned.fallback_reason) == ("random", FallbackReason.FAILED)
    assert str(asked.planned.fallback_error).startswith("TypeError: ")
