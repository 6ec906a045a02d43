"""A forked process prepares plans: its result arrives, and every other end is reported with a reason."""

from __future__ import annotations

import os
import queue
import signal
from collections.abc import Callable
from typing import NoReturn

import psutil
import pytest

from podium.ensemble.worker.forked_plan_preparation import PlanPreparation
from podium.sweep.runtime.process_trees import children

pytestmark = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")  # of Python 3.12; the child only returns

PATIENCE_S = 30.0
Ends = queue.SimpleQueue[bytes | str]


def forever() -> NoReturn:
    while True:
        signal.pause()


def started(prepare: Callable[[], bytes], timeout_s: float = PATIENCE_S) -> tuple[PlanPreparation, int]:
    """A preparation, and the pid of its process."""
    before = set(children(os.getpid()))
    preparation = PlanPreparation(prepare, timeout_s=timeout_s)
    (pid,) = set(children(os.getpid())) - before
    return preparation, pid


def end_of(preparation: PlanPreparation) -> bytes | str:
    """Its result, or the reason of its failure."""
    ends: Ends = queue.SimpleQueue()
    preparation.when_ended(ends.put, ends.put)
    end = ends.get(timeout=PATIENCE_S)
    preparation.close()
    assert ends.empty()
    return end


@pytest.mark.parametrize("size", [0, 10, 3_000_000])  # a pipe holds 64 kB
def test_result_arrives_completely(size: int) -> None:
    preparation, pid = started(lambda: b"x" * size)
    assert end_of(preparation) == b"x" * size
    assert not psutil.pid_exists(pid)


def test_process_has_a_lower_priority_and_its_own_session() -> None:
    preparation, _ = started(lambda: f"{os.nice(0)} {os.getsid(0) == os.getpid()}".encode())
    assert end_of(preparation) == f"{min(19, os.nice(0) + 10)} True".encode()


def test_error_is_the_reason() -> None:
    def prepare() -> bytes:
        raise ArithmeticError("unsupported rows")

    assert end_of(started(prepare)[0]) == "ArithmeticError: unsupported rows"


def test_killed_process_is_reported() -> None:
    preparation, pid = started(forever)
    os.kill(pid, signal.SIGKILL)
    assert end_of(preparation) == "its process ended with status -9"


def test_process_that_ends_without_a_result_is_reported() -> None:
    assert end_of(started(lambda: os._exit(3))[0]) == "its process ended with status 3"


def test_process_that_takes_too_long_is_killed() -> None:
    preparation, pid = started(forever, timeout_s=0.05)
    assert end_of(preparation) == "not done within 0.05 s"
    assert not psutil.pid_exists(pid)


@pytest.mark.parametrize("waits", [False, True], ids=["before it is awaited", "while it is awaited"])
def test_close_kills_the_process_and_calls_nothing(waits: bool) -> None:
    preparation, pid = started(forever)
    ends: Ends = queue.SimpleQueue()
    if waits:
        preparation.when_ended(ends.put, ends.put)
    preparation.close()
    assert ends.empty() and not psutil.pid_exists(pid)
