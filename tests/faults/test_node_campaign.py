"""A short campaign of several machines; `make faults FAULTS="--nodes 3"` runs the long one."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from tests.cluster.machines import unavailable_reason
from tests.faults.node_campaign import NodePlan, run, table

KINDS = ("slot", "slot relay", "cut 2 s", "agent", "machine", "nodes", "disk full")


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_trials_are_counted_once_when_nodes_fail() -> None:
    if reason := unavailable_reason():
        pytest.skip(reason)
    with tempfile.TemporaryDirectory(prefix="f-") as folder:  # short: paths of sockets are limited
        outcome = run(NodePlan(nodes=2, trials=12, kinds=KINDS), Path(folder), print)
    assert outcome.passed, table(outcome)
    assert [fault.kind for fault in outcome.faults] == list(KINDS)
    assert outcome.verdict.trials > 0 and outcome.losses
