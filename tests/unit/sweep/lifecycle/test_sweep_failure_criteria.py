"""Failure limits of sweeps: consecutive failures, and identical errors before any trial has finished."""

from __future__ import annotations

import pytest

from podium.sweep.lifecycle.sweep_failure_criteria import ConsecutiveFailures, normalized_error
from podium.sweep.spec.retries import Retries
from podium.sweep.values.failure_causes import Cause
from podium.sweep.values.states import SweepState, TrialState
from tests.rig import Rig


@pytest.fixture
def rig() -> Rig:
    return Rig()


def fail(rig: Rig, *messages: str, cause: Cause = Cause.USER_ERROR) -> None:
    for message in messages:
        rig.pool.fail("cpu-0", cause, message)
        rig.settle()


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("ValueError: expected 3 rows, got 17", "ValueError: expected 3 rows, got 2,048"),
        ("ValueError: lr=1e-05 is too small", "ValueError: lr=3.2E+10 is too small"),
        ("RuntimeError: loss is nan", "RuntimeError: loss is -inf"),
        ("KeyError: 'hidden'", "KeyError: 'momentum'"),
        ("TypeError: <object at 0x7f1c2a>", "TypeError: <object at 0x55ffe0>"),
        (
            "FileNotFoundError: [Errno 2] No such file or directory: '/data/sweep-1/00001-1/files/train.csv'",
            "FileNotFoundError: [Errno 2] No such file or directory: '/data/sweep-1/00002-1/files/train.csv'",
        ),
        ("cannot open /tmp/a/b.txt (line 3)", "cannot open ../c/d.csv (line 4)"),
        ("run 9f86d081884c7d65 is gone", "run 60303ae22b998861 is gone"),
        ("ValueError:\n  a\tb", "ValueError: a b"),
    ],
)
def test_errors_that_differ_only_in_values_are_equal(one: str, other: str) -> None:
    assert normalized_error(one) == normalized_error(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("ValueError: no rows", "TypeError: no rows"),
        ("ValueError: no rows", "ValueError: no columns"),
        ("cannot import name nan_to_num", "cannot import name inf_to_num"),
        ("it can't find the file and doesn't stop", "it can't read the file and doesn't stop"),
    ],
)
def test_other_errors_are_different(one: str, other: str) -> None:
    assert normalized_error(one) != normalized_error(other)


def test_three_identical_first_errors_fail_sweep(rig: Rig) -> None:
    rig.submit(run_cap=20)
    fail(rig, "ValueError: 1 is wrong", "ValueError: 2 is wrong")
    assert rig.sweep().state is SweepState.RUNNING
    fail(rig, "ValueError: 3 is wrong")
    rig.assert_ended(SweepState.FAILED)
    assert rig.sweep().reason == (
        "no trial has finished, and 3 consecutive trials failed with the same error user_error: ValueError: 3 is wrong"
    )
    assert rig.states().count(TrialState.FAILED) == 3


def test_failures_before_restart_count(rig: Rig) -> None:
    rig.submit(run_cap=20)
    fail(rig, "ValueError: 1 is wrong", "ValueError: 2 is wrong")
    rig.restart()
    fail(rig, "ValueError: 3 is wrong")
    rig.assert_ended(SweepState.FAILED)
    assert rig.states().count(TrialState.FAILED) == 3


@pytest.mark.parametrize("restarted", [False, True])
def test_identical_errors_count_to_ten_after_a_finished_trial(rig: Rig, restarted: bool) -> None:
    rig.submit(run_cap=20)
    rig.pool.finish("cpu-0")
    rig.settle()
    if restarted:
        rig.restart()
    fail(rig, *["ValueError: x"] * 9)
    assert rig.sweep().state is SweepState.RUNNING
    fail(rig, "ValueError: x")
    rig.assert_ended(SweepState.FAILED)
    assert rig.sweep().reason == "10 consecutive trials failed, the last one with user_error: ValueError: x"


def test_different_errors_count_to_ten(rig: Rig) -> None:
    rig.submit(run_cap=20)
    fail(rig, *["ValueError: x", "TypeError: x"] * 4, "ValueError: x")
    assert rig.sweep().state is SweepState.RUNNING
    fail(rig, "KeyError: x")
    rig.assert_ended(SweepState.FAILED)


@pytest.mark.parametrize("cause", [Cause.DEVICE_MEMORY, Cause.NON_FINITE, Cause.TIMEOUT])
def test_parameter_dependent_failures_are_not_identical_errors(rig: Rig, cause: Cause) -> None:
    rig.submit(run_cap=20, retries={"memory": 0})
    fail(rig, *["the same"] * 9, cause=cause)
    assert rig.sweep().state is SweepState.RUNNING


def test_continued_sweep_starts_counting_again(rig: Rig) -> None:
    rig.submit(run_cap=20)
    fail(rig, *["ValueError: x"] * 3)
    rig.recorder.set_state(1, SweepState.QUEUED)
    rig.settle()
    fail(rig, *["ValueError: x"] * 2)
    assert rig.sweep().state is SweepState.RUNNING


def test_identical_failures_is_configurable_and_nullable(rig: Rig) -> None:
    rig.submit(run_cap=20, retries={"identical_failures": 1})
    fail(rig, "ValueError: x")
    assert rig.sweep(1).reason == "no trial has finished, and a trial failed with user_error: ValueError: x"
    rig.submit(run_cap=20, retries={"identical_failures": None})
    fail(rig, *["ValueError: x"] * 9)
    assert rig.sweep(2).state is SweepState.RUNNING


def test_sweep_continues_while_a_running_trial_has_reported() -> None:
    rig = Rig(slots=2)
    rig.submit(run_cap=20)
    rig.pool.report("cpu-1", 0, 0.5)
    fail(rig, *["ValueError: x"] * 4)
    assert rig.sweep().state is SweepState.RUNNING
    rig.pool.fail("cpu-1", Cause.USER_ERROR, "ValueError: x")
    rig.settle()
    assert rig.sweep().state is SweepState.FAILED


def test_failures_after_reporting_end_sweep() -> None:
    rig = Rig(slots=2)
    rig.submit(run_cap=20)
    rig.pool.report("cpu-1", 0, 0.5)
    for _ in range(3):
        rig.pool.report("cpu-0", 0, 0.5)
        rig.settle()
        fail(rig, "OSError: cannot save")
    assert rig.sweep().state is SweepState.FAILED


def test_failures_without_message_are_not_identical() -> None:
    failures = ConsecutiveFailures(Retries())
    for _ in range(9):
        failures.record(Cause.EXITED, "", reported=False)
    assert failures.reason(counted=0, other_reports=False) == ""
