"""What a trial process may say, and what is refused since only user code could have said it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from podium.sweep.slots.trial_protocol import Noted, understand
from podium.sweep.values.attempt_outcomes import ChildReport
from podium.sweep.values.trial import AttemptKey, Logged, Reported, Saved, Started, StopAsked, StudyAsked

KEY = AttemptKey(3, 1)
REPORTED: dict[str, Any] = {"kind": "reported", "step": 1, "value": 0.5, "at": 9.0}
LOGGED: dict[str, Any] = {"kind": "logged", "step": 1, "values": {"loss": 0.5}, "at": 9.0}
SAVED: dict[str, Any] = {"kind": "saved", "name": "model.safetensors", "sha256": "ab", "size_bytes": 3}
NOTED: dict[str, Any] = {"kind": "noted", "constraints": {"size": 1.5}, "user_attrs": {"note": [1]}}
WANTED: dict[str, Any] = {"kind": "wanted", "name": "x", "distribution": {"values": [1]}}
STUDY_ASKED: dict[str, Any] = {"kind": "study_asked", "request": 1, "what": "curve", "number": 7}
DEEP: list[Any] = []
for _ in range(600):
    DEEP = [DEEP]
STARTED: dict[str, Any] = {"kind": "started", "pid": 7, "at": 9.0, "visible_devices": "", "torch_device": "cpu"}


def _understood(message: Any) -> Any:
    return understand(KEY, json.dumps(message).encode())


def test_what_is_said_is_understood() -> None:
    assert _understood(REPORTED) == Reported(KEY, 1, 0.5, 9.0)
    assert _understood(LOGGED) == Logged(KEY, 1, {"loss": 0.5}, 9.0)
    assert _understood(SAVED) == Saved(KEY, "model.safetensors", "ab", 3)
    assert _understood(STARTED) == Started(KEY, 7, 9.0, "", "cpu")
    assert _understood(STUDY_ASKED) == StudyAsked(KEY, 1, "curve", 7)
    assert _understood({"kind": "stop_asked"}) == StopAsked(KEY)
    assert _understood(NOTED) == Noted({"size": 1.5}, {"note": [1]})
    assert _understood({"kind": "alive"}) is None
    assert _understood({"kind": "outcome", "state": "pruned"}) == ChildReport("pruned")


@pytest.mark.parametrize(
    "message",
    [
        3,
        [],
        "text",
        None,
        {},
        {"kind": "nothing"},
        {"kind": "outcome"},
        {"kind": "outcome", "state": "failed", "cause": 3},
        STUDY_ASKED | {"what": "secrets"},
        STUDY_ASKED | {"what": ["trials"]},
        STUDY_ASKED | {"number": -1},
        STUDY_ASKED | {"request": "1"},
        {"kind": "stop_asked", "reason": "no"},
        REPORTED | {"step": -1},
        REPORTED | {"step": 2**63},
        REPORTED | {"step": True},
        REPORTED | {"step": 1.0},
        REPORTED | {"value": float("nan")},
        REPORTED | {"value": "high"},
        REPORTED | {"at": None},
        REPORTED | {"more": 1},
        LOGGED | {"values": {"a": float("inf")}},
        LOGGED | {"values": {"\ud800": 1.0}},
        LOGGED | {"values": {"\0": 1.0}},
        LOGGED | {"values": {"n" * 201: 1.0}},
        LOGGED | {"values": {f"n{number}": 1.0 for number in range(1001)}},
        LOGGED | {"values": 3},
        LOGGED | {"values": [1.0]},
        SAVED | {"name": "/etc/passwd"},
        SAVED | {"name": "../../other"},
        SAVED | {"name": 3},
        SAVED | {"size_bytes": -1},
        NOTED | {"constraints": [1]},
        NOTED | {"user_attrs": "x"},
        NOTED | {"more": 1},
        NOTED | {"user_attrs": {"deep": DEEP}},
        WANTED | {"distribution": {"values": DEEP}},
        STARTED | {"pid": "7"},
        STARTED | {"torch_device": "\udfff"},
    ],
)
def test_anything_else_is_refused(message: Any) -> None:
    with pytest.raises(ValueError):
        _understood(message)


@pytest.mark.parametrize("line", [b"", b"nonsense", b"\xff\xfe", b"[" * 100_000])
def test_what_is_no_message_is_refused(line: bytes) -> None:
    with pytest.raises(ValueError):
        understand(KEY, line)
