"""Measures whether devices wait for the search: `python -m benchmarks.search_waits` prints the busy share of the slots.

Measured: the scheduler's own loop, its searches in their threads and processes, and SQLite, in real time, over
simulated slots on which a trial takes about one second (0.9 to 1.1), or ten. The share is the shortest possible time of
these trials on the slots, each starting as soon as its slot is free, divided by the actual time from the first
placement on. Cases: GP over 8 float parameters on 16 slots; TPE on 100 and 1,000 slots, which need 100 proposals per
second, after up to 50,000 finished trials; random search for comparison. The output also counts the trials by sampler:
a late proposal is used for the next trial.

Not measured: Ray, the network and the trial processes; training, which would compete with GP and TPE for the processor:
on a machine that trains on its CPU, they propose a smaller share of the trials.
"""

from __future__ import annotations

import argparse
import queue
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from benchmarks.simulation import Agenda, SimulatedSlots, least_s
from podium.db.schema.migrate import migrate
from podium.db.schema.sqlite_database import SqliteDatabase
from podium.db.stores import sweeps
from podium.sweep.lifecycle.database_changes import AttemptEnded, AttemptPlaced, Change, TrialPlanned
from podium.sweep.lifecycle.scheduler_inbox_messages import Inbox, Message, Wake
from podium.sweep.runtime.layout import DataDirectory
from podium.sweep.scheduling.database_recorder import DatabaseRecorder
from podium.sweep.scheduling.read_pacing import TICK_S
from podium.sweep.scheduling.scheduler import Scheduler
from podium.sweep.scheduling.study_query_thread import StudyThread
from podium.sweep.search.scheduler_search_threads import SearchThreads
from podium.sweep.spec.sweep_spec import SweepSpec, parse_spec
from podium.sweep.values.attempt_assignment import AttemptKey, Params
from podium.sweep.values.slot_events import Ended
from podium.sweep.values.states import TrialState


@dataclass(frozen=True, slots=True)
class Case:
    """`trials` of about `trial_s` on `slots`, after `before` finished ones."""

    method: str
    before: int
    trials: int
    slots: int
    trial_s: float

    def __str__(self) -> str:
        return f"{self.method} after {self.before:,} trials, {self.slots:,} slots, {self.trial_s:g} s"


CASES = (
    Case("random", 0, 320, 16, 1.0),
    Case("gp", 0, 320, 16, 1.0),
    Case("tpe", 0, 2_000, 100, 1.0),
    Case("tpe", 10_000, 2_000, 100, 1.0),
    Case("tpe", 50_000, 2_000, 100, 1.0),
    Case("tpe", 50_000, 3_000, 1_000, 10.0),
)


class RealClock:
    """See `podium.sweep.runtime.clock.Clock`; one clock for everything."""

    @property
    def now_s(self) -> float:
        return time.monotonic()

    def monotonic_s(self) -> float:
        return time.monotonic()

    def wall_s(self) -> float:
        return time.monotonic()


class WatchedSlots(SimulatedSlots):
    """Records how long each slot was without a trial between two trials."""

    waits_s: list[float]

    def watch(self) -> None:
        self._free_since: dict[str, float] = {}
        self.waits_s = []
        self.began_s = 0.0

    def _run(self, slot, assignment):  # type: ignore[no-untyped-def]
        now_s = time.monotonic()
        self.began_s = self.began_s or now_s
        if (since := self._free_since.pop(slot.device.device_id, None)) is not None:
            self.waits_s.append(now_s - since)
        super()._run(slot, assignment)

    def _tell(self, slot, event):  # type: ignore[no-untyped-def]
        if isinstance(event, Ended):
            self._free_since[slot.device.device_id] = time.monotonic()
        super()._tell(slot, event)


@dataclass(frozen=True, slots=True)
class Outcome:
    """The usage of the slots, and the samplers that chose the trials."""

    busy: float  # the shortest possible time of these trials, divided by the actual time
    mean_wait_ms: float  # of a slot between two trials
    longest_wait_ms: float
    chosen: Counter[str]


def measure(folder: Path, case: Case) -> Outcome:
    """Run a sweep in real time."""
    method, before, trials = case.method, case.before, case.trials
    path = folder / "podium.sqlite3"
    migrate(path)
    database = SqliteDatabase(path)
    recorder, clock, agenda, inbox = DatabaseRecorder(database), RealClock(), Agenda(), Inbox()
    with database.write() as connection:
        sweep_id, _ = sweeps.accept(connection, _spec(method, before + trials), clock.wall_s())
    for batch in _history(sweep_id, method, before):
        recorder.commit(batch)
    pool = WatchedSlots(case.slots, inbox, clock, agenda, case.trial_s)  # type: ignore[arg-type]
    pool.watch()
    scheduler = Scheduler(
        inbox=inbox, pool=pool, searchers=SearchThreads(inbox), recorder=recorder,
        study=StudyThread(inbox, recorder.read_study), clock=clock,
        data=DataDirectory(folder),
    )  # fmt: skip
    scheduler.adopt(pool.opened())
    pool.take_effect()
    inbox.put(Wake())
    while pool.ended < trials:
        agenda.do_until(time.monotonic())
        scheduler.step(_receive(inbox, agenda))
        pool.take_effect()
    took_s = time.monotonic() - pool.began_s
    with database.read() as connection:
        query = "SELECT sampler, fallback_reason, proposed_for FROM trials WHERE number >= ?"
        chosen = Counter(_who(*row) for row in connection.exec_driver_sql(query, (before,)))
    database.close()
    waits_ms = [1e3 * wait_s for wait_s in pool.waits_s]
    return Outcome(
        least_s(pool.durations_s, case.slots) / took_s, sum(waits_ms) / len(waits_ms), max(waits_ms), chosen
    )  # fmt: skip


def _receive(inbox: Inbox, agenda: Agenda) -> list[Message]:
    """Receive pending messages, or wait for them until the next event."""
    patience_s = max(0.0, min(TICK_S, agenda.next_s() - time.monotonic()))
    messages: list[Message] = []
    try:
        messages.append(inbox.get(timeout=patience_s))
        while True:
            messages.append(inbox.get_nowait())
    except queue.Empty:
        return messages


def _who(sampler: str, fallback_reason: str | None, proposed_for: int | None) -> str:
    """`gp`, `gp, late` or `random, slow`."""
    return sampler if proposed_for is None and fallback_reason is None else f"{sampler}, {fallback_reason or 'late'}"


def _history(sweep_id: int, method: str, count: int) -> Iterator[list[Change]]:
    """Finished trials, in batches."""
    for first in range(0, count, 500):
        batch: list[Change] = []
        for number in range(first, min(first + 500, count)):
            key, x = AttemptKey(number + 1, 1), (number * 0.6180339887) % 1.0
            params: Params = {name: (x * (index + 1)) % 1.0 for index, name in enumerate("abcdefgx")}
            ended = Ended(key, TrialState.FINISHED, 1.0, 2.0, value=x, exit="0", pid=1, values=(x,))
            batch.append(TrialPlanned(key.trial_id, sweep_id, number, params, method, {}, 1.0))
            batch.append(AttemptPlaced(key, sweep_id, number, "cpu-0", "node", 1.0, "00000001"))
            batch.append(AttemptEnded(ended, sweep_id, number, TrialState.FINISHED))
        yield batch


def _spec(method: str, run_cap: int) -> SweepSpec:
    return parse_spec(
        {
            "name": "search-waits",
            "method": method,
            "metric": {"name": "score", "goal": "minimize"},
            "parameters": {name: {"min": 0.0, "max": 1.0} for name in "abcdefgx"},
            "run_cap": run_cap,
            "program": {"function": "sleeping:objective"},
        }
    )


def main() -> None:
    parser = argparse.ArgumentParser(description="Does a device wait for the search?")
    parser.add_argument("--trials", type=int, help="trials in each case")
    parser.add_argument("--method", choices=sorted({case.method for case in CASES}), help="only its cases")
    given = parser.parse_args()
    for case in CASES:
        if given.method not in (None, case.method):
            continue
        with tempfile.TemporaryDirectory(prefix="podium-bench-") as folder:
            found = measure(Path(folder), replace(case, trials=given.trials or case.trials))
        who = ", ".join(f"{count} {name!r}" for name, count in found.chosen.most_common())
        print(
            f"{case}: busy {100 * found.busy:.1f} %; a slot waits "
            f"{found.mean_wait_ms:.0f} ms between trials, {found.longest_wait_ms:.0f} ms at most; chosen by {who}",
            flush=True,
        )


if __name__ == "__main__":
    main()
