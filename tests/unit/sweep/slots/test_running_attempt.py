"""What the slot keeps of an attempt's notes: user code can write to the socket itself, so they are checked again."""

from __future__ import annotations

import json
import socket
from typing import Any, cast

import pytest

from podium.sweep.slots.running_attempt import Running
from podium.sweep.slots.trial_log import LogPipe
from podium.sweep.slots.trial_protocol import Noted, understand
from podium.sweep.values.errors import BadReportError
from podium.sweep.values.trial import Assignment, AttemptKey
from podium.sweep.values.trial_attributes import MAX_USER_ATTRS_BYTES

ASSIGNMENT = Assignment(1, 1, 0, 1, {}, 0, "score", {}, {}, "/nowhere", "/nowhere")


@pytest.fixture
def running() -> Running:
    return Running(ASSIGNMENT, cast(socket.socket, None), cast(LogPipe, None), None)


def test_notes_gather_until_the_end(running: Running) -> None:
    for noted in (Noted({"size": 1.0}), Noted({"size": -1.0, "age": 2.0}), Noted(user_attrs={"note": [1]})):
        running.note(noted)
    assert running.notes.constraints == {"size": -1.0, "age": 2.0}
    assert running.notes.user_attrs == {"note": [1]}


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
def test_what_the_trial_would_never_say_is_refused(running: Running, message: dict[str, Any]) -> None:
    said = understand(AttemptKey(1, 1), json.dumps({"kind": "noted", **message}).encode())
    assert isinstance(said, Noted)
    with pytest.raises(BadReportError):
        running.note(said)
