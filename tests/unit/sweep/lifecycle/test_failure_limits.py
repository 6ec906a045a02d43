"""Sweeps that only fail: many times in a row, or with the same error before any trial has finished."""

from __future__ import annotations

import pytest

from podium.sweep.lifecycle.failure_limits import Failures, normalized_error
from podium.sweep.spec.limits import Retries
from podium.sweep.values.trial import Cause, SweepState, TrialState
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
def test_errors_that_differ_only_in_values_are_the_same(one: str, other: str) -> None:
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
def test_other_errors_stay_different(one: str, other: str) -> None:
    assert normalized_error(one) != normalized_error(other)


def test_a_sweep_whose_first_trials_fail_with_one_error_ends_after_three_and_says_it_once(rig: Rig) -> None:
    rig.submit(run_cap=20)
    fail(rig, "ValueError: 1 is wrong", "ValueError: 2 is wrong")
    assert rig.sweep().state is SweepState.RUNNING
    fail(rig, "ValueError: 3 is wrong")
    rig.assert_over(SweepState.FAILED)
    assert rig.sweep().reason == (
        "no trial has finished, and 3 consecutive trials failed with the same error user_error: ValueError: 3 is wrong"
    )
    assert rig.states().count(TrialState.FAILED) == 3


def test_what_failed_before_a_restart_counts_as_well(rig: Rig) -> None:
    rig.submit(run_cap=20)
    fail(rig, "ValueError: 1 is wrong", "ValueError: 2 is wrong")
    rig.restart()
    fail(rig, "ValueError: 3 is wrong")
    rig.assert_over(SweepState.FAILED)
    assert rig.states().count(TrialState.FAILED) == 3


@pytest.mark.parametrize("restarted", [False, True])
def test_after_a_trial_has_finished_the_same_error_counts_to_ten(rig: Rig, restarted: bool) -> None:
    rig.submit(run_cap=20)
    rig.pool.finish("cpu-0")
    rig.settle()
    if restarted:
        rig.restart()
    fail(rig, *["ValueError: x"] * 9)
    assert rig.sweep().state is SweepState.RUNNING
    fail(rig, "ValueError: x")
    rig.assert_over(SweepState.FAILED)
    assert rig.sweep().reason == "10 consecutive trials failed, the last one with user_error: ValueError: x"


def test_different_errors_count_to_ten(rig: Rig) -> None:
    rig.submit(run_cap=20)
    fail(rig, *["ValueError: x", "TypeError: x"] * 4, "ValueError: x")
    assert rig.sweep().state is SweepState.RUNNING
    fail(rig, "KeyError: x")
    rig.assert_over(SweepState.FAILED)


@pytest.mark.parametrize("cause", [Cause.DEVICE_MEMORY, Cause.NON_FINITE, Cause.TIMEOUT])
def test_what_depends_on_the_parameters_is_no_identical_error(rig: Rig, cause: Cause) -> None:
    rig.submit(run_cap=20, retries={"memory": 0})
    fail(rig, *["the same"] * 9, cause=cause)
    assert rig.sweep().state is SweepState.RUNNING


def test_a_sweep_that_goes_on_on_request_starts_to_count_again(rig: Rig) -> None:
    rig.submit(run_cap=20)
    fail(rig, *["ValueError: x"] * 3)
    rig.recorder.set_state(1, SweepState.QUEUED)
    rig.settle()
    fail(rig, *["ValueError: x"] * 2)
    assert rig.sweep().state is SweepState.RUNNING


def test_the_number_is_a_key_of_the_sweep_file_and_may_be_null(rig: Rig) -> None:
    rig.submit(run_cap=20, retries={"identical_failures": 1})
    fail(rig, "ValueError: x")
    assert rig.sweep(1).reason == "no trial has finished, and a trial failed with user_error: ValueError: x"
    rig.submit(run_cap=20, retries={"identical_failures": None})
    fail(rig, *["ValueError: x"] * 9)
    assert rig.sweep(2).state is SweepState.RUNNING


def test_while_a_trial_runs_that_came_further_the_sweep_goes_on() -> None:
    rig = Rig(slots=2)
    rig.submit(run_cap=20)
    rig.pool.report("cpu-1", 0, 0.5)
    fail(rig, *["ValueError: x"] * 4)
    assert rig.sweep().state is SweepState.RUNNING
    rig.pool.fail("cpu-1", Cause.USER_ERROR, "ValueError: x")
    rig.settle()
    assert rig.sweep().state is SweepState.FAILED


def test_trials_that_fail_after_reporting_end_the_sweep_although_another_reports() -> None:
    rig = Rig(slots=2)
    rig.submit(run_cap=20)
    rig.pool.report("cpu-1", 0, 0.5)
    for _ in range(3):
        rig.pool.report("cpu-0", 0, 0.5)
        rig.settle()
        fail(rig, "OSError: cannot save")
    assert rig.sweep().state is SweepState.FAILED


def test_a_failure_without_a_message_is_not_the_same_as_another() -> None:
    failures = Failures(Retries())
    for _ in range(9):
        failures.note(Cause.EXITED, "", reported=False)
    assert failures.reason(counted=0, other_reports=False) == ""
