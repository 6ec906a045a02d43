"""The search process: GP proposals, isolation of torch, and its end with the search or the scheduler."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Iterator

import psutil
import pytest

from podium.sweep.lifecycle.scheduler_inbox_messages import Inbox, TrialProposed
from podium.sweep.lifecycle.scheduler_interfaces import SearchInputs
from podium.sweep.search.scheduler_search_threads import SearchThreads
from podium.sweep.search.sweep_search import Search
from podium.sweep.spec.sweep_spec import SweepSpec
from podium.sweep.values.search_messages import PastTrial, TrialPlan
from podium.sweep.values.states import TrialState
from tests.repository import ROOT
from tests.running_service import wait_for
from tests.specs import spec

ANSWER_S = 120
PARAMETERS = {"x": {"min": 0.0, "max": 1.0}, "w": {"min": 1, "max": 8}, "o": {"values": ["a", "b"]}}


def _searched() -> tuple[SweepSpec, list[PastTrial]]:
    past = [
        PastTrial(
            number, TrialState.FINISHED, {"x": number / 20, "w": number % 8 + 1, "o": "ab"[number % 2]},
            value=number / 20, sampler="gp",
        )
        for number in range(12)
    ]  # fmt: skip
    return spec(method="gp", run_cap=50, parameters=PARAMETERS), past


class Searching:
    """One search in its thread, with its search process."""

    def __init__(self) -> None:
        self.inbox: Inbox = Inbox()
        searched, past = _searched()
        self.thread = SearchThreads(self.inbox).open(3, 8, lambda: SearchInputs(searched, past))

    def ask(self) -> TrialPlan:
        self.thread.ask(deadline_s=ANSWER_S)
        asked = self.inbox.get(timeout=ANSWER_S)
        assert isinstance(asked, TrialProposed) and asked.planned is not None, asked
        return asked.planned

    def process(self) -> psutil.Process:
        running = [child for child in psutil.Process().children() if child.status() != psutil.STATUS_ZOMBIE]
        found = [child for child in running if "podium.sweep.search.search_process" in " ".join(child.cmdline())]
        assert len(found) == 1, found
        return found[0]


@pytest.fixture
def searching() -> Iterator[Searching]:
    made = Searching()
    yield made
    made.thread.close()


def test_gp_proposes_same_parameters_in_process_and_survives_its_kill(searching: Searching) -> None:
    searched, past = _searched()
    here = Search(searched, past)
    for turn in range(2):
        planned = searching.ask()
        assert planned == here.ask()
        assert planned.sampler == "gp"
        searching.thread.tell(planned.number, TrialState.FINISHED, [0.1 * turn])
        here.tell(planned.number, TrialState.FINISHED, [0.1 * turn])
        process = searching.process()
        process.send_signal(signal.SIGKILL)
        process.wait(10)


def test_process_ends_with_its_search(searching: Searching) -> None:
    searching.ask()
    process = searching.process()
    searching.thread.close()
    process.wait(10)


SCRIPT = """
    import sys
    from tests.integration.test_search_process import Searching
    searching = Searching()
    assert searching.ask().sampler == "gp"
    print(searching.process().pid, "torch" in sys.modules, flush=True)
    sys.stdin.read()
"""


def test_torch_is_imported_only_in_process_which_dies_with_scheduler() -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(SCRIPT)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment,
    ) as scheduler:  # fmt: skip
        assert scheduler.stdout is not None
        pid, loaded = scheduler.stdout.readline().split()
        assert loaded == "False"
        assert psutil.pid_exists(int(pid))
        scheduler.kill()
        wait_for("the search process to die", lambda: not _lives(int(pid)), 10)


def _lives(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
