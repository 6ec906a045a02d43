"""Commands, events and descriptions of slots are the same after encoding and decoding."""

from __future__ import annotations

from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podium.sweep.protocol.scheduler_slot_messages import (
    EVENT_KINDS,
    SUPERSEDED,
    SlotDescription,
    decode_commands,
    decode_events,
    encode_commands,
    encode_event,
    join_events,
)
from podium.sweep.protocol.slot_commands import (
    COMMAND_KINDS,
    PruneAnswer,
    SlotCommand,
    StartAttempt,
    StopAttempt,
    StudyAnswer,
    SuggestAnswer,
)
from podium.sweep.values.attempt_assignment import Assignment, AttemptKey, Limits
from podium.sweep.values.failure_causes import Cause
from podium.sweep.values.slot_events import (
    DeviceReleased,
    Ended,
    Event,
    Logged,
    Reported,
    Saved,
    Started,
    StopRequested,
    StudyRequested,
    SuggestRequested,
)

_FINITE = st.floats(allow_nan=False, allow_infinity=False)
_EVENTS = st.one_of(
    st.builds(Started, at=_FINITE, import_s=_FINITE, imports=st.just({"pandas": 0.5})),
    st.builds(Reported, value=_FINITE, at=_FINITE),
    st.builds(Logged, values=st.dictionaries(st.text(), _FINITE), at=_FINITE),
    st.builds(Saved),
    st.builds(SuggestRequested, distribution=st.just({"min": 0.0, "max": 1.0}), value=st.none() | _FINITE | st.text()),
    st.builds(StudyRequested),
    st.builds(StopRequested),
    st.builds(DeviceReleased, at=_FINITE),
    st.builds(
        Ended,
        started_at=_FINITE,
        ended_at=_FINITE,
        value=st.none() | _FINITE,
        values=st.none(),
        constraints=st.just({"size": 1.0}),
        user_attrs=st.just({"note": [1, None]}),
    ),
)
_KEYS = st.builds(AttemptKey)
ASSIGNMENT = Assignment(1, 2, 0, 3, {"x": 0.5}, 7, "score", {"function": "a:b"}, {}, "/d", "/c", limits=Limits(1.0))
COMMANDS: list[SlotCommand] = [
    StartAttempt(ASSIGNMENT),
    StopAttempt(ASSIGNMENT.key, Cause.CANCELLED),
    PruneAnswer(ASSIGNMENT.key, 3, True),
    SuggestAnswer(ASSIGNMENT.key, "x", None, "no value"),
    StudyAnswer(ASSIGNMENT.key, 1, {"trials": []}),
]


@given(st.lists(_EVENTS, max_size=3))
def test_events_are_unchanged_after_round_trip(events: list[Event]) -> None:
    numbered = tuple(enumerate(events, start=1))
    assert decode_events(join_events(encode_event(number, event) for number, event in numbered)) == numbered


def test_commands_are_unchanged_after_round_trip() -> None:
    assert decode_commands(encode_commands(COMMANDS)) == COMMANDS


def test_every_command_and_event_has_a_kind() -> None:
    assert {type(command) for command in COMMANDS} == set(COMMAND_KINDS.values())
    assert set(EVENT_KINDS.values()) == set(get_args(Event))


def test_superseded_call_has_no_events() -> None:
    assert decode_events(SUPERSEDED) is None
    assert decode_events(join_events([])) == ()


@given(
    st.builds(
        SlotDescription,
        running=st.none() | _KEYS,
        sending=st.none() | _KEYS,
        events=st.lists(st.tuples(st.integers(), _EVENTS)).map(tuple),
    )
)
def test_description_is_unchanged_after_round_trip(description: SlotDescription) -> None:
    assert SlotDescription.from_json(description.to_json()) == description


@pytest.mark.parametrize(
    "commands",
    [b"3", b"[3]", b'[{"kind": "stop"}]', b'[{"kind": "stop_attempt", "key": [1], "cause": "cancelled"}]',
     b'[{"kind": "stop_attempt", "key": [1, 1], "cause": "boredom"}]', b'[{"kind": "stop_attempt", "key": [1, 1]}]'],
)  # fmt: skip
def test_invalid_command_is_rejected(commands: bytes) -> None:
    with pytest.raises((TypeError, ValueError)):
        decode_commands(commands)
