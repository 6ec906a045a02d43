"""Where the two databases differ without an error: the same statement must give the same result on both."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from sqlalchemy import Connection, Float, cast, func, insert, literal, select, text

from podium.db.schema.database import Database
from podium.db.schema.dialect import like, truncated
from podium.db.schema.tables import artifacts, attempts, sweeps, trial_tags, trials
from podium.db.schema.tables import metrics as metrics_table
from podium.db.stores import metric_summaries, metrics
from podium.db.stores.id_list import id_list
from podium.db.stores.precompiled_sql_statements import DriverStatement, DriverText, RowInsert
from podium.sweep.values.errors import DatabaseError

LARGE = 2**63 - 1
SWEEP = {"id": 1, "name": "s", "state": "running", "spec": "{}", "metric": "loss", "goal": "minimize", "run_cap": 1}
FLOATS = [0.1 + 0.2, 1 / 3, 5e-324, 1.7976931348623157e308, 1e22, 123456789.12345679, 1e-7]


def add_trials(connection: Connection, *values: float | None, first_id: int = 1) -> None:
    """A sweep with trials of these values."""
    connection.execute(insert(sweeps).values(**SWEEP, created_at=1.0))
    for number, value in enumerate(values):
        connection.execute(
            insert(trials).values(
                id=first_id + number,
                sweep_id=1,
                number=number,
                state="finished",
                sampler="s",
                created_at=1.0,
                value=value,
            )
        )


def one(database: Database, expression: Any) -> Any:
    with database.read() as connection:
        return connection.execute(select(expression)).scalar_one()


def test_integers_have_64_bits(database: Database) -> None:
    imported = 10**12
    with database.write() as connection:
        add_trials(connection, 1.0, first_id=imported)
        file = {"trial_id": imported, "name": "model", "attempt": 1, "sha256": "", "size_bytes": LARGE}
        connection.execute(insert(artifacts).values(file))
        metrics.add_rows(connection, [(imported, 1, "loss", LARGE, 0.5, 1.0)])
        assert connection.execute(select(artifacts.c.size_bytes)).scalar_one() == LARGE
        assert metrics.of_trial(connection, imported) == {"loss": [(LARGE, 0.5)]}
        assert (
            connection.execute(select(trials.c.id).where(trials.c.id.in_(id_list([imported])))).scalar_one() == imported
        )
        summary = metric_summaries.of_trial(connection, imported)[0]
        assert (summary.last_step, summary.min_step, summary.max_step) == (LARGE, LARGE, LARGE)


@pytest.mark.parametrize("prints_exactly", [False, metrics.PRINTS_EXACTLY])
def test_numbers_in_json_have_all_digits(database: Database, prints_exactly: bool) -> None:
    with database.write() as connection:
        add_trials(connection, None, *FLOATS)
        values = select(trials.c.value).order_by(trials.c.number).subquery()
        array = func.json_group_array(metrics.exact_json(values.c.value, prints_exactly))
        found: str = connection.execute(select(array)).scalar_one()
    assert json.loads(found) == [None, *FLOATS]


@pytest.mark.parametrize(
    ("number", "expected"), [(2.5, 2), (2.99, 2), (3.5, 3), (-2.5, -2), (-0.9, 0), (1e12 + 0.7, 10**12)]
)
def test_truncated_numbers(database: Database, number: float, expected: int) -> None:
    assert one(database, truncated(literal(number))) == expected


def test_division_of_integers_truncates(database: Database) -> None:
    with database.read() as connection:
        found = connection.execute(text("SELECT 7 / 2, -7 / 2, :seven / :two"), {"seven": 7, "two": 2}).one()
    assert tuple(found) == (3, -3, 3)


PATTERNS = [
    ("ResNet", "resnet", True),
    ("resnet50", "RES%", True),
    ("a_b", "A\\_B", True),
    ("axb", "a\\_b", False),
    ("É", "é", False),
]


@pytest.mark.parametrize(("value", "pattern", "matches"), PATTERNS)
def test_patterns_ignore_the_case_of_ascii_letters(database: Database, value: str, pattern: str, matches: bool) -> None:
    assert bool(one(database, like(literal(value), pattern))) is matches


def test_text_is_ordered_by_code_points(database: Database) -> None:
    tags = ["b", "B", "a", "_", "Z", "é", "1", "\U0001f3c5", "zz", ""]
    with database.write() as connection:
        add_trials(connection, 1.0)
        connection.execute(insert(trial_tags), [{"trial_id": 1, "tag": tag} for tag in tags])
        assert list(connection.execute(select(trial_tags.c.tag).order_by(trial_tags.c.tag)).scalars()) == sorted(tags)
        above = select(trial_tags.c.tag).where(trial_tags.c.tag > "Z").order_by(trial_tags.c.tag)
        assert list(connection.execute(above).scalars()) == sorted(tag for tag in tags if tag > "Z")
        assert connection.execute(select(func.max(trial_tags.c.tag))).scalar_one() == max(tags)


@pytest.mark.parametrize("way", ["statement", "driver", "rows"])
def test_floats_keep_all_digits(database: Database, way: str) -> None:
    names = ("trial_id", "name", "step", "value", "attempt", "at")
    table = metrics_table
    rows = [(1, "loss", step, value, 1, 1.0) for step, value in enumerate(FLOATS)]
    named = [dict(zip(names, row, strict=True)) for row in rows]
    with database.write() as connection:
        add_trials(connection, 1.0)
        if way == "statement":
            connection.execute(insert(table), named)
        elif way == "driver":
            DriverStatement(insert(table), names).execute_many(connection, named)
        else:
            RowInsert(table, names).execute(connection, rows)
        stored = connection.execute(select(table.c.value).order_by(table.c.step)).scalars().all()
        _, points = metrics.of_trials(connection, [1], "loss", max_points=100)[1]
        as_json = [value for _, value in points]
    assert list(map(repr, stored)) == list(map(repr, FLOATS))
    assert as_json == FLOATS


def test_infinite_values_are_stored_and_nan_is_null(database: Database) -> None:
    with database.write() as connection:
        add_trials(connection, math.inf, -math.inf, math.nan)
        found = connection.execute(select(trials.c.value).order_by(trials.c.number)).scalars().all()
        assert found == [math.inf, -math.inf, None]
        statement = DriverText("UPDATE trials SET value = ? WHERE id = ?")
        statement.execute(connection, (math.nan, 1))
        assert connection.execute(select(trials.c.value).where(trials.c.id == 1)).scalar_one() is None
    add = RowInsert(metrics_table, ("trial_id", "name", "step", "value", "attempt", "at"))
    with pytest.raises(DatabaseError), database.write() as connection:
        add.execute(connection, [(1, "loss", 1, math.nan, 1, 1.0)])


def test_greatest_of_two_is_null_if_one_is_null(database: Database) -> None:
    with database.write() as connection:
        add_trials(connection, 1.5, None)
        found = select(func.max(trials.c.value, 1.0), func.min(trials.c.value, 1.0)).order_by(trials.c.number)
        assert list(map(tuple, connection.execute(found))) == [(1.5, 1.0), (None, None)]
        whole = select(func.max(trials.c.number, 1)).order_by(trials.c.number)
        assert connection.execute(whole).scalars().all() == [1, 1]


def test_booleans_are_read_as_booleans(database: Database) -> None:
    with database.write() as connection:
        connection.execute(insert(sweeps).values(**SWEEP, created_at=1.0, held=True))
        assert connection.execute(select(sweeps.c.held)).scalar_one() is True
        assert connection.execute(select(func.count()).select_from(sweeps).where(~sweeps.c.held)).scalar_one() == 0
        assert connection.execute(text("SELECT count(*) FROM sweeps WHERE held")).scalar_one() == 1


def test_defaults_of_columns(database: Database) -> None:
    with database.write() as connection:
        connection.execute(insert(sweeps).values(**SWEEP, created_at=1.0))
        row = connection.execute(select(sweeps)).mappings().one()
        assert (row["held"], row["terms"], row["reason"], row["priority"]) == (False, "{}", "", 1.0)


def test_sums_and_counts_are_plain_numbers(database: Database) -> None:
    with database.write() as connection:
        add_trials(connection, 1.5, 2.0)
        sums = (func.sum(trials.c.number), func.sum(trials.c.value), func.count(), func.avg(trials.c.value))
        row = connection.execute(select(*sums)).one()
    assert [type(value) for value in row] == [int, float, int, float]
    assert tuple(row) == (1, 3.5, 2, 1.75)


def test_nul_in_text_does_not_lose_the_rest(database: Database) -> None:
    """SQLite stores it, PostgreSQL cannot: there it becomes the symbol for it."""
    with database.write() as connection:
        add_trials(connection, 1.0)
        values = {"trial_id": 1, "number": 1, "device_id": "cpu-0", "started_at": 1.0, "log_tail": "before\0after"}
        connection.execute(insert(attempts).values(values))
        found = connection.execute(select(attempts.c.log_tail)).scalar_one()
    assert found.replace("\N{SYMBOL FOR NULL}", "\0") == "before\0after"


def test_parts_of_json(database: Database) -> None:
    document = '{"a": {"b": [1, "z"]}, "f": 1.50, "e": 1e3, "i": 7, "t": true, "n": null, "o": {}}'
    kinds = {"$.a": "object", "$.a.b": "array", "$.f": "real", "$.e": "real", "$.i": "integer", "$.t": "true",
             "$.n": "null", "$.o": "object", "$.a.b[1]": "text", "$.x": None, "$.x.y": None}  # fmt: skip
    with database.read() as connection:
        for path, kind in kinds.items():
            assert connection.execute(select(func.json_type(document, path))).scalar_one() == kind
        values = {"$.a.b[1]": "z", "$.f": 1.5, "$.i": 7, "$.n": None, "$.x": None}
        for path, value in values.items():
            found = connection.execute(select(func.json_extract(document, path))).scalar_one()
            assert found == value or float(found) == value
        assert connection.execute(select(func.json_array_length(document, "$.a.b"))).scalar_one() == 2
        listed = text(
            "SELECT json_group_array(value) FROM (SELECT value FROM json_each('[3, 1, 2]') ORDER BY key) AS t"
        )
        assert connection.execute(listed).scalar_one().replace(" ", "") == "[3,1,2]"


def test_empty_lists(database: Database) -> None:
    with database.write() as connection:
        add_trials(connection, 1.0)
        assert connection.execute(select(trials.c.id).where(trials.c.id.in_(id_list([])))).all() == []
        none = text("SELECT json_group_array(value) FROM (SELECT value FROM trials WHERE id = 7) AS t")
        assert connection.execute(none).scalar_one() == "[]"


def test_casts_to_floats_keep_all_digits(database: Database) -> None:
    assert one(database, cast(literal("0.30000000000000004"), Float)) == 0.1 + 0.2
    with database.read() as connection:
        assert connection.execute(text("SELECT CAST('16777217.25' AS DOUBLE PRECISION)")).scalar_one() == 16777217.25
