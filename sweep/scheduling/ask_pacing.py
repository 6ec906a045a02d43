"""Decides how many trials to request from the search of a sweep, and how long to wait for each. Pure; scheduler
process.
"""

from __future__ import annotations

from collections import deque

from podium.sweep.lifecycle.scheduler_interfaces import ASK_DEADLINE_S

_SMOOTHING = 0.2  # of the moving averages
_MAX_WAIT_S = 0.1  # of an answer for the scheduler; a longer wait, as for an unavailable database, is an exception
_INITIAL_TRIAL_S = 1.0  # assumed duration until the first trial has ended


class AskPacing:
    """The asks of one sweep: pending ones, moving averages of durations, and whether the search is exhausted."""

    def __init__(self) -> None:
        self._sent_s: deque[float] = deque()  # when each pending ask was sent; monotonic, oldest first
        self._first_answer_s: float | None = None
        self._enqueued: set[int] = set()  # enqueued configurations that the search was asked for
        self._mean_ask_s = 0.0
        self._mean_trial_s = _INITIAL_TRIAL_S
        self._exhausted = False

    @property
    def pending(self) -> int:
        """The number of asks without an answer."""
        return len(self._sent_s)

    @property
    def exhausted(self) -> bool:
        """Whether the search has no trial left."""
        return self._exhausted

    @property
    def mean_trial_s(self) -> float:
        return self._mean_trial_s

    @property
    def deadline_s(self) -> float:
        """The time limit of a proposal.

        2 s, but at most a quarter of a trial's duration, so that devices do not wait, and at least a hundredth of it
        (up to a minute), a delay that is negligible.
        """
        quarter, hundredth = self._mean_trial_s / 4, min(self._mean_trial_s / 100, 60.0)
        return max(min(ASK_DEADLINE_S, quarter), hundredth)

    def begin(self, now_s: float) -> None:
        """Record an ask that is sent."""
        self._sent_s.append(now_s)

    def begin_enqueued(self, enqueued_id: int, now_s: float) -> bool:
        """Record an ask for an enqueued configuration; False if it was sent before."""
        if enqueued_id in self._enqueued:
            return False
        self._enqueued.add(enqueued_id)
        self.begin(now_s)
        return True

    def end(self, took_s: float, now_s: float, *, exhausted: bool) -> None:
        """Record the answer to the oldest ask. `took_s`: the time of the search, without the time to build it.

        The ask lasted until now: the answer also waited for the scheduler. Of an ask from before the first answer, only
        `took_s` counts: it may have waited for the search to be built.
        """
        sent_s = self._sent_s.popleft()
        if self._first_answer_s is None:
            self._first_answer_s = now_s
        waited_s = now_s - sent_s - took_s if sent_s >= self._first_answer_s else 0.0
        lasted_s = took_s + min(max(0.0, waited_s), _MAX_WAIT_S)
        self._mean_ask_s += _SMOOTHING * (lasted_s - self._mean_ask_s)
        self._exhausted = self._exhausted or exhausted

    def record_trial(self, duration_s: float) -> None:
        """Record the end of a trial."""
        self._mean_trial_s += _SMOOTHING * (duration_s - self._mean_trial_s)

    def reopen(self) -> None:
        """The search may have trials again."""
        self._exhausted = False

    def ahead(self, slots: int) -> int:
        """The number of trials to have ready: one, plus the number of slots that may become free during an ask.

        Further ones would be chosen with fewer results.
        """
        return min(1 + int(slots * self._mean_ask_s / max(self._mean_trial_s, 1e-3)), slots)
