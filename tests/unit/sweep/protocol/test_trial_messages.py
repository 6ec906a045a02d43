"""Messages of a trial process: parsed strictly, since user code can write to the connection."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podium.sweep.protocol.message_limits import MAX_LINE_BYTES, MAX_STEP
from podium.sweep.protocol.trial_messages import (
    AttrsReported,
    FinalUsage,
    Heartbeat,
    TrialMessage,
    encode_from_trial,
    parse_from_trial,
)
from podium.sweep.values.attempt_assignment import AttemptKey
from podium.sweep.values.attempt_outcomes import ReducedResult, ReportedOutcome
from podium.sweep.values.errors import BadReportError
from podium.sweep.values.slot_events import (
    Logged,
    Reported,
    Saved,
    Started,
    StopRequested,
    StudyRequested,
    SuggestRequested,
)
from podium.sweep.values.states import TrialState

KEY = AttemptKey(3, 1)
REPORTED: dict[str, Any] = {"kind": "reported", "step": 1, "value": 0.5, "at": 9.0}
LOGGED: dict[str, Any] = {"kind": "logged", "step": 1, "values": {"loss": 0.5}, "at": 9.0}
SAVED: dict[str, Any] = {"kind": "saved", "name": "model.safetensors", "sha256": "ab", "size_bytes": 3}
ATTRS: dict[str, Any] = {"kind": "attrs_reported", "constraints": {"size": 1.5}, "user_attrs": {"note": [1]}}
SUGGEST: dict[str, Any] = {"kind": "suggest_requested", "name": "x", "distribution": {"values": [1]}}
STUDY: dict[str, Any] = {"kind": "study_requested", "request": 1, "what": "curve", "number": 7}
USAGE: dict[str, Any] = {
    **{"kind": "final_usage", "cpu_s": 1.5, "read_bytes": 1, "written_bytes": 2},
    **{"memory_bytes": 3, "highest_bytes": 4, "file_bytes": 5},
}
VALUE: dict[str, Any] = {"kind": "value", "values": [0.5], "reason": ""}
DEEP: list[Any] = []
for _ in range(600):
    DEEP = [DEEP]
STARTED: dict[str, Any] = {"kind": "started", "pid": 7, "at": 9.0, "visible_devices": "", "torch_device": "cpu"}


def _parse(message: Any) -> TrialMessage:
    return parse_from_trial(json.dumps(message).encode(), KEY)


def test_every_message_is_parsed() -> None:
    assert _parse(REPORTED) == Reported(KEY, 1, 0.5, 9.0)
    assert _parse(LOGGED) == Logged(KEY, 1, {"loss": 0.5}, 9.0)
    assert _parse(SAVED) == Saved(KEY, "model.safetensors", "ab", 3)
    assert _parse(STARTED) == Started(KEY, 7, 9.0, "", "cpu")
    assert _parse(SUGGEST) == SuggestRequested(KEY, "x", {"values": [1]})
    assert _parse(STUDY) == StudyRequested(KEY, 1, "curve", 7)
    assert _parse({"kind": "stop_requested"}) == StopRequested(KEY)
    assert _parse(ATTRS) == AttrsReported({"size": 1.5}, {"note": [1]})
    assert _parse(VALUE) == ReducedResult((0.5,))
    assert _parse(USAGE) == FinalUsage(1.5, 1, 2, 3, 4, 5)
    assert _parse({"kind": "heartbeat"}) == Heartbeat()
    assert _parse({"kind": "outcome", "state": "pruned"}) == ReportedOutcome(TrialState.PRUNED)


_FINITE = st.floats(allow_nan=False, allow_infinity=False)
_LOGGED = st.floats(allow_nan=False)  # NaN, which is logged as well, does not equal itself
_STEPS = st.integers(0, MAX_STEP)
_NAMES = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0/"), min_size=1, max_size=20)


@given(
    st.one_of(
        st.builds(Reported, st.just(KEY), _STEPS, _FINITE, _FINITE),
        st.builds(Logged, st.just(KEY), _STEPS, st.dictionaries(_NAMES, _LOGGED), _FINITE),
        st.builds(
            SuggestRequested,
            st.just(KEY),
            _NAMES,
            st.just({"min": 0.0, "max": 1.0}),
            st.booleans(),
            st.none() | _FINITE,
        ),
        st.builds(StudyRequested, st.just(KEY), _STEPS, st.sampled_from(["best", "trials", "curve"]), _STEPS),
        st.builds(AttrsReported, st.dictionaries(_NAMES, _FINITE), st.dictionaries(_NAMES, st.text())),
        st.builds(ReducedResult, st.none() | st.tuples(_FINITE, _FINITE), st.text(), st.booleans()),
        st.builds(ReportedOutcome, st.sampled_from(["finished", "failed"]), _FINITE, message=st.text()),
    )
)
def test_message_is_unchanged_after_round_trip(message: TrialMessage) -> None:
    assert parse_from_trial(encode_from_trial(message), KEY) == message


def test_message_counts_for_the_attempt_of_its_process() -> None:
    line = encode_from_trial(Reported(AttemptKey(99, 1), 1, 0.5, 9.0))
    message = parse_from_trial(line, KEY)
    assert isinstance(message, Reported) and message.key == KEY
    with pytest.raises(ValueError, match="reported: unexpected fields: key"):
        _parse(REPORTED | {"key": [99, 1]})


def test_message_over_the_limit_is_not_sent() -> None:
    with pytest.raises(BadReportError, match=r"at most 1,048,576 bytes"):
        encode_from_trial(AttrsReported(user_attrs={"note": "x" * MAX_LINE_BYTES}))


@pytest.mark.parametrize(
    "message",
    [
        3,
        [],
        "text",
        None,
        {},
        {"kind": "nothing"},
        {"kind": ["reported"]},
        {"kind": "ended"},
        {"kind": "sampled", "samples": [], "rank": 0, "memory_limit_bytes": 1, "gpu_memory_limit_bytes": None},
        USAGE | {"cpu_s": float("inf")},
        USAGE | {"read_bytes": -1},
        USAGE | {"highest_bytes": 1.5},
        USAGE | {"highest_bytes": 2**62},
        USAGE | {"cpu_s": 1.7e308},
        USAGE | {"cpu_s": -1.0},
        {"kind": "outcome"},
        {"kind": "outcome", "state": "failed", "cause": 3},
        STUDY | {"what": "secrets"},
        STUDY | {"what": ["trials"]},
        STUDY | {"number": -1},
        STUDY | {"request": "1"},
        {"kind": "stop_requested", "reason": "no"},
        REPORTED | {"step": -1},
        REPORTED | {"step": 2**63},
        REPORTED | {"step": True},
        REPORTED | {"step": 1.0},
        REPORTED | {"value": float("nan")},
        REPORTED | {"value": "high"},
        REPORTED | {"at": None},
        REPORTED | {"more": 1},
        LOGGED | {"values": {"a": "inf"}},
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
        ATTRS | {"constraints": [1]},
        ATTRS | {"user_attrs": "x"},
        ATTRS | {"more": 1},
        ATTRS | {"user_attrs": {"deep": DEEP}},
        SUGGEST | {"distribution": {"values": DEEP}},
        SUGGEST | {"name": ""},
        STARTED | {"pid": "7"},
        STARTED | {"torch_device": "\udfff"},
        STARTED | {"imports": []},
        STARTED | {"imports": {"a b": 1.0}},
        STARTED | {"imports": {"pandas": "x"}},
        VALUE | {"values": ["x"]},
        VALUE | {"reason": 5},
        VALUE | {"constrained": 1},
    ],
)
def test_invalid_message_is_rejected(message: Any) -> None:
    with pytest.raises(ValueError):
        _parse(message)


@pytest.mark.parametrize("line", [b"", b"nonsense", b"\xff\xfe", b"[" * 100_000])
def test_line_that_is_not_json_is_rejected(line: bytes) -> None:
    with pytest.raises(ValueError):
        parse_from_trial(line, KEY)
