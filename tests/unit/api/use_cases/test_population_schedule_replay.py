"""The sweep that repeats the schedule of a trial: its seed, its schedule, and the keys that it keeps."""

from __future__ import annotations

from typing import Any

from podium.api.use_cases.population_schedule_replay import replay_of
from podium.db.queries.population_schedules import IntervalRow
from podium.db.stores import sweeps
from podium.db.stores.sweeps import SweepRow
from podium.sweep.spec.population import Replay
from podium.sweep.spec.sweep_spec import parse_spec
from podium.sweep.values.trial_seed import trial_seed
from tests.service_rig import ServiceRig

PBT = {"type": "pbt", "population": 4, "interval": {"step": 5}}


def _stored(service: ServiceRig, **changes: Any) -> SweepRow:
    sweep_id = service.sweep(method=PBT, run_cap=4, seed=11, **changes)
    with service.database.read() as connection:
        return sweeps.without_counts(connection, sweep_id)


def _interval(trial: int, number: int, step: int | None, lr: float) -> IntervalRow:
    return IntervalRow(
        trial_id=100 + trial, trial=trial, interval=number, params={"lr": lr}, donor_id=None, donor=None,
        donor_interval=None, attempt=None if step is None else 1, step=step, value=0.5, started_at=1.0, ended_at=None,
    )  # fmt: skip


def test_schedule_has_the_intervals_of_its_trials(service: ServiceRig) -> None:
    sweep = _stored(service)
    document = replay_of(
        sweep, 3, [_interval(2, 1, 5, lr=0.025), _interval(3, 2, 10, lr=0.05), _interval(3, 3, None, lr=0.1)]
    )
    spec = parse_spec(document)
    assert isinstance(spec.population, Replay)
    assert [(entry.until, entry.parameters) for entry in spec.population.schedule] == [
        (5, {"lr": 0.025}), (10, {"lr": 0.05}), (None, {"lr": 0.1}),
    ]  # fmt: skip
    assert spec.run_cap == 1 and spec.enqueue == [{"lr": 0.025}]
    assert spec.metric.name == sweep.metric and spec.seed == 11


def test_seed_is_that_of_the_trial_in_which_the_schedule_began(service: ServiceRig) -> None:
    document = replay_of(_stored(service), 3, [_interval(2, 1, 5, lr=0.025), _interval(3, 2, None, lr=0.05)])
    assert document["method"]["trial_seed"] == trial_seed(11, 2) != trial_seed(11, 3)


def test_name_fits_and_names_the_trial(service: ServiceRig) -> None:
    sweep = _stored(service, name=120 * "n")
    assert replay_of(sweep, 3, [_interval(3, 1, None, lr=0.05)])["name"] == 100 * "n" + ": trial 3"
