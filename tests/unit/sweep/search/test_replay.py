"""A complete sweep, run by the scheduler with restarts, can be replayed from its stored trials."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from podium.sweep.lifecycle.stored_sweeps import StoredSweep
from podium.sweep.scheduling.past_trials_for_search import past_trials
from podium.sweep.search.sweep_search import TRIALS_TOLD, Search
from podium.sweep.values.failure_causes import Cause
from podium.sweep.values.search_messages import PastTrial
from podium.sweep.values.states import TERMINAL_TRIAL_STATES, SweepState, TrialState
from tests.memory import MemoryRecorder
from tests.rig import Rig
from tests.specs import spec

PARAMETERS: dict[str, Any] = {
    "x": {"min": 0.0, "max": 1.0},
    "w": {"min": 1, "max": 64, "log": True},
    "o": {"values": ["a", "b"]},
    "m": {"min": 0.0, "max": 0.9, "when": {"o": "b"}},
}


class Ends:
    """The numbers of the ended trials of the sweep, in the order in which they ended."""

    def __init__(self, recorder: MemoryRecorder) -> None:
        self._recorder = recorder
        self.numbers: list[int] = []

    def update(self) -> None:
        for trial in self._recorder.of(1):
            if trial.state in TERMINAL_TRIAL_STATES and trial.number not in self.numbers:
                self.numbers.append(trial.number)


@pytest.mark.parametrize("method", ["tpe", "random", "qmc", "nsga2", "cmaes"])
def test_sweep_is_replayed_from_stored_trials(method: str) -> None:
    changes: dict[str, Any] = {"method": method, "parameters": PARAMETERS, "seed": 11, "run_cap": 40}
    rig = Rig(slots=3)
    rig.submit(**changes)
    ends = Ends(rig.recorder)
    turn = 0
    while rig.pool.busy():
        device = rig.pool.busy()[turn % len(rig.pool.busy())]
        running = rig.pool[device].running
        assert running is not None
        if turn == 5:
            rig.pool.fail(device, Cause.USER_ERROR)
        else:
            rig.pool.finish(device, float(running.params["x"] or 0) + turn % 3)
        rig.settle()
        ends.update()
        if turn in (9, 25):
            rig.restart()
        turn += 1
    stored = tuple(trial.stored(spec(**changes)) for trial in rig.recorder.of(1))
    written = past_trials(StoredSweep(1, SweepState.FINISHED, spec(**changes).to_json(), 0.0, stored))
    assert sum(trial.state is TrialState.FINISHED for trial in written) == 40
    for trial in written:
        assert replayed(spec(**changes), written, ends.numbers, trial) == trial.params


def replayed(searched: Any, written: list[PastTrial], ends: list[int], trial: PastTrial) -> Any:
    """The proposal of a search with the knowledge that the sweep's search had for this trial."""
    over = set(ends[: trial.attributes[TRIALS_TOLD]])
    known = [
        each if each.number in over else replace(each, state=TrialState.RUNNING, value=None, values=None, reports={})
        for each in written
        if each.number < trial.number
    ]
    planned = Search(searched, known).ask()
    return None if planned is None else planned.params
