"""Which waiting requests are computed together: dynamic batching as rules on numbers; pure, worker.

The size of a batch is found by additive increase and multiplicative decrease, after Clipper (Crankshaw et al. 2017,
"Clipper: A Low-Latency Online Prediction Serving System", section 4.3.1). Clipper holds a batch's time against one
objective of the service; here it is held against the time that the requests themselves say they have.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Generic, Protocol, TypeVar

FIRST_ROWS = 64  # of the first batches
MORE_ROWS = 32  # the additive increase
LESS = 0.75  # the multiplicative decrease
TARGET_SHARE = 0.5  # who comes as a batch begins waits for that one, and then for its own
_QUANTILE = 0.95
_WINDOW = 32  # batches
_BUDGETS = 64  # requests
_SAMPLES = 5  # batches of one size
_FRESH_S = 10.0  # how long a time is believed without another of its size


class Batchable(Protocol):
    """What the rules must know of a request that waits."""

    @property
    def rows(self) -> int: ...
    @property
    def width(self) -> int: ...
    @property
    def arrived_s(self) -> float: ...
    @property
    def due_s(self) -> float: ...


W = TypeVar("W", bound=Batchable)


@dataclass(frozen=True, slots=True)
class Batch(Generic[W]):
    """What to do now: compute `chosen` together, answer `expired` as such, leave the rest.

    All three keep the order in which the requests came. With nothing chosen and something left, look again after
    `wait_s`, or when another request comes.
    """

    chosen: list[W]
    expired: list[W]
    left: list[W]
    wait_s: float = 0.0


class DynamicBatcher:
    """The next batch, from what waits and from what the last batches took."""

    def __init__(self, max_rows: int, wait_s: float = 0.0) -> None:
        self._wait_s = wait_s
        self._limit = BatchLimit(max_rows)
        self._times = ComputeTimes()
        self._cut = False  # the last batch would have been larger without the limit

    @property
    def limit_rows(self) -> int:
        """How many rows the next batch may have."""
        return self._limit.rows

    def came(self, request: Batchable) -> None:
        """A request came; the time that requests have sets what a batch may take."""
        self._limit.allow(request.due_s - request.arrived_s)

    def computed(self, rows: int, seconds: float, now_s: float) -> None:
        """The last batch ended well, or one request of it that was tried again alone."""
        self._limit.learn(seconds, full=self._cut)
        self._times.learn(rows, seconds, now_s)

    def next(self, waiting: Sequence[W], now_s: float) -> Batch[W]:
        """Divide what waits, which is in the order of arrival.

        A request that would end after its time, as the last batches went, is expired. If that is true of all, the one
        with the most time left is computed all the same: only a computation can show that the member is quick again.
        """
        self._times.forget(now_s)
        able, unable = self._divide(waiting, now_s)
        last_hope = None if able else max(unable, key=lambda request: request.due_s, default=None)
        if last_hope is not None and last_hope.due_s > now_s:
            self._cut = False
            return Batch([last_hope], [request for request in unable if request is not last_hope], [])
        chosen, left = self._choose(able, now_s)
        wait_s = self._pause_s(chosen, now_s) if chosen and not self._cut else 0.0
        if wait_s > 0:
            return Batch([], unable, able, wait_s)
        return Batch(chosen, unable, left)

    def _divide(self, waiting: Sequence[W], now_s: float) -> tuple[list[W], list[W]]:
        """Who can make it if computed alone and now, and who cannot."""
        able: list[W] = []
        unable: list[W] = []
        for request in waiting:
            left_s = request.due_s - now_s
            (able if left_s > 0 and self._times.predict_s(request.rows) <= left_s else unable).append(request)
        return able, unable

    def _choose(self, able: Sequence[W], now_s: float) -> tuple[list[W], list[W]]:
        """From the oldest on, those of its width, until the batch is full or would make one of them late."""
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
        """How long the oldest may still wait for company, at nobody's cost; 0 or less: begin."""
        if self._wait_s <= 0:
            return 0.0
        rows = sum(request.rows for request in chosen)
        latest_s = min(request.due_s for request in chosen) - self._times.predict_s(rows)
        return min(chosen[0].arrived_s + self._wait_s, latest_s) - now_s


class BatchLimit:
    """How many rows a batch may have: more while full batches are quick enough, less once they are not.

    Quick enough: the p95 of the last batches' times is at most `TARGET_SHARE` of the time that nine of ten requests
    come with. One batch alone, however slow, changes nothing.
    """

    def __init__(self, max_rows: int) -> None:
        self.rows = min(FIRST_ROWS, max_rows)
        self._max_rows = max_rows
        self._times_s: deque[float] = deque(maxlen=_WINDOW)
        self._budgets_s: deque[float] = deque(maxlen=_BUDGETS)

    def allow(self, budget_s: float) -> None:
        """A request came with so much time."""
        if budget_s > 0:
            self._budgets_s.append(budget_s)

    def target_s(self) -> float:
        """What a batch may take; infinite before the first request."""
        return TARGET_SHARE * quantile(self._budgets_s, 0.1) if self._budgets_s else math.inf

    def learn(self, seconds: float, *, full: bool) -> None:
        """A batch took so long; `full`: the limit kept it from being larger."""
        self._times_s.append(seconds)
        if quantile(self._times_s, _QUANTILE) > self.target_s():
            if len(self._times_s) > 1:
                self.rows = max(1, int(LESS * self.rows))
                self._times_s.clear()  # they were of larger batches
        elif full:
            self.rows = min(self._max_rows, self.rows + MORE_ROWS)


class ComputeTimes:
    """What a computation of so many rows will take, from the last few of about that size (within a factor of 2).

    Of each size the median counts, so one outlier does not. Between two sizes, and above the largest, the times lie
    on a line; below the smallest they are in proportion. Where this errs it errs to the low side: a computation in
    vain costs less than a request that is given up without need.
    """

    def __init__(self) -> None:
        self._recent: dict[int, deque[tuple[float, int]]] = {}  # by bits of the number of rows: (seconds, rows)
        self._learned_s: dict[int, float] = {}
        self._rows: list[int] = []  # the medians, by rows
        self._seconds: list[float] = []

    def learn(self, rows: int, seconds: float, now_s: float) -> None:
        """A computation of `rows` rows took so long."""
        size = rows.bit_length()
        self._recent.setdefault(size, deque(maxlen=_SAMPLES)).append((seconds, rows))
        self._learned_s[size] = now_s
        self._draw()

    def forget(self, now_s: float) -> None:
        """Leave out sizes that were not seen for long: else a slow spell would bar a rare size for ever."""
        stale = [size for size, learned_s in self._learned_s.items() if now_s - learned_s > _FRESH_S]
        for size in stale:
            del self._recent[size], self._learned_s[size]
        if stale:
            self._draw()

    def predict_s(self, rows: int) -> float:
        """Seconds; 0 while nothing is known."""
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

    def _draw(self) -> None:
        points = sorted((rows, seconds) for seconds, rows in map(_median, self._recent.values()) if rows)
        self._rows = [rows for rows, _ in points]
        # Fewer rows never take longer: what more rows took later corrects what fewer took in a slow spell.
        self._seconds = list(accumulate((seconds for _, seconds in reversed(points)), min))[::-1]


def quantile(values: Sequence[float] | deque[float], q: float) -> float:
    """The lower of the two values that the quantile lies between: of 2 to 21, the p95 leaves out the largest."""
    return sorted(values)[int(q * (len(values) - 1))]


def _median(samples: deque[tuple[float, int]]) -> tuple[float, int]:
    return sorted(samples)[(len(samples) - 1) // 2]
