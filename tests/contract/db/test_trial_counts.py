"""The trials of a sweep by state are counted by triggers, whichever statements write the trials."""

from __future__ import annotations

import random
from typing import Any

import pytest
from sqlalchemy import Connection, delete, func, insert, select, update

from podium.db.schema import dialect
from podium.db.schema.database import Database
from podium.db.schema.tables import sweeps as sweep_table
from podium.db.schema.tables import trial_counts, trials
from podium.db.stores import sweeps
from podium.sweep.values.states import TrialState

SWEEP = {"state": "running", "spec": "{}", "metric": "loss", "goal": "minimize", "run_cap": 9, "created_at": 1.0}


def trial(id: int, sweep_id: int = 1, state: str = "running") -> dict[str, Any]:
    return {"id": id, "sweep_id": sweep_id, "number": id, "state": state, "sampler": "s", "created_at": 1.0}


def counted(connection: Connection) -> dict[int, dict[TrialState, int]]:
    return {sweep_id: sweeps.get(connection, sweep_id).counts for sweep_id in (1, 2)}


@pytest.fixture(autouse=True)
def two_sweeps(database: Database) -> None:
    with database.write() as connection:
        connection.execute(insert(sweep_table), [{"id": id_, "name": f"s{id_}", **SWEEP} for id_ in (1, 2)])


def test_new_trials_are_counted(database: Database) -> None:
    with database.write() as connection:
        connection.execute(insert(trials), [trial(1), trial(2), trial(3, state="waiting"), trial(4, sweep_id=2)])
        assert counted(connection) == {
            1: {TrialState.RUNNING: 2, TrialState.WAITING: 1},
            2: {TrialState.RUNNING: 1},
        }


def test_states_without_trials_are_left_out(database: Database) -> None:
    with database.write() as connection:
        connection.execute(insert(trials), [trial(1), trial(2)])
        connection.execute(update(trials).values(state="finished"))
        assert counted(connection) == {1: {TrialState.FINISHED: 2}, 2: {}}


def test_other_columns_change_no_count(database: Database) -> None:
    with database.write() as connection:
        connection.execute(insert(trials), [trial(1), trial(2)])
        connection.execute(update(trials).values(value=0.5, state="running"))
        assert counted(connection) == {1: {TrialState.RUNNING: 2}, 2: {}}


def test_trial_that_exists_is_not_counted_again(database: Database) -> None:
    with database.write() as connection:
        connection.execute(insert(trials), [trial(1)])
        connection.execute(dialect.insert(trials).values([trial(1), trial(2)]).on_conflict_do_nothing())
        assert counted(connection) == {1: {TrialState.RUNNING: 2}, 2: {}}


def test_rolled_back_transaction_counts_nothing(database: Database) -> None:
    with database.write() as connection:
        connection.execute(insert(trials), [trial(1)])
    with pytest.raises(ZeroDivisionError), database.write() as connection:
        connection.execute(insert(trials), [trial(2)])
        connection.execute(update(trials).values(state="failed"))
        raise ZeroDivisionError
    with database.read() as connection:
        assert counted(connection) == {1: {TrialState.RUNNING: 1}, 2: {}}


@pytest.mark.parametrize("seed", range(5))
def test_counts_equal_those_of_the_rows(database: Database, seed: int) -> None:
    choose = random.Random(seed)
    states = [state.value for state in TrialState]
    rows = [trial(id_, choose.choice((1, 2)), choose.choice(states)) for id_ in range(1, 60)]
    with database.write() as connection:
        connection.execute(insert(trials), rows)
        for _ in range(20):
            some = trials.c.id.in_(choose.sample(range(1, 60), choose.randrange(12)))
            if choose.random() < 0.2:
                connection.execute(delete(trials).where(some))
            else:
                values = {"state": choose.choice(states)} | ({"sweep_id": 2} if choose.random() < 0.3 else {})
                connection.execute(update(trials).where(some).values(values))
        by_state = select(trials.c.sweep_id, trials.c.state, func.count()).group_by(trials.c.sweep_id, trials.c.state)
        stored = select(trial_counts).where(trial_counts.c.count != 0)
        assert sorted(map(tuple, connection.execute(by_state))) == sorted(map(tuple, connection.execute(stored)))
