"""Which of many points of a curve are sent, so that a million of them cost little; trial process."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

from podium.sweep.values.errors import BadReportError

FULL = 1000
MAX_NAMES = 1000  # of metrics; each is a curve that people are to find and read
MAX_NAME = 200  # characters
_SIGN_S = 1.0
_SHARE = 1000  # of the trial's time so far: how old the last point shown may be


class Thinning:
    """Takes the first 1,000 points of a curve, every 2nd up to 2,000, every 4th up to 4,000, and so on."""

    __slots__ = ("_asked", "_count", "_next", "_stride", "_stride_end")

    def __init__(self) -> None:
        self._asked = 0
        self._count = 0
        self._next = 0
        self._stride = 1
        self._stride_end = FULL

    def takes(self) -> bool:
        """Whether the next point is one to send."""
        position = self._count
        self._count += 1
        if position < self._next:
            return False
        while position >= self._stride_end:
            self._stride *= 2
            self._stride_end *= 2
        self._next = position + self._stride
        return True

    def asked(self, *, sent: bool) -> bool:
        """The last point is asked about: whether to send it now, if it was not, as one for each stride at most is."""
        due = not sent and self._count - self._asked >= self._stride
        if sent or due:
            self._asked = self._count
        return due


class Curves:
    """All curves of a trial: sends what is to be sent, and remembers the last point of each that was not.

    While points are left out, the last ones are sent now and then, so that a trial that is killed shows where it was:
    at most once a second, and not before a thousandth of its time so far has gone by, or these would be too many
    themselves. Between them a sign of life goes out once a second.
    """

    def __init__(self, send: Callable[..., None], clock: Callable[[], float] = time.monotonic) -> None:
        self._send = send
        self._clock = clock
        self._reports = Thinning()
        self._logs: dict[str, Thinning] = {}
        self._last_report: tuple[int, float, float] | None = None  # step, value, time; if it was not sent
        self._last_logs: dict[str, tuple[int, float, float]] = {}
        self._began_s = self._shown_s = self._said_s = clock()

    def report(self, step: int, value: float) -> bool:
        """One point of the sweep's metric; whether it was sent."""
        at = time.time()
        if self._reports.takes():
            self._last_report = None
            self._say(kind="reported", step=step, value=value, at=at)
            return True
        self._last_report = (step, value, at)
        self.show_life()
        return False

    def ask(self) -> bool:
        """Whether the slot has the last report, which is sent now if it was left out and none was long asked about."""
        if not self._reports.asked(sent=self._last_report is None):
            return self._last_report is None
        self._send_last_report()
        return True

    def log(self, step: int, values: Mapping[str, float]) -> None:
        """One point of each of other metrics."""
        at = time.time()
        sent: dict[str, float] = {}
        for name, value in values.items():
            if self._of(name).takes():
                sent[name] = value
                self._last_logs.pop(name, None)
            else:
                self._last_logs[name] = (step, value, at)
        if sent:
            self._say(kind="logged", step=step, values=sent, at=at)
        else:
            self.show_life()

    def send_last(self) -> None:
        """Send the last point of each curve, where it was left out."""
        self._send_last_report()
        together: dict[tuple[int, float], dict[str, float]] = {}
        for name, (step, value, at) in self._last_logs.items():
            together.setdefault((step, at), {})[name] = value
        self._last_logs.clear()
        for (step, at), values in together.items():
            self._say(kind="logged", step=step, values=values, at=at)

    def _send_last_report(self) -> None:
        if self._last_report is not None:
            step, value, at = self._last_report
            self._last_report = None
            self._say(kind="reported", step=step, value=value, at=at)

    def _of(self, name: str) -> Thinning:
        curve = self._logs.get(name)
        if curve is None:
            if len(self._logs) >= MAX_NAMES:
                raise BadReportError(f"log({name!r}): a trial has {MAX_NAMES:,} metrics at most, and this is one more")
            if len(name) > MAX_NAME:
                raise BadReportError(f"log({name[:40]!r}…): a name has {MAX_NAME} characters at most")
            curve = self._logs[name] = Thinning()
        return curve

    def show_life(self) -> None:
        """Something goes on, though there is no point to send."""
        now = self._clock()
        if now - self._said_s < _SIGN_S:
            return
        if now - self._shown_s >= (now - self._began_s) / _SHARE:
            self._shown_s = now
            self.send_last()
        if now - self._said_s >= _SIGN_S:  # there was none
            self._say(kind="alive")

    def _say(self, **message: Any) -> None:
        self._said_s = self._clock()
        self._send(**message)
