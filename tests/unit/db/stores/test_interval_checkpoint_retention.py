"""Which checkpoints of a population are removed: never one that an interval starts from, or may start from."""

from __future__ import annotations

from pathlib import Path

import pytest

from podium.db.stores import interval_checkpoint_retention, sweeps
from podium.sweep.lifecycle.database_changes import (
    AttemptEnded,
    AttemptPlaced,
    Change,
    IntervalEnded,
    IntervalStarted,
    TrialPlanned,
)
from podium.sweep.scheduling.database_recorder import DatabaseRecorder
from podium.sweep.scheduling.retention_cleanup import Retention
from podium.sweep.values.attempt_assignment import AttemptKey
from podium.sweep.values.errors import FencedError
from podium.sweep.values.slot_events import Ended
from podium.sweep.values.states import SweepState, TrialState
from tests.service_rig import AT, ServiceRig, nonce

METHOD = {"type": "pbt", "population": 2, "interval": {"step": 5}}
PARAMS = {"lr": 0.01}


@pytest.fixture
def retention(service: ServiceRig) -> Retention:
    return Retention(service.database, service.data, service.epoch, lambda: AT)


class Population:
    """Two trials; each ended interval is one attempt with a checkpoint."""

    def __init__(self, service: ServiceRig, **changes: object) -> None:
        self.service = service
        self.sweep_id = service.sweep(method=METHOD, run_cap=2, **changes)
        for number in (0, 1):
            service.commit(TrialPlanned(number + 1, self.sweep_id, number, dict(PARAMS), "random", {}, AT))

    def start(self, number: int, interval: int, attempt: int, donor: tuple[int, int] | None = None) -> None:
        donor_id, of = (None, None) if donor is None else (donor[0] + 1, donor[1])
        key = AttemptKey(number + 1, attempt)
        self.service.commit(
            IntervalStarted(key.trial_id, self.sweep_id, interval, dict(PARAMS), attempt, AT, donor_id, of),
            AttemptPlaced(key, self.sweep_id, number, "cpu-0", "", AT, nonce(number, attempt)),
        )
        self.folder(number, attempt).mkdir(parents=True)
        (self.folder(number, attempt) / "checkpoint.safetensors").write_bytes(b"weights")

    def end(self, number: int, interval: int, attempt: int) -> None:
        key = AttemptKey(number + 1, attempt)
        event = Ended(key, TrialState.WAITING, AT, AT, value=0.5, step=5 * interval)
        changes: list[Change] = [
            IntervalEnded(key, self.sweep_id, interval, 5 * interval, 0.5, AT),
            AttemptEnded(event, self.sweep_id, number, TrialState.WAITING),
        ]
        self.service.commit(*changes)

    def finish(self, number: int, attempt: int) -> None:
        event = Ended(AttemptKey(number + 1, attempt), TrialState.FINISHED, AT, AT, value=0.5)
        self.service.commit(AttemptEnded(event, self.sweep_id, number, TrialState.FINISHED))

    def folder(self, number: int, attempt: int) -> Path:
        return self.service.attempt(self.sweep_id, number, attempt).root

    def kept(self) -> list[tuple[int, int]]:
        """Number and attempt of the checkpoints on the disk."""
        found = self.service.data.trials.glob(f"{self.sweep_id}/*/*/checkpoint.safetensors")
        return sorted((int(path.parts[-3]), int(path.parts[-2].partition("-")[0])) for path in found)


@pytest.fixture
def population(service: ServiceRig) -> Population:
    return Population(service)


LAST = [(number, attempt) for number in (0, 1) for attempt in (3, 4, 5)]


def five_intervals(population: Population) -> None:
    for number in (0, 1):
        for interval in range(1, 6):
            population.start(number, interval, interval)
            population.end(number, interval, interval)


def test_the_last_checkpoints_of_each_trial_stay(population: Population, retention: Retention) -> None:
    five_intervals(population)
    retention.apply(population.sweep_id)
    assert population.kept() == LAST


def test_the_checkpoint_that_a_running_interval_starts_from_stays(population: Population, retention: Retention) -> None:
    for interval in range(1, 6):
        population.start(1, interval, interval)
        population.end(1, interval, interval)
    population.start(0, 4, 1, donor=(1, 3))
    population.start(1, 6, 6)
    population.end(1, 6, 6)
    retention.apply(population.sweep_id)
    assert (1, 3) in population.kept(), "trial 0 may be repeated from it"
    population.end(0, 4, 1)
    retention.apply(population.sweep_id)
    assert (1, 3) not in population.kept()


def test_checkpoints_of_lost_attempts_go_with_their_interval(population: Population, retention: Retention) -> None:
    population.start(0, 1, 1)
    key = AttemptKey(1, 1)
    lost = Ended(key, TrialState.FAILED, AT, AT)
    population.service.commit(AttemptEnded(lost, population.sweep_id, 0, TrialState.WAITING))
    population.service.commit(
        AttemptPlaced(AttemptKey(1, 2), population.sweep_id, 0, "cpu-0", "", AT, nonce(0, 2)),
    )
    population.end(0, 1, 2)
    for interval in (2, 3, 4):
        population.start(0, interval, interval + 1)
        population.end(0, interval, interval + 1)
    retention.apply(population.sweep_id)
    assert population.kept() == [(0, 3), (0, 4), (0, 5)]


@pytest.mark.parametrize(("keep", "kept"), [("none", []), ("all", [(0, 5), (0, 6), (1, 5), (1, 6)])])
def test_checkpoints_of_finished_trials_go_when_the_sweep_ends(
    service: ServiceRig, retention: Retention, keep: str, kept: list[tuple[int, int]]
) -> None:
    population = Population(service, keep={"checkpoints": keep})
    five_intervals(population)
    for number in (0, 1):
        population.start(number, 6, 6)
        population.finish(number, 6)
    retention.apply(population.sweep_id)
    assert set(LAST) <= set(population.kept()), "other trials may continue them"
    service.end_sweep(population.sweep_id)
    retention.apply(population.sweep_id)
    assert population.kept() == kept
    with service.database.read() as connection:
        left = interval_checkpoint_retention.sweeps_with_checkpoints(connection)
    assert left == ([] if keep == "none" else [population.sweep_id])


def test_removal_continues_after_a_kill(population: Population, retention: Retention) -> None:
    five_intervals(population)
    with population.service.database.write() as connection:
        interval_checkpoint_retention.mark(connection, population.sweep_id, keeps=False)
    assert population.sweep_id in retention.resume()
    retention.apply(population.sweep_id)
    assert population.kept() == LAST
    with population.service.database.read() as connection:
        assert interval_checkpoint_retention.marked(connection, population.sweep_id) == []


def test_a_replaced_scheduler_removes_nothing(population: Population, retention: Retention) -> None:
    five_intervals(population)
    recorder = DatabaseRecorder(population.service.database)
    assert recorder.epoch > population.service.epoch
    with pytest.raises(FencedError):
        retention.apply(population.sweep_id)
    assert len(population.kept()) == 10


def test_a_resumed_sweep_does_not_continue_removed_checkpoints(population: Population, retention: Retention) -> None:
    five_intervals(population)
    for number in (0, 1):
        population.start(number, 6, 6)
        population.finish(number, 6)
    population.service.end_sweep(population.sweep_id)
    retention.apply(population.sweep_id)
    with population.service.database.write() as connection:
        sweeps.set_state(connection, population.sweep_id, SweepState.QUEUED, "resumed", AT)
    (stored,) = DatabaseRecorder(population.service.database).open_sweeps(frozenset())
    assert not any(each.has_checkpoint for trial in stored.trials for each in trial.intervals)
