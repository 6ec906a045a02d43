"""Columns of parameters: written with the rows of `trial_params` by everything that writes these."""

from __future__ import annotations

import json
from typing import Any

import pytest
from sqlalchemy import select

from podium.db.schema.database import Database
from podium.db.schema.tables import trials
from podium.db.stores import imported_sweep_writer, parameter_columns, sweep_predecessors, sweeps
from podium.db.stores.trial_writer import IMPORTED_FROM
from podium.sweep.lifecycle.database_changes import IntervalStarted, ParamDefined, SweepReleased, TrialPlanned
from podium.sweep.lifecycle.dependent_sweep_release import FixedValues
from podium.sweep.lifecycle.imported_sweep import parse_import
from podium.sweep.scheduling.database_recorder import DatabaseRecorder
from podium.sweep.spec.sweep_spec import spec_from_json
from podium.sweep.values.attempt_assignment import Params
from tests.specs import spec

RANGE = {"min": 0.0, "max": 1.0}


def accept(database: Database, **changes: Any) -> int:
    with database.write() as connection:
        return sweeps.accept(connection, spec(**changes), 10.0)[0]


def planned(trial_id: int, sweep_id: int, params: Params) -> TrialPlanned:
    return TrialPlanned(trial_id, sweep_id, 0, params, "random", {}, 11.0)


def columns(database: Database, trial_id: int) -> dict[str, float | str]:
    """The columns of a trial that have a value."""
    with database.read() as connection:
        statement = select(*(trials.c[name] for name in parameter_columns.NAMES)).where(trials.c.id == trial_id)
        row = connection.execute(statement).mappings().one()
    return {name: value for name, value in row.items() if value is not None}


def test_values_are_in_the_order_of_the_sweep_file_without_constants(database: Database) -> None:
    space = {"fixed": {"value": 3}, "b": RANGE, "kind": {"values": ["x", None, True, 2]}, "a": RANGE}
    sweep_id = accept(database, parameters=space)
    record = DatabaseRecorder(database).commit
    record([planned(1, sweep_id, {"fixed": 3, "b": 0.5, "kind": "x", "a": 1})])
    assert columns(database, 1) == {"param_0_number": 0.5, "param_1_text": '"x"', "param_2_number": 1.0}


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (2, {"param_0_number": 2.0}),
        (True, {"param_0_number": 1.0, "param_0_text": "true"}),
        (None, {"param_0_text": "null"}),
        ("2", {"param_0_text": '"2"'}),
        (10**400, {"param_0_text": str(10**400)}),
    ],
)
def test_number_and_text_of_a_value(value: Any, expected: dict[str, Any]) -> None:
    found = parameter_columns.values_of(("x",), {"x": value})
    assert {name: each for name, each in found.items() if each is not None} == expected
    assert tuple(found) == parameter_columns.NAMES


def test_parameters_beyond_the_sixteenth_and_suggested_ones_have_no_columns(database: Database) -> None:
    names = [f"p{number}" for number in range(18)]
    sweep_id = accept(database, parameters=dict.fromkeys(names, RANGE))
    record = DatabaseRecorder(database).commit
    record([planned(1, sweep_id, {name: number / 32 for number, name in enumerate(names)})])
    record([ParamDefined(1, "width", 8, {"min": 8, "max": 64})])
    assert columns(database, 1) == {f"param_{number}_number": number / 32 for number in range(16)}


def test_new_interval_replaces_the_values(database: Database) -> None:
    sweep_id = accept(database, parameters={"x": RANGE, "y": RANGE})
    record = DatabaseRecorder(database).commit
    record([planned(1, sweep_id, {"x": 0.5, "y": 0.25})])
    record([IntervalStarted(1, sweep_id, 1, {"y": 0.75}, 1, 12.0)])
    assert columns(database, 1) == {"param_1_number": 0.75}


def test_values_that_a_sweep_takes_from_another_one_are_constants(database: Database) -> None:
    record = DatabaseRecorder(database).commit
    accept(database)
    record([planned(1, 1, {"x": 0.5})])
    space = {"x": RANGE, "y": RANGE}
    sweep_id = accept(database, parameters=space, after=[1], fix_from={"sweep": 1, "parameters": ["x"]})
    with database.write() as connection:
        sweep = sweeps.get(connection, sweep_id)
        assert parameter_columns.names_in(sweep.spec_json) == ("x", "y")
        sweep_predecessors.add(connection, sweep_id, spec_from_json(sweep.spec_json))
    record([SweepReleased(sweep_id, FixedValues(1, 1, 0, {"x": 0.5}), 14.0)])
    record([planned(2, sweep_id, {"x": 0.5, "y": 0.25})])
    assert columns(database, 2) == {"param_0_number": 0.25}


def test_imported_trials_have_them(database: Database) -> None:
    study = {
        "name": "study",
        "source": "another tool",
        "metrics": [{"name": "loss", "goal": "minimize"}],
        "parameters": {"kind": {"values": ["a", "b"]}, "lr": RANGE},
        "trials": [{"state": "finished", "params": {"lr": 0.125, "kind": "b"}, "values": [0.5]}],
    }
    prepared = imported_sweep_writer.prepare(parse_import(json.dumps(study).encode()), 10.0)
    with database.write() as connection:
        imported_sweep_writer.accept(connection, prepared, 10.0)
    assert columns(database, IMPORTED_FROM) == {"param_0_text": '"b"', "param_1_number": 0.125}
