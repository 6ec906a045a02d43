"""Summaries of metrics are always what the points give, whatever repeats, rewinds or is not a number."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import text

from podium.db.integrity import row_checks
from podium.db.schema.database import Database
from podium.db.schema.dialect import is_postgres
from podium.db.stores import metric_summaries, metrics
from podium.db.stores.metric_summaries import MetricSummary
from podium.sweep.lifecycle.database_changes import MetricPoint
from podium.sweep.scheduling.database_recorder import DatabaseRecorder
from podium.sweep.values.attempt_assignment import AttemptKey
from podium.sweep.values.errors import DamagedError
from tests.unit.db.stores.test_stores import FAILED, WAITING, accept, ended, placed, planned, record

NAN = math.nan


def points(values: list[float], name: str = "m", *, attempt: int = 1, first: int = 0) -> list[MetricPoint]:
    return [
        MetricPoint(AttemptKey(1, attempt), name, step, value, 12.0) for step, value in enumerate(values, start=first)
    ]


def started(database: Database) -> None:
    accept(database)
    record(database, planned(), placed(1))


def summary(database: Database, name: str = "m") -> MetricSummary:
    with database.read() as connection:
        (found,) = [each for each in metric_summaries.of_trial(connection, 1) if each.name == name]
        assert metric_summaries.of_trials(connection, [1, 99], [name, "missing"]) == {(1, name): found}
    return found


def breaches(database: Database) -> list[str]:
    with database.read() as connection:
        return [each.wrong for each in row_checks.breaches(connection) if each.invariant == "metrics"]


def test_summary_has_last_lowest_and_highest_value_with_their_first_steps(database: Database) -> None:
    started(database)
    record(database, *points([0.5, 0.1, 0.9]))
    record(database, *points([0.9, 0.1, 0.3], first=3))
    assert summary(database) == MetricSummary("m", 0.3, 5, 0.1, 1, 0.9, 2, 0, None)
    assert breaches(database) == []


def test_points_out_of_order_and_repeated_steps_count_once(database: Database) -> None:
    started(database)
    record(database, *points([0.5], first=7), *points([0.2], first=3))
    record(database, *points([9.0], first=7), *points([0.1], first=1))  # step 7 has a value
    record(database, *points([0.1], first=1))  # sent again after a kill
    assert summary(database) == MetricSummary("m", 0.5, 7, 0.1, 1, 0.5, 7, 0, None)
    assert breaches(database) == []


def test_an_attempt_that_resumes_replaces_later_points_of_the_one_before(database: Database) -> None:
    started(database)
    record(database, *points([0.9, 0.8, 0.1, 5.0]), *points([1.0, NAN, NAN], "other"), *points([2.0] * 9, "rare"))
    record(database, ended(1, FAILED, then=WAITING), placed(2))
    record(database, *points([0.7, 0.6], attempt=2, first=2), *points([3.0], "other", attempt=2, first=2))
    with database.read() as connection:
        assert metrics.of_trial(connection, 1, "m") == {"m": [(0, 0.9), (1, 0.8), (2, 0.7), (3, 0.6)]}
        assert metrics.non_finite_of_trial(connection, 1) == {"other": [(1, "nan")]}
    assert summary(database) == MetricSummary("m", 0.6, 3, 0.6, 3, 0.9, 0, 0, None)
    assert summary(database, "other") == MetricSummary("other", 3.0, 2, 1.0, 0, 3.0, 2, 1, 1)
    assert summary(database, "rare").last_step == 8  # the second attempt has not logged it
    record(database, *points([0.1], attempt=2))  # from scratch after all
    assert breaches(database) == []


def test_non_finite_values_are_counted_and_never_hide_finite_ones(database: Database) -> None:
    started(database)
    record(database, *points([NAN, math.inf]), *points([0.5, NAN, 0.4, NAN], "loss"))
    record(database, *points([NAN, NAN], "loss", first=3))  # step 3 is known
    assert summary(database) == MetricSummary("m", None, None, None, None, None, None, 2, 0)
    assert summary(database, "loss") == MetricSummary("loss", 0.4, 2, 0.4, 2, 0.5, 0, 3, 1)
    record(database, *points([0.3], first=9))
    assert summary(database) == MetricSummary("m", 0.3, 9, 0.3, 9, 0.3, 9, 2, 0)
    with database.read() as connection:
        assert metric_summaries.names_of(connection, 1) == ["loss", "m"]
        assert metric_summaries.last_of(connection, [1], "m") == {1: (9, 0.3)}
    assert breaches(database) == []


VALUES = st.sampled_from([0.0, -1.5, 2.0, 1e300, NAN, math.inf, -math.inf])
POINT = st.tuples(st.sampled_from(["a/b", 'c "d"']), st.integers(1, 3), st.integers(0, 6), VALUES)


@given(st.lists(st.lists(POINT, max_size=6), max_size=6))
@settings(
    max_examples=settings().max_examples // 2,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
def test_doctor_finds_no_difference_after_any_batches(
    database: Database, batches: list[list[tuple[str, int, int, float]]]
) -> None:
    children = ("metric_summaries", "metrics", "non_finite_metrics", "sweep_metrics", "trial_params", "events")
    with database.write() as connection:
        for table in (*children, "trials", "trial_counts", "sweeps"):
            connection.exec_driver_sql(f"DELETE FROM {table}")
        if is_postgres(connection):  # SQLite gives the id of a deleted sweep again
            connection.exec_driver_sql("ALTER SEQUENCE sweeps_id_seq RESTART")
    accept(database)
    recorder = DatabaseRecorder(database)
    recorder.commit([planned()])
    for batch in batches:
        chosen = [MetricPoint(AttemptKey(1, attempt), name, step, value, 1.0) for name, attempt, step, value in batch]
        recorder.commit(chosen)
        recorder.commit([replace(point, at=2.0) for point in chosen])  # sent again
        assert breaches(database) == []


@pytest.mark.parametrize(
    ("statement", "wrong"),
    [
        ("UPDATE metric_summaries SET min_value = 0.25", "min 0.25 instead of 0.1"),
        ("UPDATE metric_summaries SET non_finite = 3", "3 non-finite points in its summary, and 0 are stored"),
        ("DELETE FROM metric_summaries", "its points have no summary"),
        ("DELETE FROM metrics", "instead of none"),
        ("UPDATE metrics SET value = :infinity WHERE step = 0", "a point has the value Inf"),
        ("DELETE FROM sweep_metrics", "the metric is not among those of sweep 1"),
    ],
)
def test_doctor_finds_summaries_that_differ_from_the_points(database: Database, statement: str, wrong: str) -> None:
    started(database)
    record(database, *points([0.5, 0.1]))
    with database.write() as connection:
        connection.execute(text(statement), {"infinity": math.inf} if ":infinity" in statement else {})
    assert any(wrong in found for found in breaches(database)), breaches(database)


@pytest.mark.parametrize("value", [0.5, NAN])
def test_points_of_a_missing_trial_are_refused(database: Database, value: float) -> None:
    started(database)
    with pytest.raises(DamagedError, match="nothing was written"):
        record(database, *points([0.1]), MetricPoint(AttemptKey(99, 1), "m", 0, value, 12.0))
    with database.read() as connection:
        assert connection.execute(text("SELECT count(*) FROM metrics")).scalar_one() == 0


def test_trial_with_points_cannot_be_removed(database: Database) -> None:
    started(database)
    record(database, *points([0.1]))
    with database.write() as connection:
        for table in ("attempts", "trial_params"):
            connection.execute(text(f"DELETE FROM {table} WHERE trial_id = 1"))
    with pytest.raises(DamagedError, match="nothing was written"), database.write() as connection:
        connection.execute(text("DELETE FROM trials WHERE id = 1"))
    with database.write() as connection:
        for table in ("metrics", "metric_summaries", "trials"):
            connection.execute(text(f"DELETE FROM {table} WHERE {'id' if table == 'trials' else 'trial_id'} = 1"))
