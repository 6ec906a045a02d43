"""Dynamic batching: selects the waiting requests that are computed together; worker process.

The batch size is adapted by additive increase and multiplicative decrease, after Clipper (Crankshaw et al. 2017,
"Clipper: A Low-Latency Online Prediction Serving System", section 4.3.1). Clipper compares the time of a batch with one
objective of the service; here it is compared with the deadlines of the requests.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import deque
from collections.abc import Sequence
from itertools import accumulate
from typing import Generic, Protocol, TypeVar

import msgspec

FIRST_ROWS = 64  # the initial limit
MORE_ROWS = 32  # the additive increase
LESS = 0.75  # the multiplicative decrease
TARGET_SHARE = 0.5  # a request that arrives as a batch starts waits for that batch and then for its own
_QUANTILE = 0.95
_WINDOW = 32  # batches
_BUDGETS = 64  # requests
_SAMPLES = 5  # batches of one size
_FRESH_S = 10.0  # a measurement expires after this time without another one of its size


class Batchable(Protocol):
    """The properties of a waiting request that batching depends on."""

    @property
    def rows(self) -> int: ...
    @property
    def width(self) -> int: ...
    @property
    def arrived_s(self) -> float: ...
    @property
    def due_s(self) -> float: ...


W = TypeVar("W", bound=Batchable)


class Batch(msgspec.Struct, Generic[W], frozen=True):
    """The next action: compute `chosen` together, answer `expired` as such, keep the rest in `left`.

    All three keep the order of arrival. If nothing is chosen and `left` is not empty, call again after `wait_s`, or
    when another request arrives.
    """

    chosen: list[W]
    expired: list[W]
    left: list[W]
    wait_s: float = 0.0


class DynamicBatcher:
    """Chooses the next batch from the waiting requests and the times of recent batches."""

    def __init__(self, max_rows: int, wait_s: float = 0.0) -> None:
        self._wait_s = wait_s
        self._limit = BatchLimit(max_rows)
        self._times = ComputeTimes()
        self._cut = False  # the limit made the last batch smaller

    @property
    def limit_rows(self) -> int:
        """Maximum number of rows in the next batch."""
        return self._limit.rows

    def arrived(self, request: Batchable) -> None:
        """A request arrived; the time until its deadline adjusts the target time of a batch."""
        self._limit.allow(request.due_s - request.arrived_s)

    def computed(self, rows: int, seconds: float, now_s: float) -> None:
        """A batch, or one request retried alone, was computed successfully."""
        self._limit.learn(seconds, full=self._cut)
        self._times.learn(rows, seconds, now_s)

    def next(self, waiting: Sequence[W], now_s: float) -> Batch[W]:
        """Divide the waiting requests, given in order of arrival.

        A request that is predicted to miss its deadline is expired. If all would miss it, the one with the most time
        left is computed anyway: only a computation can show that the network has become faster.
        """
        self._times.forget(now_s)
        able, unable = self._divide(waiting, now_s)
        latest = None if able else max(unable, key=lambda request: request.due_s, default=None)
        if latest is not None and latest.due_s > now_s:
            self._cut = False
            return Batch([latest], [request for request in unable if request is not latest], [])
        chosen, left = self._choose(able, now_s)
        wait_s = self._pause_s(chosen, now_s) if chosen and not self._cut else 0.0
        if wait_s > 0:
            return Batch([], unable, able, wait_s)
        return Batch(chosen, unable, left)

    def _divide(self, waiting: Sequence[W], now_s: float) -> tuple[list[W], list[W]]:
        """Split into requests that can meet their deadline if computed alone now, and others."""
        able: list[W] = []
        unable: list[W] = []
        for request in waiting:
            left_s = request.due_s - now_s
            (able if left_s > 0 and self._times.predict_s(request.rows) <= left_s else unable).append(request)
        return able, unable

    def _choose(self, able: Sequence[W], now_s: float) -> tuple[list[W], list[W]]:
        """Choose requests of the oldest one's width in order, until the batch is full or would be late."""
        chosen: list[W] = []
        left: list[W] = []
        rows, soonest_s, ended = 0, math.inf, False
        self._cut = False
        for request in able:
            if chosen and (ended or request.width != chosen[0].width):
                left.append(request)
                continue
            too_large = rows + request.rows > self._limit.rows
            due_s = min(soonest_s, request.due_s)
            if chosen and (too_large or now_s + self._times.predict_s(rows + request.rows) > due_s):
                ended, self._cut = True, too_large
                left.append(request)
                continue
            chosen.append(request)
            rows, soonest_s = rows + request.rows, due_s
        self._cut = self._cut or rows >= self._limit.rows
        return chosen, left

    def _pause_s(self, chosen: Sequence[W], now_s: float) -> float:
        """How long the oldest request may wait for more requests without making any late; start now if 0 or less."""
        if self._wait_s <= 0:
            return 0.0
        rows = sum(request.rows for request in chosen)
        latest_s = min(request.due_s for request in chosen) - self._times.predict_s(rows)
        return min(chosen[0].arrived_s + self._wait_s, latest_s) - now_s


class BatchLimit:
    """The maximum number of rows in a batch: raised while full batches are fast enough, lowered otherwise.

    Fast enough: the p95 of recent batch times is at most `TARGET_SHARE` of the time that nine of ten requests allow. A
    single batch, however slow, changes nothing.
    """

    def __init__(self, max_rows: int) -> None:
        self.rows = min(FIRST_ROWS, max_rows)
        self._max_rows = max_rows
        self._times_s: deque[float] = deque(maxlen=_WINDOW)
        self._budgets_s: deque[float] = deque(maxlen=_BUDGETS)

    def allow(self, budget_s: float) -> None:
        """A request arrived with this time until its deadline."""
        if budget_s > 0:
            self._budgets_s.append(budget_s)

    def target_s(self) -> float:
        """The target time of a batch; infinite before the first request."""
        return TARGET_SHARE * quantile(self._budgets_s, 0.1) if self._budgets_s else math.inf

    def learn(self, seconds: float, *, full: bool) -> None:
        """A batch took this long; `full` if the limit kept it from being larger."""
        self._times_s.append(seconds)
        if quantile(self._times_s, _QUANTILE) > self.target_s():
            if len(self._times_s) > 1:
                self.rows = max(1, int(LESS * self.rows))
                self._times_s.clear()  # these times belong to larger batches
        elif full:
            self.rows = min(self._max_rows, self.rows + MORE_ROWS)


class ComputeTimes:
    """Predicts the time to compute a number of rows from recent batches of similar size (within a factor of 2).

    Uses the median of each size, so that one outlier has no effect. Times are interpolated linearly between sizes,
    extrapolated above the largest, and proportional below the smallest. Errors are biased low: a wasted computation
    costs less than a request that is expired without need.
    """

    def __init__(self) -> None:
        self._recent: dict[int, deque[tuple[float, int]]] = {}  # by bit length of the number of rows:
        self._learned_s: dict[int, float] = {}
        self._rows: list[int] = []  # rows of the medians, ascending
        self._seconds: list[float] = []

    def learn(self, rows: int, seconds: float, now_s: float) -> None:
        """A computation of `rows` rows took this long."""
        size = rows.bit_length()
        self._recent.setdefault(size, deque(maxlen=_SAMPLES)).append((seconds, rows))
        self._learned_s[size] = now_s
        self._update_medians()

    def forget(self, now_s: float) -> None:
        """Drop sizes without a recent measurement: otherwise a slow period would exclude a rare size forever."""
        stale = [size for size, learned_s in self._learned_s.items() if now_s - learned_s > _FRESH_S]
        for size in stale:
            del self._recent[size], self._learned_s[size]
        if stale:
            self._update_medians()

    def predict_s(self, rows: int) -> float:
        """The predicted time in seconds; 0 without measurements."""
        if not self._rows:
            return 0.0
        above = bisect_left(self._rows, rows)
        if above == 0:
            return self._seconds[0] * rows / self._rows[0]
        if len(self._rows) == 1:
            return self._seconds[0]
        above = min(above, len(self._rows) - 1)
        low, high = self._rows[above - 1], self._rows[above]
        slope = (self._seconds[above] - self._seconds[above - 1]) / (high - low)
        return self._seconds[above - 1] + slope * (rows - low)

    def _update_medians(self) -> None:
        points = sorted((rows, seconds) for seconds, rows in map(_median, self._recent.values()) if rows)
        self._rows = [rows for rows, _ in points]
        # Times do not decrease with rows: faster measurements of more rows correct slow ones of fewer rows.
        self._seconds = list(accumulate((seconds for _, seconds in reversed(points)), min))[::-1]


def quantile(values: Sequence[float] | deque[float], q: float) -> float:
    """The quantile, rounded down to a value: the p95 of 2 to 21 values excludes the largest."""
    return sorted(values)[int(q * (len(values) - 1))]


def _median(samples: deque[tuple[float, int]]) -> tuple[float, int]:
    return sorted(samples)[(len(samples) - 1) // 2]
