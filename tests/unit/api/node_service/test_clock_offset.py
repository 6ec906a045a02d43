"""A node whose clock is wrong: the offset is measured with each report, and the times of events are shifted by it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from podium.db.access.tokens import Role
from podium.sweep.file_store.https_store import HeadFileStore
from podium.sweep.node_agent.attempt_leftovers_report import Left
from podium.sweep.node_agent.node_status_reporter import NodeStatusReporter
from podium.sweep.runtime.joined_node_settings import NodeSettings
from podium.sweep.values.attempt_assignment import AttemptKey
from podium.sweep.values.slot_events import Ended, shifted
from podium.sweep.values.states import TrialState
from tests.service_rig import ServiceRig


@pytest.fixture
def service(tmp_path: Path) -> Iterator[ServiceRig]:
    made = ServiceRig(tmp_path / "head")
    yield made
    made.close()


@pytest.mark.parametrize("wrong_by_s", [-300.0, 0.0, 300.0])
def test_offset_of_a_wrong_clock_is_measured_and_corrected(
    service: ServiceRig, tmp_path: Path, wrong_by_s: float
) -> None:
    store = HeadFileStore(service.client(Role.NODE, service.node_service()))
    settings = NodeSettings("10.0.0.5:6379", "10.0.0.6", "b", str(tmp_path), str(tmp_path), 1)
    reports = NodeStatusReporter(store, settings, lambda: 0, Left, clock=lambda: time.time() + wrong_by_s)
    assert reports.report() is False
    assert reports.clock_offset_s == pytest.approx(-wrong_by_s, abs=30.0)
    ended = Ended(AttemptKey(1, 1), TrialState.FINISHED, 1000.0 + wrong_by_s, 1002.0 + wrong_by_s)
    corrected = shifted(ended, -wrong_by_s)
    assert isinstance(corrected, Ended)
    assert (corrected.started_at, corrected.ended_at) == (1000.0, 1002.0)
