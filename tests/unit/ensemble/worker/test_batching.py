"""Which requests are computed together: oldest first, never late, never starved, as many as the time allows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podium.ensemble.worker.batching import (
    FIRST_ROWS,
    MORE_ROWS,
    Batch,
    BatchLimit,
    ComputeTimes,
    DynamicBatcher,
    quantile,
)

SECONDS = st.floats(0, 100, allow_nan=False)


@dataclass(frozen=True, slots=True)
class QueuedRequest:
    number: int
    rows: int = 1
    width: int = 2
    arrived_s: float = 0.0
    due_s: float = 10.0


@st.composite
def queues(draw: st.DrawFn) -> list[QueuedRequest]:
    """Up to 20 requests in the order of arrival, all before second 100."""
    arrived = sorted(draw(st.lists(SECONDS, max_size=20)))
    return [
        QueuedRequest(
            n, draw(st.integers(1, 200)), draw(st.sampled_from([2, 3])), at_s, at_s + draw(st.floats(-1, 200))
        )
        for n, at_s in enumerate(arrived)
    ]


@st.composite
def histories(draw: st.DrawFn) -> DynamicBatcher:
    """The rules after some batches."""
    batching = DynamicBatcher(draw(st.integers(1, 300)), draw(st.sampled_from([0.0, 0.5, 50.0])))
    for budget_s in draw(st.lists(st.floats(-1, 50), max_size=5)):
        batching.arrived(QueuedRequest(0, due_s=budget_s))
    for rows, seconds in draw(st.lists(st.tuples(st.integers(1, 300), st.floats(0, 20)), max_size=12)):
        batching.computed(rows, seconds, 95.0)
    return batching


def numbers(requests: Sequence[QueuedRequest]) -> list[int]:
    return [request.number for request in requests]


def after(*batches: tuple[int, float], max_rows: int = 1024, wait_s: float = 0.0) -> DynamicBatcher:
    """The rules after batches of (rows, seconds), the last at second 0."""
    batching = DynamicBatcher(max_rows, wait_s)
    for rows, seconds in batches:
        batching.computed(rows, seconds, 0.0)
    return batching


# What every batch is.


@given(histories(), queues())
def test_each_request_goes_one_way_and_keeps_its_place(batching: DynamicBatcher, waiting: list[QueuedRequest]) -> None:
    batch = batching.next(waiting, 100.0)
    parts = [numbers(part) for part in (batch.chosen, batch.expired, batch.left)]
    assert sorted(n for part in parts for n in part) == numbers(waiting)
    assert all(part == sorted(part) for part in parts)


@given(histories(), queues())
def test_a_batch_keeps_to_the_limit_and_to_one_width_and_to_the_living(
    batching: DynamicBatcher, waiting: list[QueuedRequest]
) -> None:
    chosen = batching.next(waiting, 100.0).chosen
    assert len(chosen) <= 1 or sum(request.rows for request in chosen) <= batching.limit_rows
    assert len({request.width for request in chosen}) <= 1
    assert all(request.due_s > 100.0 for request in chosen)


@given(histories(), queues())
def test_while_anybody_has_time_somebody_is_computed_or_waited_for(
    batching: DynamicBatcher, waiting: list[QueuedRequest]
) -> None:
    batch = batching.next(waiting, 100.0)
    if any(request.due_s > 100.0 for request in waiting):
        assert batch.chosen or (batch.left and batch.wait_s > 0)
    else:
        assert (batch.chosen, batch.left) == ([], [])


@given(histories(), queues())
def test_the_oldest_that_can_make_it_is_never_passed_over(
    batching: DynamicBatcher, waiting: list[QueuedRequest]
) -> None:
    batch = batching.next(waiting, 100.0)
    if batch.chosen and batch.left:
        assert batch.chosen[0].number < batch.left[0].number
        later = [request for request in batch.left if request.width == batch.chosen[0].width]
        assert not later or later[0].number > batch.chosen[-1].number


@given(histories(), queues())
def test_every_queue_comes_to_an_end(batching: DynamicBatcher, waiting: list[QueuedRequest]) -> None:
    now_s = 100.0
    for _ in range(3 * len(waiting) + 1):
        batch: Batch[QueuedRequest] = batching.next(waiting, now_s)
        now_s += batch.wait_s
        waiting = batch.left
        if not waiting:
            return
    pytest.fail("something waits for ever")


# Who can still make it.


def test_what_waits_is_taken_at_once() -> None:
    waiting = [QueuedRequest(n) for n in range(3)]
    assert after().next(waiting, 0.0) == Batch(waiting, [], [])


def test_nothing_waits_nothing_is_done() -> None:
    assert after().next([], 0.0) == Batch([], [], [])


def test_who_cannot_make_it_is_expired_before_it_costs_anything() -> None:
    short, long = QueuedRequest(0, due_s=0.9), QueuedRequest(1, due_s=1.1)
    assert after((1, 1.0)).next([short, long], 0.0) == Batch([long], [short], [])


def test_company_that_would_make_somebody_late_is_left_for_the_next_batch() -> None:
    batching = after((1, 1.0), (4, 4.0))
    waiting = [QueuedRequest(0, due_s=2.5), QueuedRequest(1), QueuedRequest(2)]
    batch = batching.next(waiting, 0.0)
    assert (numbers(batch.chosen), numbers(batch.left)) == ([0, 1], [2])


def test_if_nobody_can_make_it_the_one_with_the_most_time_is_tried() -> None:
    batching = after((1, 60.0), (1, 60.0))
    waiting = [
        QueuedRequest(0, due_s=3.0),
        QueuedRequest(1, due_s=5.0),
        QueuedRequest(2, due_s=4.0),
        QueuedRequest(3, due_s=-1.0),
    ]
    batch = batching.next(waiting, 0.0)
    assert (numbers(batch.chosen), numbers(batch.expired)) == ([1], [0, 2, 3])


def test_what_has_no_time_at_all_is_never_tried() -> None:
    waiting = [QueuedRequest(0, due_s=0.0), QueuedRequest(1, due_s=-3.0)]
    assert after((1, 60.0)).next(waiting, 0.0) == Batch([], waiting, [])


def test_one_outlier_expires_nobody() -> None:
    batching = after((1, 0.001), (1, 0.001), (1, 30.0))
    waiting = [QueuedRequest(0, due_s=0.1)]
    assert batching.next(waiting, 0.0).chosen == waiting


def test_after_a_slow_spell_three_quick_batches_suffice() -> None:
    batching = after(*[(1, 30.0)] * 20, *[(1, 0.001)] * 3)
    waiting = [QueuedRequest(0, due_s=0.1)]
    assert batching.next(waiting, 0.0).chosen == waiting


def test_a_rare_size_is_tried_again_after_a_while() -> None:
    batching = after(*[(200, 30.0)] * 5, (1, 0.001))
    large, small = QueuedRequest(0, rows=200, due_s=100.0), QueuedRequest(1, due_s=100.0)
    assert numbers(batching.next([large, small], 90.0).chosen) == [0]


# QueuedRequest for company.


def test_the_oldest_waits_for_company_only_so_long() -> None:
    batching = after(wait_s=0.5)
    waiting = [QueuedRequest(0), QueuedRequest(1, arrived_s=0.2)]
    batch = batching.next(waiting, 0.3)
    assert batch.chosen == [] and batch.left == waiting
    assert batch.wait_s == pytest.approx(0.2)
    assert batching.next(waiting, 0.5).chosen == waiting


def test_nobody_becomes_late_of_waiting_for_company() -> None:
    waiting = [QueuedRequest(0), QueuedRequest(1, due_s=2.0)]
    assert after((2, 1.5), wait_s=5.0).next(waiting, 0.0).wait_s == pytest.approx(0.5)


def test_a_full_batch_waits_for_nobody() -> None:
    waiting = [QueuedRequest(n, rows=4) for n in range(3)]
    batch = after(max_rows=8, wait_s=5.0).next(waiting, 0.0)
    assert (numbers(batch.chosen), numbers(batch.left)) == ([0, 1], [2])


# How many rows: additive increase, multiplicative decrease.


def limit(max_rows: int = 1024, budget_s: float = 2.0) -> BatchLimit:
    """A limit whose target is half of `budget_s`."""
    made = BatchLimit(max_rows)
    made.allow(budget_s)
    return made


def test_the_target_is_half_of_the_time_that_nine_of_ten_come_with() -> None:
    assert BatchLimit(8).target_s() == math.inf
    made = BatchLimit(8)
    for budget_s in [-1.0, 0.0, 0.1, *[4.0] * 19]:
        made.allow(budget_s)
    assert made.target_s() == 2.0


def test_full_batches_that_are_quick_make_the_limit_grow_to_its_bound() -> None:
    made = limit(max_rows=FIRST_ROWS + 2 * MORE_ROWS - 1)
    grown = []
    for _ in range(3):
        made.learn(0.1, full=True)
        grown.append(made.rows)
    assert grown == [FIRST_ROWS + MORE_ROWS, FIRST_ROWS + 2 * MORE_ROWS - 1, FIRST_ROWS + 2 * MORE_ROWS - 1]


def test_a_batch_that_was_not_full_proves_nothing() -> None:
    made = limit()
    made.learn(0.1, full=False)
    assert made.rows == FIRST_ROWS


@given(st.floats(0, 1e6), st.integers(0, 30), st.integers(1, 30))
def test_one_slow_batch_changes_nothing(outlier_s: float, before: int, later: int) -> None:
    made = limit()
    for seconds in [*[0.1] * before, outlier_s, *[0.1] * later]:
        made.learn(seconds, full=False)
    assert made.rows == FIRST_ROWS


def test_a_member_that_stays_slow_gets_less_and_less_down_to_one_row() -> None:
    made = limit()
    made.learn(5.0, full=True)
    made.learn(5.0, full=True)
    assert made.rows == int(0.75 * FIRST_ROWS)
    for _ in range(60):
        made.learn(5.0, full=True)
    assert made.rows == 1


@given(st.integers(1, 2000), st.lists(st.tuples(st.floats(0, 100), st.booleans(), st.floats(-1, 100)), max_size=80))
def test_the_limit_stays_within_its_bounds(max_rows: int, batches: list[tuple[float, bool, float]]) -> None:
    made = BatchLimit(max_rows)
    for seconds, full, budget_s in batches:
        made.allow(budget_s)
        made.learn(seconds, full=full)
        assert 1 <= made.rows <= max_rows


def test_under_load_the_limit_settles_where_a_batch_takes_half_the_time_that_requests_have() -> None:
    """A member of 10 ms a row, requests of 8 s: 400 rows take half of that."""
    batching, now_s, seen = DynamicBatcher(1024), 0.0, []
    for _ in range(300):
        waiting = [QueuedRequest(n, arrived_s=now_s, due_s=now_s + 8.0) for n in range(1200)]
        batching.arrived(waiting[0])
        rows = len(batching.next(waiting, now_s).chosen)
        now_s += 0.01 * rows
        batching.computed(rows, 0.01 * rows, now_s)
        seen.append(rows)
    assert min(seen[100:]) >= 200 and max(seen[100:]) <= 500


# What a computation will take.


def times(*batches: tuple[int, float]) -> ComputeTimes:
    made = ComputeTimes()
    for rows, seconds in batches:
        made.learn(rows, seconds, 0.0)
    return made


@pytest.mark.parametrize(
    ("batches", "rows", "seconds"),
    [
        ([], 5, 0.0),
        ([(8, 2.0)], 8, 2.0),
        ([(8, 2.0)], 2, 0.5),  # in proportion
        ([(8, 2.0)], 100, 2.0),
        ([(8, 2.0), (16, 3.0)], 12, 2.5),  # on a line
        ([(8, 2.0), (16, 3.0)], 32, 5.0),  # and on
        ([(8, 3.0), (16, 2.0)], 8, 2.0),  # fewer rows never take longer
        ([(8, 3.0), (16, 2.0)], 32, 2.0),
        ([(8, 1.0), (8, 9.0)], 8, 1.0),  # the lower of two
        ([(8, 1.0), (8, 9.0), (8, 2.0)], 8, 2.0),
        ([(0, 4.0)], 5, 0.0),
    ],
)  # fmt: skip
def test_times_are_drawn_from_the_last_batches(batches: list[tuple[int, float]], rows: int, seconds: float) -> None:
    assert times(*batches).predict_s(rows) == pytest.approx(seconds)


@given(st.lists(st.tuples(st.integers(0, 5000), st.floats(0, 100)), max_size=40), st.integers(0, 10_000))
def test_a_predicted_time_is_a_time(batches: list[tuple[int, float]], rows: int) -> None:
    predicted_s = times(*batches).predict_s(rows)
    assert math.isfinite(predicted_s) and predicted_s >= 0


def test_old_times_are_forgotten() -> None:
    made = times((8, 5.0))
    made.forget(9.0)
    assert made.predict_s(8) == 5.0
    made.forget(11.0)
    assert made.predict_s(8) == 0.0


@given(st.lists(SECONDS, min_size=2, max_size=21))
def test_the_p95_of_a_few_leaves_out_the_largest(values: list[float]) -> None:
    assert quantile(values, 0.95) <= sorted(values)[-2]
