"""The messages between trial process and slot: one JSON object per line, over a socket; trial process and slot.

User code can write to the socket, too, so the slot validates everything: `parse_from_trial` accepts exactly the fields
of a message, each within its limits. A trial process does not send the key of its attempt: the slot adds it, so that no
process can report for another attempt.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any

from podium.sweep.protocol.message_codec import Codec, DeviceView
from podium.sweep.protocol.message_limits import MAX_IMPORTS, MAX_LINE_BYTES, MAX_METRICS, MAX_NAME, MAX_STEP
from podium.sweep.protocol.scheduler_slot_messages import EVENT_KINDS
from podium.sweep.protocol.slot_commands import ANSWER_KINDS, TrialAnswer
from podium.sweep.values.attempt_assignment import Assignment, AttemptKey
from podium.sweep.values.attempt_outcomes import ReducedResult, ReportedOutcome
from podium.sweep.values.constraints_and_user_attributes import too_deep
from podium.sweep.values.errors import BadReportError
from podium.sweep.values.slot_events import (
    STUDY_QUESTIONS,
    DeviceReleased,
    Ended,
    Event,
    Logged,
    RankIdle,
    Reported,
    Sampled,
    Saved,
    Started,
    StoreOpened,
    StudyRequested,
    SuggestRequested,
)


@dataclass(frozen=True, slots=True)
class AttemptGreeting:
    """The first message of a slot to a new trial process."""

    assignment: Assignment
    device: DeviceView


@dataclass(frozen=True, slots=True)
class AttrsReported:
    """Constraints and user attributes of the trial. The slot adds them to the event that ends the attempt."""

    constraints: dict[str, float] = field(default_factory=dict)
    user_attrs: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """The trial makes progress but has nothing to report."""


@dataclass(frozen=True, slots=True)
class FinalUsage:
    """What a trial process has used when its function has ended, with the children that it has collected."""

    cpu_s: float
    read_bytes: int
    written_bytes: int
    memory_bytes: int  # of the process alone, as `ProcessMemory.now`
    highest_bytes: int  # as `ProcessMemory.highest`
    file_bytes: int  # as `ProcessMemory.files`


TrialMessage = Event | AttrsReported | FinalUsage | ReducedResult | ReportedOutcome | Heartbeat
SlotMessage = AttemptGreeting | TrialAnswer

_MAX_CPU_S = 1e9
_MAX_BYTES = 1 << 50
_OF_SLOTS = (DeviceReleased, Ended, RankIdle, Sampled)  # events that no trial process sends
_FROM_TRIAL: Codec[TrialMessage] = Codec(
    {
        **{kind: cls for kind, cls in EVENT_KINDS.items() if cls not in _OF_SLOTS},
        "attrs_reported": AttrsReported,
        "final_usage": FinalUsage,
        "value": ReducedResult,
        "outcome": ReportedOutcome,
        "heartbeat": Heartbeat,
    },
    omitted=frozenset({"key"}),
)
_TO_TRIAL: Codec[SlotMessage] = Codec({"greeting": AttemptGreeting, **ANSWER_KINDS})


def encode_from_trial(message: TrialMessage) -> bytes:
    """A message of the trial process as a line. Raises `BadReportError` for one over `MAX_LINE_BYTES`."""
    line = json.dumps(_FROM_TRIAL.to_json(message)).encode() + b"\n"
    if len(line) > MAX_LINE_BYTES:
        raise BadReportError(
            f"message of {len(line):,} bytes: one call of report, log or set_user_attr may send at most "
            f"{MAX_LINE_BYTES:,} bytes"
        )
    return line


def parse_from_trial(line: bytes, key: AttemptKey) -> TrialMessage:
    """The message in a line of the process of attempt `key`. Raises `ValueError` for anything else."""
    try:
        message = _FROM_TRIAL.from_json(json.loads(line), key=key)
        check = _CHECKS.get(type(message))
        is_valid = check is None or check(message)
    except (TypeError, AttributeError, RecursionError) as error:
        raise ValueError(f"{type(error).__name__}: {error}") from None
    if not is_valid:
        raise ValueError(f"invalid value in {line[:200]!r}")
    return message


def encode_to_trial(message: SlotMessage) -> bytes:
    """A message of the slot as a line."""
    return json.dumps(_TO_TRIAL.to_json(message)).encode() + b"\n"


def parse_to_trial(line: bytes) -> SlotMessage:
    """The inverse of `encode_to_trial`."""
    return _TO_TRIAL.from_json(json.loads(line))


# The limits of each message. `ReportedOutcome` and `ReducedResult` check themselves, `AttrsReported` is checked where
# it is kept.


def _check_started(message: Started) -> bool:
    return (
        _is_count(message.pid)
        and _is_number(message.at)
        and _is_string(message.visible_devices)
        and _is_string(message.torch_device)
        and _is_number(message.import_s)
        and isinstance(message.imports, dict)
        and len(message.imports) <= MAX_IMPORTS
        and all(_is_module(name) and _is_number(seconds) for name, seconds in message.imports.items())
    )


def _check_reported(message: Reported) -> bool:
    return _is_count(message.step) and _is_number(message.value) and _is_number(message.at)


def _check_logged(message: Logged) -> bool:
    return (
        _is_count(message.step)
        and _is_number(message.at)
        and isinstance(message.values, dict)
        and len(message.values) <= MAX_METRICS
        and all(_is_string(name) and len(name) <= MAX_NAME for name in message.values)
        and all(isinstance(value, float) for value in message.values.values())  # NaN and infinities, too
    )


def _check_saved(message: Saved) -> bool:
    return _is_relative_path(message.name) and _is_string(message.sha256) and _is_count(message.size_bytes)


def _check_suggest(message: SuggestRequested) -> bool:
    return (
        _is_string(message.name)
        and 0 < len(message.name) <= MAX_NAME
        and isinstance(message.drawn, bool)
        and isinstance(message.distribution, dict)
        and not too_deep(message.distribution)
        and _is_scalar(message.value)
    )


def _check_study(message: StudyRequested) -> bool:
    return _is_count(message.request) and _is_count(message.number) and message.what in STUDY_QUESTIONS


def _check_store(message: StoreOpened) -> bool:
    return _is_count(message.port) and 0 < message.port < 1 << 16


def _check_attrs(message: AttrsReported) -> bool:
    return (
        isinstance(message.constraints, dict)
        and isinstance(message.user_attrs, dict)
        and not any(map(too_deep, message.user_attrs.values()))
    )


def _check_final_usage(message: FinalUsage) -> bool:
    sizes = (message.read_bytes, message.written_bytes, message.memory_bytes, message.highest_bytes, message.file_bytes)
    is_time = _is_number(message.cpu_s) and 0 <= message.cpu_s <= _MAX_CPU_S
    return is_time and all(_is_count(size) and size <= _MAX_BYTES for size in sizes)


_CHECKS: dict[type[Any], Callable[[Any], bool]] = {
    Started: _check_started,
    Reported: _check_reported,
    Logged: _check_logged,
    Saved: _check_saved,
    SuggestRequested: _check_suggest,
    StudyRequested: _check_study,
    StoreOpened: _check_store,
    AttrsReported: _check_attrs,
    FinalUsage: _check_final_usage,
}


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MAX_STEP


def _is_number(value: Any) -> bool:
    return isinstance(value, float) and math.isfinite(value)


def _is_string(value: Any) -> bool:
    """A string that every database stores: valid Unicode, without NUL."""
    try:
        return isinstance(value, str) and b"\0" not in value.encode()
    except UnicodeEncodeError:  # a lone surrogate
        return False


def _is_scalar(value: Any) -> bool:
    if isinstance(value, float):
        return math.isfinite(value)
    return value is None or (isinstance(value, int) and abs(value) <= 2**53) or _is_string(value)


def _is_module(name: str) -> bool:
    return len(name) <= MAX_NAME and all(part.isidentifier() for part in name.split("."))


def _is_relative_path(value: Any) -> bool:
    return _is_string(value) and not PurePosixPath(value).is_absolute() and ".." not in PurePosixPath(value).parts
