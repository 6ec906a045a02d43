"""The sweep that repeats the schedule of a trial of a population, as one trial; api."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from podium.db.queries.population_schedules import IntervalRow
from podium.db.stores.sweeps import SweepRow
from podium.sweep.spec.population import REPLAY, Replay
from podium.sweep.spec.sweep_spec import spec_from_json
from podium.sweep.values.trial_seed import trial_seed

_OF_THE_POPULATION = ("method", "run_cap", "enqueue", "budget", "ensemble", "warm_start")
_MAX_NAME = 100


def replay_of(sweep: SweepRow, number: int, intervals: Sequence[IntervalRow]) -> dict[str, Any]:
    """The document of the sweep: the seed is that of the trial in which the schedule began, so that the same program on
    the same kind of device gives the same result.
    """
    spec = spec_from_json(sweep.spec_json)
    seed = trial_seed(spec.seed, intervals[0].trial)
    if isinstance(spec.population, Replay) and spec.population.trial_seed is not None:
        seed = spec.population.trial_seed
    steps = [{"until": row.step, "parameters": row.params} for row in intervals[:-1]]
    last = {"parameters": intervals[-1].params}
    kept = {key: value for key, value in json.loads(sweep.spec_json).items() if key not in _OF_THE_POPULATION}
    return {
        **kept,
        "name": f"{sweep.name[:_MAX_NAME]}: trial {number}",
        "method": {"type": REPLAY, "schedule": [*steps, last], "trial_seed": seed},
    }
