"""Which requests share a batch: oldest first, never late, never starved, as many as the time allows."""

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
    """A batcher that has measured some batches."""
    batching = DynamicBatcher(draw(st.integers(1, 300)), draw(st.sampled_from([0.0, 0.5, 50.0])))
    for budget_s in draw(st.lists(st.floats(-1, 50), max_size=5)):
        batching.arrived(QueuedRequest(0, due_s=budget_s))
    for rows, seconds in draw(st.lists(st.tuples(st.integers(1, 300), st.floats(0, 20)), max_size=12)):
        batching.computed(rows, seconds, 95.0)
    return batching


def numbers(requests: Sequence[QueuedRequest]) -> list[int]:
    return [request.number for request in requests]


def after(*batches: tuple[int, float], max_rows: int = 1024, wait_s: float = 0.0) -> DynamicBatcher:
    """A batcher after batches of (rows, seconds), the last at second 0."""
    batching = DynamicBatcher(max_rows, wait_s)
    for rows, seconds in batches:
        batching.computed(rows, seconds, 0.0)
    return batching


# Properties of every batch.


@given(histories(), queues())
def test_each_request_is_in_one_part_and_order_is_kept(batching: DynamicBatcher, waiting: list[QueuedRequest]) -> None:
    batch = batching.next(waiting, 100.0)
    parts = [numbers(part) for part in (batch.chosen, batch.expired, batch.left)]
    assert sorted(n for part in parts for n in part) == numbers(waiting)
    assert all(part == sorted(part) for part in parts)


@given(histories(), queues())
def test_batch_has_one_width_within_the_limit_and_no_expired_request(
    batching: DynamicBatcher, waiting: list[QueuedRequest]
) -> None:
    chosen = batching.next(waiting, 100.0).chosen
    assert len(chosen) <= 1 or sum(request.rows for request in chosen) <= batching.limit_rows
    assert len({request.width for request in chosen}) <= 1
    assert all(request.due_s > 100.0 for request in chosen)


@given(histories(), queues())
def test_batcher_computes_or_waits_while_a_request_has_time(
    batching: DynamicBatcher, waiting: list[QueuedRequest]
) -> None:
    batch = batching.next(waiting, 100.0)
    if any(request.due_s > 100.0 for request in waiting):
        assert batch.chosen or (batch.left and batch.wait_s > 0)
    else:
        assert (batch.chosen, batch.left) == ([], [])


@given(histories(), queues())
def test_oldest_feasible_request_is_never_skipped(batching: DynamicBatcher, waiting: list[QueuedRequest]) -> None:
    batch = batching.next(waiting, 100.0)
    if batch.chosen and batch.left:
        assert batch.chosen[0].number < batch.left[0].number
        later = [request for request in batch.left if request.width == batch.chosen[0].width]
        assert not later or later[0].number > batch.chosen[-1].number


@given(histories(), queues())
def test_every_queue_is_emptied(batching: DynamicBatcher, waiting: list[QueuedRequest]) -> None:
    now_s = 100.0
    for _ in range(3 * len(waiting) + 1):
        batch: Batch[QueuedRequest] = batching.next(waiting, now_s)
        now_s += batch.wait_s
        waiting = batch.left
        if not waiting:
            return
    pytest.fail("a request is never computed")


# Deadlines.


def test_queued_requests_are_batched_immediately() -> None:
    waiting = [QueuedRequest(n) for n in range(3)]
    assert after().next(waiting, 0.0) == Batch(waiting, [], [])


def test_empty_queue_gives_an_empty_batch() -> None:
    assert after().next([], 0.0) == Batch([], [], [])


def test_infeasible_request_expires_before_computation() -> None:
    short, long = QueuedRequest(0, due_s=0.9), QueuedRequest(1, due_s=1.1)
    assert after((1, 1.0)).next([short, long], 0.0) == Batch([long], [short], [])


def test_request_that_would_delay_others_is_left_for_the_next_batch() -> None:
    batching = after((1, 1.0), (4, 4.0))
    waiting = [QueuedRequest(0, due_s=2.5), QueuedRequest(1), QueuedRequest(2)]
    batch = batching.next(waiting, 0.0)
    assert (numbers(batch.chosen), numbers(batch.left)) == ([0, 1], [2])


def test_request_with_the_most_time_is_tried_when_none_is_feasible() -> None:
    batching = after((1, 60.0), (1, 60.0))
    waiting = [
        QueuedRequest(0, due_s=3.0),
        QueuedRequest(1, due_s=5.0),
        QueuedRequest(2, due_s=4.0),
        QueuedRequest(3, due_s=-1.0),
    ]
    batch = batching.next(waiting, 0.0)
    assert (numbers(batch.chosen), numbers(batch.expired)) == ([1], [0, 2, 3])


def test_request_without_time_is_never_tried() -> None:
    waiting = [QueuedRequest(0, due_s=0.0), QueuedRequest(1, due_s=-3.0)]
    assert after((1, 60.0)).next(waiting, 0.0) == Batch([], waiting, [])


def test_one_outlier_expires_no_request() -> None:
    batching = after((1, 0.001), (1, 0.001), (1, 30.0))
    waiting = [QueuedRequest(0, due_s=0.1)]
    assert batching.next(waiting, 0.0).chosen == waiting


def test_three_fast_batches_follow_a_slow_period() -> None:
    batching = after(*[(1, 30.0)] * 20, *[(1, 0.001)] * 3)
    waiting = [QueuedRequest(0, due_s=0.1)]
    assert batching.next(waiting, 0.0).chosen == waiting


def test_slow_size_is_tried_again_after_a_time() -> None:
    batching = after(*[(200, 30.0)] * 5, (1, 0.001))
    large, small = QueuedRequest(0, rows=200, due_s=100.0), QueuedRequest(1, due_s=100.0)
    assert numbers(batching.next([large, small], 90.0).chosen) == [0]


# Waiting for more requests.


def test_oldest_request_waits_at_most_the_batch_wait() -> None:
    batching = after(wait_s=0.5)
    waiting = [QueuedRequest(0), QueuedRequest(1, arrived_s=0.2)]
    batch = batching.next(waiting, 0.3)
    assert batch.chosen == [] and batch.left == waiting
    assert batch.wait_s == pytest.approx(0.2)
    assert batching.next(waiting, 0.5).chosen == waiting


def test_waiting_makes_no_request_late() -> None:
    waiting = [QueuedRequest(0), QueuedRequest(1, due_s=2.0)]
    assert after((2, 1.5), wait_s=5.0).next(waiting, 0.0).wait_s == pytest.approx(0.5)


def test_full_batch_does_not_wait() -> None:
    waiting = [QueuedRequest(n, rows=4) for n in range(3)]
    batch = after(max_rows=8, wait_s=5.0).next(waiting, 0.0)
    assert (numbers(batch.chosen), numbers(batch.left)) == ([0, 1], [2])


# How many rows: additive increase, multiplicative decrease.


def limit(max_rows: int = 1024, budget_s: float = 2.0) -> BatchLimit:
    """A limit whose target is half of `budget_s`."""
    made = BatchLimit(max_rows)
    made.allow(budget_s)
    return made


def test_target_is_half_of_the_tenth_percentile_of_budgets() -> None:
    assert BatchLimit(8).target_s() == math.inf
    made = BatchLimit(8)
    for budget_s in [-1.0, 0.0, 0.1, *[4.0] * 19]:
        made.allow(budget_s)
    assert made.target_s() == 2.0


def test_fast_full_batches_raise_the_limit_to_its_bound() -> None:
    made = limit(max_rows=FIRST_ROWS + 2 * MORE_ROWS - 1)
    grown = []
    for _ in range(3):
        made.learn(0.1, full=True)
        grown.append(made.rows)
    assert grown == [FIRST_ROWS + MORE_ROWS, FIRST_ROWS + 2 * MORE_ROWS - 1, FIRST_ROWS + 2 * MORE_ROWS - 1]


def test_partial_batch_does_not_change_the_limit() -> None:
    made = limit()
    made.learn(0.1, full=False)
    assert made.rows == FIRST_ROWS


@given(st.floats(0, 1e6), st.integers(0, 30), st.integers(1, 30))
def test_one_slow_batch_does_not_change_the_limit(outlier_s: float, before: int, later: int) -> None:
    made = limit()
    for seconds in [*[0.1] * before, outlier_s, *[0.1] * later]:
        made.learn(seconds, full=False)
    assert made.rows == FIRST_ROWS


def test_slow_batches_lower_the_limit_down_to_one_row() -> None:
    made = limit()
    made.learn(5.0, full=True)
    made.learn(5.0, full=True)
    assert made.rows == int(0.75 * FIRST_ROWS)
    for _ in range(60):
        made.learn(5.0, full=True)
    assert made.rows == 1


@given(st.integers(1, 2000), st.lists(st.tuples(st.floats(0, 100), st.booleans(), st.floats(-1, 100)), max_size=80))
def test_limit_stays_within_its_bounds(max_rows: int, batches: list[tuple[float, bool, float]]) -> None:
    made = BatchLimit(max_rows)
    for seconds, full, budget_s in batches:
        made.allow(budget_s)
        made.learn(seconds, full=full)
        assert 1 <= made.rows <= max_rows


def test_limit_converges_to_half_of_the_time_budget() -> None:
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


# The predicted time of a batch.


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
        ([(8, 2.0)], 2, 0.5),  # proportional
        ([(8, 2.0)], 100, 2.0),
        ([(8, 2.0), (16, 3.0)], 12, 2.5),  # linear interpolation
        ([(8, 2.0), (16, 3.0)], 32, 5.0),  # extrapolation
        ([(8, 3.0), (16, 2.0)], 8, 2.0),  # fewer rows never take longer
        ([(8, 3.0), (16, 2.0)], 32, 2.0),
        ([(8, 1.0), (8, 9.0)], 8, 1.0),  # the lower median of two
        ([(8, 1.0), (8, 9.0), (8, 2.0)], 8, 2.0),
        ([(0, 4.0)], 5, 0.0),
    ],
)  # fmt: skip
def test_times_are_predicted_from_the_last_batches(batches: list[tuple[int, float]], rows: int, seconds: float) -> None:
    assert times(*batches).predict_s(rows) == pytest.approx(seconds)


@given(st.lists(st.tuples(st.integers(0, 5000), st.floats(0, 100)), max_size=40), st.integers(0, 10_000))
def test_predicted_time_is_finite_and_not_negative(batches: list[tuple[int, float]], rows: int) -> None:
    predicted_s = times(*batches).predict_s(rows)
    assert math.isfinite(predicted_s) and predicted_s >= 0


def test_old_times_are_dropped() -> None:
    made = times((8, 5.0))
    made.forget(9.0)
    assert made.predict_s(8) == 5.0
    made.forget(11.0)
    assert made.predict_s(8) == 0.0


@given(st.lists(SECONDS, min_size=2, max_size=21))
def test_p95_of_few_values_excludes_the_largest(values: list[float]) -> None:
    assert quantile(values, 0.95) <= sorted(values)[-2]
