"""Sums over the attempts of a sweep: the time on its devices, and how busy these were; api and scheduler."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import ColumnElement, Connection, func, select

from podium.db.schema.tables import attempts, trials

_OF_TRIALS = attempts.join(trials, trials.c.id == attempts.c.trial_id)


@dataclass(frozen=True, slots=True)
class AttemptTotals:
    """Sums over the attempts of a sweep; None: no attempt has ended."""

    device_s: float  # of all attempts
    ended_s: float | None  # from start to end, of those that have ended
    first_start: float | None  # of those that have ended
    last_end: float | None

    def busy_share(self, devices: int) -> float | None:
        """The share of the time of `devices` devices that was busy between the first start and the last end."""
        if self.ended_s is None or self.first_start is None or self.last_end is None or not devices:
            return None
        span_s = self.last_end - self.first_start
        return self.ended_s / (span_s * devices) if span_s > 0 else None


def totals(connection: Connection, sweep_id: int, until: float) -> AttemptTotals:
    """All sums in one pass; the device seconds include those of running attempts until `until`.

    It costs hardly more than one of the sums, since all read the same rows.
    """
    ended = attempts.c.ended_at.is_not(None)
    statement = select(
        _device_s(until),
        func.sum(attempts.c.ended_at - attempts.c.started_at),
        func.min(attempts.c.started_at).filter(ended),
        func.max(attempts.c.ended_at),
    )
    of_sweep = statement.select_from(_OF_TRIALS).where(trials.c.sweep_id == sweep_id)
    held_s, ended_s, first_start, last_end = connection.execute(of_sweep).one()
    return AttemptTotals(float(held_s or 0.0), ended_s, first_start, last_end)


def device_s(connection: Connection, sweep_id: int, until: float | None = None) -> float:
    """Device seconds of a sweep's attempts; with `until`, running attempts are included."""
    statement = select(_device_s(until)).select_from(_OF_TRIALS).where(trials.c.sweep_id == sweep_id)
    return float(connection.execute(statement).scalar_one() or 0.0)


def _device_s(until: float | None) -> ColumnElement[float]:
    if until is None:
        return func.sum(attempts.c.device_s)
    running = func.max(0.0, until - attempts.c.started_at) * attempts.c.devices
    return func.sum(func.coalesce(attempts.c.device_s, running))
