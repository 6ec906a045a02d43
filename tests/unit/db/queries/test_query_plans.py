"""Query plans: pages of a large sweep are read in the order of an index, not by sorting all of its trials."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import Connection, event, text

from podium.db.queries import learning_curves, trial_table
from podium.db.queries.trial_filter import filter_condition
from podium.db.queries.trial_table import Window
from podium.db.schema.database import Database
from podium.db.stores import notification_outbox, sweeps
from podium.sweep.lifecycle.database_changes import MetricPoint, TrialPlanned
from podium.sweep.scheduling.database_recorder import DatabaseRecorder
from podium.sweep.values.attempt_assignment import AttemptKey
from tests.specs import spec

pytestmark = pytest.mark.sqlite

BY_VALUE = "USING COVERING INDEX ix_trials_sweep_id_value_number"
BY_NUMBER = "USING COVERING INDEX sqlite_autoindex_trials_1"
BY_RUNNING = "ix_trials_sweep_id_state_value (sweep_id=? AND state=?)"
LAST_START = text("SELECT max(id) FROM events WHERE kind = 'sweep.queued'")
SORTS_ALL = "USE TEMP B-TREE FOR ORDER BY"


def plans(database: Database, read: Callable[[Connection], object]) -> list[str]:
    """The plan of each statement that reads trials by sweep, in order."""
    executed: list[tuple[str, Any]] = []

    def note(_connection: Any, _cursor: Any, statement: str, parameters: Any, _context: Any, _many: bool) -> None:
        executed.append((statement, parameters))

    with database.read() as connection:
        event.listen(connection, "before_cursor_execute", note)
        read(connection)
        event.remove(connection, "before_cursor_execute", note)
        of_trials = [each for each in executed if "trials.sweep_id = ?" in each[0] and "GROUP BY" not in each[0]]
        explained = [
            connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", parameters).all()
            for statement, parameters in of_trials
        ]
    return ["\n".join(row[3] for row in rows) for rows in explained]


@pytest.fixture
def sweep_id(database: Database) -> int:
    with database.write() as connection:
        sweep_id, _ = sweeps.accept(connection, spec(), 10.0)
    recorder = DatabaseRecorder(database)
    recorder.commit([TrialPlanned(1, sweep_id, 0, {"x": 0.1}, "random", {}, 11.0)])
    recorder.commit([MetricPoint(AttemptKey(1, 1), "score", 0, 0.5, 12.0)])
    return sweep_id


@pytest.mark.parametrize("sort", ["best", "-best", "value", "-value"])
@pytest.mark.parametrize("offset", [0, 100])
def test_trials_by_value_are_read_in_index_order(database: Database, sweep_id: int, sort: str, offset: int) -> None:
    window = Window(sort=sort, offset=offset)
    (plan,) = plans(database, lambda connection: trial_table.window(connection, sweep_id, window))
    assert BY_VALUE in plan
    assert SORTS_ALL not in plan.splitlines()


@pytest.mark.parametrize("sort", ["number", "best", "params.x", "-duration_s"])
def test_filtered_trials_are_read_by_number(database: Database, sweep_id: int, sort: str) -> None:
    window = Window(filter="x<0.5 x>0.001", sort=sort)
    (plan,) = plans(database, lambda connection: trial_table.window(connection, sweep_id, window))
    assert "sqlite_autoindex_trials_1 (sweep_id=? AND number>?)" in plan
    assert "trial_params" not in plan


def test_curves_are_found_without_sorting_trials(database: Database, sweep_id: int) -> None:
    def read(connection: Connection) -> None:
        sweep = sweeps.get(connection, sweep_id)
        where = filter_condition(connection, None, sweep)
        learning_curves.curves(connection, sweep, where, None, max_points=100, limit=50)

    found = plans(database, read)
    assert len(found) == 7, "three kinds of trials with any metric, their number, and three kinds with this one"
    running = [found[0], found[4]]
    assert all(BY_RUNNING in plan for plan in running), "of all trials, only those that run are read, and sorted"
    assert [plan for plan in found if SORTS_ALL in plan.splitlines()] == running
    assert BY_NUMBER in found[3]
    assert "SEARCH metric_summaries" in found[3], "one row for each trial, not one for each point"


def test_the_last_start_of_a_sweep_is_read_from_its_index(database: Database, sweep_id: int) -> None:
    with database.read() as connection:
        assert notification_outbox.last_start(connection, sweep_id) == connection.execute(LAST_START).scalar_one()
        statement = str(
            notification_outbox.starts_of(sweep_id).compile(connection, compile_kwargs={"literal_binds": True})
        )
        plan = "\n".join(row[3] for row in connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}"))
    assert plan == "SEARCH events USING INDEX ix_events_starts (sweep_id=?)", "of which only the last entry is read"
