"""Constraints and user attributes in the slot: checked again, since user code can write to the socket itself."""

from __future__ import annotations

import json
import socket
from typing import Any, cast

import pytest

from podium.sweep.protocol.trial_messages import AttrsReported, parse_from_trial
from podium.sweep.slots.attempt_log import LogPipe
from podium.sweep.slots.running_attempt import RunningAttempt
from podium.sweep.values.attempt_assignment import Assignment, AttemptKey
from podium.sweep.values.constraints_and_user_attributes import MAX_USER_ATTRS_BYTES
from podium.sweep.values.errors import BadReportError

ASSIGNMENT = Assignment(1, 1, 0, 1, {}, 0, "score", {}, {}, "/nowhere", "/nowhere")


@pytest.fixture
def running() -> RunningAttempt:
    return RunningAttempt(ASSIGNMENT, cast(socket.socket, None), cast(LogPipe, None), None)


def test_attributes_are_collected_until_the_end(running: RunningAttempt) -> None:
    constraints = AttrsReported({"size": 1.0}), AttrsReported({"size": -1.0, "age": 2.0})
    for reported in (*constraints, AttrsReported(user_attrs={"note": [1]})):
        running.add_attrs(reported)
    assert running.attrs.constraints == {"size": -1.0, "age": 2.0}
    assert running.attrs.user_attrs == {"note": [1]}


@pytest.mark.parametrize(
    "message",
    [
        {"constraints": {"size": "large"}},
        {"constraints": {"size": None}},
        {"constraints": {"size": float("nan")}},
        {"constraints": {str(n): 1.0 for n in range(101)}},
        {"constraints": {"": 1.0}},
        {"user_attrs": {"note": float("inf")}},
        {"user_attrs": {"note": "\ud800"}},
        {"user_attrs": {"a\0": 1}},
        {"user_attrs": {"note": "x" * MAX_USER_ATTRS_BYTES}},
    ],
)
def test_attributes_rejected_by_the_trial_handle_are_rejected(running: RunningAttempt, message: dict[str, Any]) -> None:
    line = json.dumps({"kind": "attrs_reported", **message}).encode()
    reported = parse_from_trial(line, AttemptKey(1, 1))
    assert isinstance(reported, AttrsReported)
    with pytest.raises(BadReportError):
        running.add_attrs(reported)
