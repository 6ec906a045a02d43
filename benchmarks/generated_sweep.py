"""Writes a sweep with any number of trials directly to a database, for benchmarks of reads."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, insert

from podium.db.schema import tables
from podium.db.schema.database import Database
from podium.db.schema.tables import attempts, trial_params, trials
from podium.db.stores import metric_summaries, metrics, parameter_columns, sweeps
from podium.sweep.spec.sweep_spec import parse_spec

CURVE_POINTS = 10
METRIC = "val_accuracy"
_AT = 1_780_000_000.0
_BATCH = 5_000
PARAMETERS: dict[str, Any] = {
    "lr": {"min": 1e-5, "max": 1e-1, "log": True},
    "weight_decay": {"min": 1e-6, "max": 1e-2, "log": True},
    "dropout": {"min": 0.0, "max": 0.6},
    "momentum": {"min": 0.5, "max": 0.99},
    "hidden": {"min": 16, "max": 512},
    "layers": {"min": 1, "max": 6},
    "optimizer": {"values": ["adam", "adamw", "sgd"]},
    "activation": {"values": ["relu", "gelu", "tanh"]},
}
_IN_COLUMNS = parameter_columns.names_in(json.dumps({"parameters": PARAMETERS}))


def fill(database: Database, count: int, *, name: str = "many") -> int:
    """A sweep of `count` trials over eight parameters, each with a curve of ten points; returns its id."""
    spec = parse_spec(
        {
            "name": name,
            "method": "random",
            "metric": {"name": METRIC, "goal": "maximize"},
            "parameters": PARAMETERS,
            "run_cap": count,
            "program": {"function": "train:objective"},
        }
    )
    with database.write() as connection:
        sweep_id = sweeps.accept(connection, spec, _AT)[0]
        connection.execute(
            tables.sweeps.update()
            .where(tables.sweeps.c.id == sweep_id)
            .values(state="finished", reason="", started_at=_AT, ended_at=_AT + count)
        )
    for first in range(0, count, _BATCH):
        with database.write() as connection:
            _write(connection, sweep_id, range(first, min(first + _BATCH, count)))
    return sweep_id


def params_of(number: int) -> dict[str, Any]:
    """The parameters of a trial: the same for each benchmark."""
    dice = random.Random(number)
    return {
        "lr": 10 ** dice.uniform(-5, -1),
        "weight_decay": 10 ** dice.uniform(-6, -2),
        "dropout": dice.uniform(0, 0.6),
        "momentum": dice.uniform(0.5, 0.99),
        "hidden": dice.randint(16, 512),
        "layers": dice.randint(1, 6),
        "optimizer": dice.choice(["adam", "adamw", "sgd"]),
        "activation": dice.choice(["relu", "gelu", "tanh"]),
    }


def value_of(params: dict[str, Any]) -> float:
    """A made-up accuracy, best near lr 0.003 and dropout 0.2."""
    off = (math.log10(params["lr"]) + 2.5) ** 2 / 8 + (params["dropout"] - 0.2) ** 2
    return float(0.97 * math.exp(-off) - 0.02 * abs(params["layers"] - 3))


def curve_of(params: dict[str, Any], step: int) -> float:
    """What the trial reported at a step, from 1 on."""
    return value_of(params) * (1 - math.exp(-step / 3))


def _write(connection: Connection, sweep_id: int, numbers: range) -> None:
    chosen = {number: params_of(number) for number in numbers}
    connection.execute(insert(trials), [_trial(sweep_id, number, params) for number, params in chosen.items()])
    connection.execute(insert(attempts), [_attempt(sweep_id, number) for number in numbers])
    connection.execute(
        insert(trial_params),
        [
            {
                "trial_id": _id(sweep_id, number),
                "name": name,
                "number": float(value) if isinstance(value, int | float) else None,
                "value": json.dumps(value),
            }
            for number, params in chosen.items()
            for name, value in params.items()
        ],
    )
    metrics.add_rows(
        connection,
        [
            (_id(sweep_id, number), 1, METRIC, step, curve_of(params, step), _AT + number + step / CURVE_POINTS)
            for number, params in chosen.items()
            for step in range(1, CURVE_POINTS + 1)
        ],
    )


def fill_summaries(database: Database, sweep_id: int, count: int, names: Sequence[str]) -> None:
    """Give each trial of a sweep summaries of these metrics, without points."""
    for first in range(0, count, _BATCH // 50):
        dice = random.Random(first)
        rows = [
            (_id(sweep_id, number), 1, name, 9, dice.random(), _AT)
            for number in range(first, min(first + _BATCH // 50, count))
            for name in names
        ]
        with database.write(durable=False) as connection:
            metric_summaries.add(connection, rows)


def _id(sweep_id: int, number: int) -> int:
    return sweep_id * 1_000_000 + number


def state_of(number: int) -> str:
    """Of a hundred trials 80 finished, 18 were pruned, 2 failed."""
    return "failed" if number % 50 == 49 else "pruned" if number % 5 == 4 else "finished"


def _trial(sweep_id: int, number: int, params: dict[str, Any]) -> dict[str, Any]:
    state = state_of(number)
    return {
        "id": _id(sweep_id, number),
        "sweep_id": sweep_id,
        "number": number,
        "state": state,
        "value": value_of(params) if state == "finished" else None,
        "attempt": 1,
        "sampler": "random",
        "created_at": _AT,
        "started_at": _AT + number,
        "ended_at": _AT + number + 2 + params["layers"],
        **parameter_columns.values_of(_IN_COLUMNS, params),
    }


def _attempt(sweep_id: int, number: int) -> dict[str, Any]:
    failed = state_of(number) == "failed"
    return {
        "trial_id": _id(sweep_id, number),
        "number": 1,
        "device_id": f"cpu-{number % 4}",
        "node": "here",
        "started_at": _AT + number,
        "ended_at": _AT + number + 2,
        "device_s": 2.0,
        "state": state_of(number),
        "cause": "non_finite" if failed else None,
    }
