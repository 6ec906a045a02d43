"""Downsamples long metric curves before they are sent, so that a million points cost little; trial process."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

from podium.sweep.protocol.message_limits import MAX_METRICS, MAX_NAME
from podium.sweep.protocol.trial_messages import Heartbeat, TrialMessage
from podium.sweep.values.attempt_assignment import AttemptKey
from podium.sweep.values.errors import BadReportError
from podium.sweep.values.slot_events import Logged, Reported

FULL = 1000  # points of a curve that are all sent
_HEARTBEAT_S = 1.0
_LAST_POINT_SHARE = 1000  # the last point is sent when it is older than this fraction of the trial's duration


class MetricThinning:
    """Selects the first 1,000 points of a curve, every 2nd up to 2,000, every 4th up to 4,000, and so on."""

    __slots__ = ("_count", "_next", "_requested", "_stride", "_stride_end")

    def __init__(self) -> None:
        self._requested = 0
        self._count = 0
        self._next = 0
        self._stride = 1
        self._stride_end = FULL

    def keeps_next(self) -> bool:
        """Whether the next point is to be sent."""
        position = self._count
        self._count += 1
        if position < self._next:
            return False
        while position >= self._stride_end:
            self._stride *= 2
            self._stride_end *= 2
        self._next = position + self._stride
        return True

    def on_prune_request(self, *, sent: bool) -> bool:
        """Whether to send the last point, if it was not sent, for a prune request: at most one per stride."""
        due = not sent and self._count - self._requested >= self._stride
        if sent or due:
            self._requested = self._count
        return due


class MetricCurves:
    """All curves of a trial: sends the selected points, and keeps the last point of each curve until it is sent.

    While points are omitted, the last ones are sent periodically, so that a killed trial shows its progress: at most
    once a second, and at most once in a thousandth of its duration so far, which bounds their number. In between, a
    heartbeat is sent once a second.
    """

    def __init__(
        self, key: AttemptKey, send: Callable[[TrialMessage], None], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._key = key
        self._send_message = send
        self._clock = clock
        self._reports = MetricThinning()
        self._logs: dict[str, MetricThinning] = {}
        self._non_finite: dict[str, MetricThinning] = {}
        self._last_report: tuple[int, float, float] | None = None  # step, value, time; if it was not sent
        self._last_logs: dict[str, tuple[int, float, float]] = {}  # step, value, time; by name, if it was not sent
        self._started_s = self._last_points_s = self._sent_s = clock()

    def report(self, step: int, value: float) -> bool:
        """Add a point of the sweep's metric; returns whether it was sent."""
        at = time.time()
        if self._reports.keeps_next():
            self._last_report = None
            self._send(Reported(self._key, step, value, at))
            return True
        self._last_report = (step, value, at)  # a message only when it is sent: most points are not
        self.heartbeat()
        return False

    def request_prune(self) -> bool:
        """Whether the slot has the last report, so that it can answer; may send a report that was omitted."""
        if not self._reports.on_prune_request(sent=self._last_report is None):
            return self._last_report is None
        self._send_last_report()
        return True

    def log(self, step: int, values: Mapping[str, float]) -> None:
        """Add a point of each of other metrics."""
        at = time.time()
        sent: dict[str, float] = {}
        for name, value in values.items():
            if self._curve(name, self._logs).keeps_next():
                sent[name] = value
                self._last_logs.pop(name, None)
            else:
                self._last_logs[name] = (step, value, at)
        if sent:
            self._send(Logged(self._key, step, sent, at))
        else:
            self.heartbeat()

    def log_non_finite(self, step: int, values: Mapping[str, float]) -> None:
        """Add points that are NaN or infinite, selected apart from the curve: none of a few is omitted."""
        sent = {name: value for name, value in values.items() if self._curve(name, self._non_finite).keeps_next()}
        if sent:
            self._send(Logged(self._key, step, sent, time.time()))
        else:
            self.heartbeat()

    def send_last(self) -> None:
        """Send the last point of each curve that was omitted."""
        self._send_last_report()
        together: dict[tuple[int, float], dict[str, float]] = {}
        for name, (step, value, at) in self._last_logs.items():
            together.setdefault((step, at), {})[name] = value
        self._last_logs.clear()
        for (step, at), values in together.items():
            self._send(Logged(self._key, step, values, at))

    def heartbeat(self) -> None:
        """The trial makes progress, and may have no point to send."""
        now_s = self._clock()
        if now_s - self._sent_s < _HEARTBEAT_S:
            return
        if now_s - self._last_points_s >= (now_s - self._started_s) / _LAST_POINT_SHARE:
            self._last_points_s = now_s
            self.send_last()
        if now_s - self._sent_s >= _HEARTBEAT_S:  # no point was left to send
            self._send(Heartbeat())

    def _send_last_report(self) -> None:
        if self._last_report is not None:
            step, value, at = self._last_report
            self._last_report = None
            self._send(Reported(self._key, step, value, at))

    def _curve(self, name: str, curves: dict[str, MetricThinning]) -> MetricThinning:
        curve = curves.get(name)
        if curve is None:
            if len(curves) >= MAX_METRICS:
                raise BadReportError(f"log({name!r}): a trial can have at most {MAX_METRICS:,} metrics")
            if len(name) > MAX_NAME:
                raise BadReportError(f"log({name[:40]!r}…): a metric's name can have at most {MAX_NAME} characters")
            curve = curves[name] = MetricThinning()
        return curve

    def _send(self, message: TrialMessage) -> None:
        self._sent_s = self._clock()
        self._send_message(message)
