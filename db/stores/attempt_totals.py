"""Sums over the attempts of a sweep: the time on its devices, and how busy these were; api and scheduler."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

from sqlalchemy import ColumnElement, Connection, func, select

from podium.db.schema.tables import attempt_ranks, attempts, trials
from podium.db.stores.sweeps import SweepRow
from podium.sweep.values.device import shared_id
from podium.sweep.values.states import TERMINAL_SWEEP_STATES

MAX_REMEMBERED = 1_000  # sweeps
_CLOCK_TOLERANCE = 0.01  # of the time: attempts on one device may seem to overlap, as times come from several clocks
_OF_TRIALS = attempts.join(trials, trials.c.id == attempts.c.trial_id)


@dataclass(frozen=True, slots=True)
class AttemptTotals:
    """Sums over the attempts of a sweep; None: no attempt has ended."""

    device_s: float  # of all attempts
    busy_s: float | None  # from start to end, times devices or the share of one, of those that have ended
    first_start: float | None  # of those that have ended
    last_end: float | None
    open: int  # attempts that have not ended or still hold their devices
    used: frozenset[str] = frozenset()  # slots of its attempts, if the sweep has ended: some may have left since

    def busy_share(self, present: Collection[str]) -> float | None:
        """The share of the time of the devices that was busy between the first start and the last end.

        None if no attempt has ended, or if the busy time exceeds that of the devices: while a sweep runs, a node may
        have left.

        Args:
            present: The ids of the slots that exist now.
        """
        devices = len({shared_id(each) for each in (*present, *self.used)})
        if self.busy_s is None or self.first_start is None or self.last_end is None or not devices:
            return None
        whole_s = (self.last_end - self.first_start) * devices
        if whole_s <= 0 or self.busy_s > whole_s * (1 + _CLOCK_TOLERANCE):
            return None
        return min(1.0, self.busy_s / whole_s)


class EndedTotals:
    """The sums of sweeps that have ended, which do not change until the sweep continues and ends again.

    Of a sweep with 50,000 trials they take 20 times as long as everything else that its page shows of the sweep. Any
    number of threads may share one.
    """

    def __init__(self) -> None:
        self._known: dict[int, tuple[float, AttemptTotals]] = {}  # by sweep, with the time of its end

    def of(self, connection: Connection, sweep: SweepRow, until: float) -> AttemptTotals:
        """The sums of a sweep, from memory if it has ended."""
        known_end, known = self._known.get(sweep.id, (None, None))
        if known is not None and known_end == sweep.ended_at:
            return known
        found = totals(connection, sweep.id, until)
        if sweep.state in TERMINAL_SWEEP_STATES and sweep.ended_at is not None and not found.open:
            found = replace(found, used=_slots_of(connection, sweep.id))
            if len(self._known) >= MAX_REMEMBERED:
                self._known.clear()
            self._known[sweep.id] = (sweep.ended_at, found)
        return found


def totals(connection: Connection, sweep_id: int, until: float) -> AttemptTotals:
    """All sums in one pass; the device seconds include those of running attempts until `until`.

    It costs hardly more than one of the sums, since all read the same rows.
    """
    ended = attempts.c.ended_at.is_not(None)
    statement = select(
        _device_s(until),
        func.sum((attempts.c.ended_at - attempts.c.started_at) * attempts.c.devices),
        func.min(attempts.c.started_at).filter(ended),
        func.max(attempts.c.ended_at),
        func.count().filter(attempts.c.ended_at.is_(None) | attempts.c.device_s.is_(None)),
    )
    of_sweep = statement.select_from(_OF_TRIALS).where(trials.c.sweep_id == sweep_id)
    held_s, busy_s, first_start, last_end, held = connection.execute(of_sweep).one()
    return AttemptTotals(float(held_s or 0.0), busy_s, first_start, last_end, open=held)


def _slots_of(connection: Connection, sweep_id: int) -> frozenset[str]:
    """The ids of the slots of all attempts, with those of all ranks."""
    first = select(attempts.c.device_id).select_from(_OF_TRIALS).where(trials.c.sweep_id == sweep_id)
    of_ranks = attempt_ranks.join(trials, trials.c.id == attempt_ranks.c.trial_id)
    ranks = select(attempt_ranks.c.device_id).select_from(of_ranks).where(trials.c.sweep_id == sweep_id)
    return frozenset(connection.execute(first.union(ranks)).scalars())


def device_s(connection: Connection, sweep_id: int, until: float | None = None) -> float:
    """Device seconds of a sweep's attempts; with `until`, running attempts are included."""
    statement = select(_device_s(until)).select_from(_OF_TRIALS).where(trials.c.sweep_id == sweep_id)
    return float(connection.execute(statement).scalar_one() or 0.0)


def _device_s(until: float | None) -> ColumnElement[float]:
    if until is None:
        return func.sum(attempts.c.device_s)
    running = func.max(0.0, until - attempts.c.started_at) * attempts.c.devices
    return func.sum(func.coalesce(attempts.c.device_s, running))
