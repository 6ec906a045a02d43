"""A short campaign of a standby; `make faults FAULTS="--standby"` runs the long one."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from tests.cluster.machines import unavailable_reason
from tests.faults.standby_campaign import KINDS, StandbyPlan, run, table


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_trials_are_counted_once_when_the_leader_fails() -> None:
    if reason := unavailable_reason():
        pytest.skip(reason)
    with tempfile.TemporaryDirectory(prefix="f-") as folder:  # short: paths of sockets are limited
        outcome = run(StandbyPlan(trials=8, kinds=KINDS), Path(folder), print)
    assert not (outcome.lost or outcome.double or outcome.problems), table(outcome)
    assert [each.kind for each in outcome.takeovers] == list(KINDS)
