"""When the interval of an attempt ends: with a report and a checkpoint of its last step, in either order."""

from __future__ import annotations

from pathlib import Path

import pytest

from podium.sweep.runtime.attempt_directory import AttemptDirectory
from podium.sweep.trial_process.interval_end import IntervalEnd, IntervalEnded
from podium.sweep.values.attempt_assignment import Interval
from podium.sweep.values.errors import UserCodeError
from podium.sweep.values.states import TrialState

HERE = AttemptDirectory(Path("/nowhere"))


def never(reason: str) -> None:
    raise AssertionError(reason)


def end_of(interval: Interval | None) -> IntervalEnd:
    return IntervalEnd(interval, never)


def report(end: IntervalEnd, step: int) -> None:
    end.before(step)
    end.record(step, step / 10)


@pytest.mark.parametrize(("first", "last"), [(0, 4), (1, 5), (3, 5)])
def test_first_interval_counts_from_the_first_step(first: int, last: int) -> None:
    end = end_of(Interval(1, 5))
    for step in range(first, last):
        report(end, step)
        end.saved(step)
        assert not end.is_reached
    report(end, last)
    with pytest.raises(IntervalEnded):
        end.saved(last)
    outcome = end.outcome()
    assert (outcome.state, outcome.step, outcome.value) == (TrialState.WAITING, last, last / 10)


def test_later_intervals_count_from_the_step_before_them() -> None:
    end = end_of(Interval(3, 5, after_step=14, checkpoint="/a", value=1.0))
    assert end.resume(HERE) == AttemptDirectory(Path("/a"))
    assert [end.ends_at(step) for step in (15, 18, 19, 20)] == [False, False, True, True]
    report(end, 19)
    assert end.is_reached
    with pytest.raises(IntervalEnded):
        end.saved()


def test_a_checkpoint_before_the_report_counts_if_its_epoch_is_the_step() -> None:
    end = end_of(Interval(1, 2))
    end.saved(0)
    report(end, 0)
    end.saved(1)
    with pytest.raises(IntervalEnded):
        report(end, 1)


def test_a_checkpoint_before_the_report_counts_if_the_program_asked() -> None:
    end = end_of(Interval(1, 2))
    report(end, 0)
    assert end.ends_at(1)
    end.saved(7)
    with pytest.raises(IntervalEnded):
        report(end, 1)


def test_a_checkpoint_after_an_earlier_report_does_not_count() -> None:
    end = end_of(Interval(1, 2))
    report(end, 0)
    end.saved(1)  # the number of steps done
    report(end, 1)
    assert end.is_reached and not end.ended


def test_a_checkpoint_of_an_earlier_step_does_not_count() -> None:
    end = end_of(Interval(1, 2))
    report(end, 0)
    report(end, 1)
    with pytest.raises(UserCodeError, match="interval 1 ended at step 1, and no checkpoint of it was saved"):
        report(end, 2)


def test_a_program_that_does_not_resume_is_refused() -> None:
    end = end_of(Interval(2, 5, after_step=4, checkpoint="/a", value=1.0))
    with pytest.raises(UserCodeError, match=r"must call trial\.resume\(\)"):
        report(end, 0)


def test_the_last_interval_finishes_the_trial() -> None:
    reasons: list[str] = []
    end = IntervalEnd(Interval(4, 5, after_step=14, is_last=True), reasons.append)
    end.saved()
    report(end, 19)
    end.saved()
    assert reasons == ["interval 4 ended, and the sweep ends"]


def test_a_schedule_ends_at_its_step_or_not_at_all() -> None:
    assert end_of(Interval(1, None, until=7)).ends_at(7)
    last = end_of(Interval(2, None, after_step=7))
    for step in range(8, 50):
        last.saved()
        report(last, step)
    assert not last.ended


def test_other_trials_have_no_intervals() -> None:
    end = end_of(None)
    for step in range(5):
        end.saved()
        report(end, step)
    assert not end.exists and not end.ends_at(3) and end.resume(HERE) is None
