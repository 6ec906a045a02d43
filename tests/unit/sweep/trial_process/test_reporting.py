"""Reports and logs of a trial: once per step, also for logs that are reports."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from podium.sweep.protocol.trial_messages import parse_from_trial
from podium.sweep.trial_process.slot_channel import Channel
from podium.sweep.trial_process.trial_handle import Trial
from podium.sweep.values.attempt_assignment import Assignment
from podium.sweep.values.slot_events import Logged, Reported


class ReportingTrial:
    """A trial that reports `loss`, and the messages that it sends."""

    def __init__(self, folder: Path) -> None:
        assignment = Assignment(
            sweep_id=1, trial_id=1, number=0, attempt=1, params={}, seed=0, metric="loss", program={}, split={},
            directory=str(folder), data_cache=str(folder), objectives=("score",),
        )  # fmt: skip
        ours, self._theirs = socket.socketpair()
        self._key, self._ours = assignment.key, ours
        self.trial = Trial(assignment, Channel(ours), cast(Any, "cpu"))  # no tensor is created

    def messages(self) -> list[tuple[type, int, Any]]:
        self._ours.shutdown(socket.SHUT_WR)
        found: list[tuple[type, int, Any]] = []
        with self._theirs.makefile("rb") as lines:
            for message in [parse_from_trial(line, self._key) for line in lines]:
                assert isinstance(message, Reported | Logged)
                found.append(
                    (type(message), message.step, message.value if isinstance(message, Reported) else message.values)
                )
        return found

    def close(self) -> None:
        self._ours.close()
        self._theirs.close()


@pytest.fixture
def reporting(tmp_path: Path) -> Iterator[ReportingTrial]:
    made = ReportingTrial(tmp_path)
    yield made
    made.close()


def test_log_of_pruning_metric_is_a_report(reporting: ReportingTrial) -> None:
    reporting.trial.log({"loss": 0.5, "score": 0.25}, step=3)
    assert reporting.messages() == [(Reported, 3, 0.5), (Logged, 3, {"score": 0.25})]


def test_value_logged_and_reported_counts_once(reporting: ReportingTrial) -> None:
    reporting.trial.log({"loss": 0.5}, step=0)
    reporting.trial.report(0.5, step=0)
    reporting.trial.report(0.25, step=1)
    reporting.trial.log({"loss": 0.25}, step=1)
    assert reporting.messages() == [(Reported, 0, 0.5), (Reported, 1, 0.25)]


def test_non_finite_log_is_not_a_report(reporting: ReportingTrial) -> None:
    reporting.trial.log({"loss": float("inf"), "score": 0.25}, step=0)
    assert reporting.messages() == [(Logged, 0, {"score": 0.25}), (Logged, 0, {"loss": float("inf")})]
