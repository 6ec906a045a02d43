"""What the service acknowledged to a client, compared with the database at the end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sqlalchemy import text

from podium.db.schema.open_database import open_database_of
from podium.sweep.runtime.layout import DataDirectory

SLACK_S = 0.1  # between the time of the kill and the time that the scheduler records


@dataclass(slots=True)
class Journal:
    """Sweeps that were acknowledged and trials that were shown as finished: both must stay as they are."""

    sweeps: dict[int, str] = field(default_factory=dict)  # name by id
    over: dict[int, str] = field(default_factory=dict)  # state of sweeps shown as ended, by id
    trials: dict[int, tuple[int, int, float]] = field(default_factory=dict)  # sweep, number and value by id
    contradictions: list[str] = field(default_factory=list)  # facts that later changed

    def record_acknowledged(self, sweep_id: int, name: str) -> None:
        if self.sweeps.setdefault(sweep_id, name) != name:
            self.contradictions.append(f"sweep {sweep_id} was {self.sweeps[sweep_id]}, now it is {name}")

    def record_ended_sweep(self, sweep_id: int, state: str) -> None:
        self.over[sweep_id] = state

    def record_finished_trial(self, trial_id: int, sweep_id: int, number: int, value: float | None) -> None:
        assert value is not None
        shown = (sweep_id, number, value)
        if self.trials.setdefault(trial_id, shown) != shown:
            self.contradictions.append(f"trial {trial_id} was {self.trials[trial_id]}, now it is {shown}")


@dataclass(frozen=True, slots=True)
class JournalResult:
    """The result of the comparison; each list names violations."""

    sweeps: int
    trials: int
    attempts: int
    repeated: int  # attempts after the first of a trial
    in_flight: int  # attempts that ran during a kill, or were killed themselves
    lost: tuple[str, ...]
    double: tuple[str, ...]
    unexplained: tuple[str, ...]  # repeated although nothing was killed

    @property
    def kept(self) -> bool:
        return not self.lost and not self.double and not self.unexplained


@dataclass(frozen=True, slots=True)
class Sweep:
    """A sweep as the database has it."""

    id: int
    name: str
    state: str
    run_cap: int


@dataclass(frozen=True, slots=True)
class Trial:
    """A trial as the database has it."""

    id: int
    sweep_id: int
    number: int
    value: float | None
    state: str
    attempt: int


@dataclass(frozen=True, slots=True)
class Attempt:
    """An attempt as the database has it."""

    trial_id: int
    number: int
    started_at: float
    ended_at: float | None
    state: str | None

    def under_way(self, begun: float, felt: float) -> bool:
        return self.started_at - SLACK_S <= felt and begun <= (self.ended_at or float("inf")) + SLACK_S


def compare(
    journal: Journal, data: DataDirectory, kills: list[tuple[float, float]], runs: Sequence[Path] = ()
) -> JournalResult:
    """Compare with the database of a service that is idle.

    Args:
        journal: What clients know.
        data: Of the service.
        kills: The time of each kill, and until when it has effects: slots continue until Ray notices that it is
            without its raylet, and only then die with their attempts.
        runs: Files with a line for each attempt that ran; () for those next to the code on this machine.
    """
    with _rows(data) as rows:
        sweeps = {row[0]: Sweep(*row) for row in rows("SELECT id, name, state, run_cap FROM sweeps")}
        trials = {row[0]: Trial(*row) for row in rows("SELECT id, sweep_id, number, value, state, attempt FROM trials")}
        found = rows("SELECT trial_id, number, started_at, ended_at, state FROM attempts ORDER BY 1, 2")
        attempts = [Attempt(*row) for row in found]
    hit = {(a.trial_id, a.number) for a in attempts if any(a.under_way(*kill) for kill in kills)}
    again = [a for a in attempts if a.number > 1]
    return JournalResult(
        sweeps=len(sweeps),
        trials=len(trials),
        attempts=len(attempts),
        repeated=len(again),
        in_flight=len(hit),
        lost=(*journal.contradictions, *_lost_sweeps(journal, sweeps), *_lost_trials(journal, trials, sweeps)),
        double=(*_double(trials, attempts, sweeps), *_run_twice(runs or list(data.bundles.glob("*/runs")))),
        unexplained=tuple(
            f"attempt {a.number - 1} of trial {a.trial_id}" for a in again if (a.trial_id, a.number - 1) not in hit
        ),
    )


@contextmanager
def _rows(data: DataDirectory) -> Iterator[Callable[[str], Sequence[Any]]]:
    """What executes queries in the database of a data directory."""
    database = open_database_of(data)
    try:
        with database.read() as connection:
            yield lambda query: connection.execute(text(query)).all()
    finally:
        database.close()


def _lost_sweeps(journal: Journal, sweeps: dict[int, Sweep]) -> list[str]:
    lost = []
    for sweep_id, name in journal.sweeps.items():
        found = sweeps.get(sweep_id)
        if found is None or found.name != name:
            lost.append(f"sweep {sweep_id}, {name}, is gone")
        elif found.state not in ("finished", "failed", "cancelled"):
            lost.append(f"sweep {sweep_id}, {name}, is still {found.state}")
        elif journal.over.get(sweep_id, found.state) != found.state:
            lost.append(f"sweep {sweep_id}, {name}, was {journal.over[sweep_id]} and is {found.state}")
    return lost


def _lost_trials(journal: Journal, trials: dict[int, Trial], sweeps: dict[int, Sweep]) -> list[str]:
    lost = []
    for trial_id, shown in journal.trials.items():
        found = trials.get(trial_id)
        if found is None or (found.sweep_id, found.number, found.value) != shown or found.state != "finished":
            lost.append(f"trial {trial_id} was finished as {shown}, and is {found}")
    planned = Counter(trial.sweep_id for trial in trials.values())
    lost += [
        f"sweep {sweep.id}, {sweep.name}, finished with {planned[sweep.id]} of {sweep.run_cap} trials"
        for sweep in sweeps.values()
        if sweep.state == "finished" and planned[sweep.id] < sweep.run_cap
    ]
    lost += [f"trial {trial.id} is {trial.state}" for trial in trials.values() if trial.state in ("running", "waiting")]
    return lost


def _double(trials: dict[int, Trial], attempts: list[Attempt], sweeps: dict[int, Sweep]) -> list[str]:
    names = Counter(sweep.name for sweep in sweeps.values())
    double = [f"{n} sweeps are {name}" for name, n in names.items() if n > 1]
    counted = Counter(attempt.trial_id for attempt in attempts if attempt.state in ("finished", "pruned"))
    double += [f"trial {trial_id} has {n} results" for trial_id, n in counted.items() if n > 1]
    planned = Counter(trial.sweep_id for trial in trials.values())
    for sweep in sweeps.values():
        if planned[sweep.id] > sweep.run_cap:
            double.append(f"sweep {sweep.id} has {planned[sweep.id]} trials, more than {sweep.run_cap}")
    numbers: dict[int, list[int]] = {}
    for attempt in attempts:
        numbers.setdefault(attempt.trial_id, []).append(attempt.number)
    for trial_id, found in numbers.items():
        if found != list(range(1, trials[trial_id].attempt + 1)):
            double.append(f"trial {trial_id} is at attempt {trials[trial_id].attempt} and has {found}")
    return double


def _run_twice(files: Sequence[Path]) -> list[str]:
    """Attempts that user code saw more than once, by the lines that it wrote."""
    runs: Counter[str] = Counter()
    for file in files:
        runs.update(line.split()[0] for line in file.read_text().splitlines())
    return [f"{directory} ran {n} times" for directory, n in runs.items() if n > 1]


def ends_of_killed(data: DataDirectory) -> dict[int, list[float]]:
    """The end times of attempts that were ended by a signal, by process id."""
    ends: dict[int, list[float]] = {}
    with _rows(data) as rows:
        for pid, at in rows("SELECT pid, ended_at FROM attempts WHERE exit = 'SIGKILL' AND pid > 0"):
            ends.setdefault(pid, []).append(at)
    return ends


def noticed_s(ends: dict[int, list[float]], pid: int, killed_at: float) -> float | None:
    """Seconds from the kill of a trial's process until its tree is gone and its slot free; None if the slot died."""
    later = [at - killed_at for at in ends.get(pid, ()) if at >= killed_at]
    return min(later, default=None)
