"""The exchange between scheduler and slot: commands in one direction, numbered events in the other; scheduler and slot.

One call, `Slot.exchange`, carries a JSON array of commands, and returns a JSON array of `[number, event]` pairs, or
null when a newer call or another session has superseded it. `Slot.open` returns a `SlotDescription`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from podium.sweep.protocol.message_codec import Codec, key_from_json, key_to_json
from podium.sweep.protocol.slot_commands import COMMAND_KINDS, SlotCommand
from podium.sweep.values.attempt_assignment import AttemptKey
from podium.sweep.values.slot_events import (
    DeviceReleased,
    Ended,
    Event,
    Logged,
    RankIdle,
    Reported,
    Sampled,
    Saved,
    Started,
    StopRequested,
    StoreOpened,
    StudyRequested,
    SuggestRequested,
)

EVENT_KINDS: dict[str, type[Event]] = {
    "started": Started,
    "reported": Reported,
    "logged": Logged,
    "sampled": Sampled,
    "saved": Saved,
    "suggest_requested": SuggestRequested,
    "study_requested": StudyRequested,
    "stop_requested": StopRequested,
    "store_opened": StoreOpened,
    "rank_idle": RankIdle,
    "device_released": DeviceReleased,
    "ended": Ended,
}
SUPERSEDED = b"null"
_KEYS = ("running", "sending")  # the fields of a description that are keys of attempts
NumberedEvents = tuple[tuple[int, Event], ...]
_COMMANDS: Codec[SlotCommand] = Codec(COMMAND_KINDS)
_EVENTS: Codec[Event] = Codec(EVENT_KINDS)


@dataclass(frozen=True, slots=True)
class SlotDescription:
    """The description that a slot returns to a scheduler that opens a session."""

    name: str  # also the id of its device
    session: int
    pid: int
    visible: str  # CUDA_VISIBLE_DEVICES of its processes
    uuid: str | None  # of its GPU
    running: AttemptKey | None  # the attempt that holds the device
    events: NumberedEvents  # not acknowledged yet
    sending: AttemptKey | None = None  # the attempt that has left the device, and whose files are on their way
    kind: str = "cpu"  # or "gpu"
    position: int = 0  # of the device on its node
    node: str = ""
    threads: int = 1  # of a trial, if its sweep sets no number
    address: str = ""  # of its machine
    slots: int = 1  # of its device
    socket: str = ""  # where it takes calls without Ray; "" if it does not
    folders: tuple[tuple[AttemptKey, str], ...] = ()  # the names of the folders of its last attempts

    def to_json(self) -> bytes:
        """The description as bytes of JSON."""
        plain = {name: getattr(self, name) for name in self.__slots__}
        for name in _KEYS:
            plain[name] = None if plain[name] is None else key_to_json(plain[name])
        plain["folders"] = [[key_to_json(key), folder] for key, folder in self.folders]
        plain["events"] = [[number, _EVENTS.to_json(event)] for number, event in self.events]
        return json.dumps(plain).encode()

    @classmethod
    def from_json(cls, content: bytes) -> SlotDescription:
        """The inverse of `to_json`."""
        values = json.loads(content)
        for name in _KEYS:
            values[name] = None if values[name] is None else key_from_json(values[name])
        values["folders"] = tuple((key_from_json(key), folder) for key, folder in values["folders"])
        return cls(**{**values, "events": _numbered(values["events"])})


def encode_commands(commands: Sequence[SlotCommand]) -> bytes:
    """Commands as a JSON array."""
    return json.dumps([_COMMANDS.to_json(command) for command in commands]).encode()


def decode_commands(content: bytes) -> list[SlotCommand]:
    """The inverse of `encode_commands`."""
    return [_COMMANDS.from_json(values) for values in json.loads(content)]


def event_to_json(event: Event) -> dict[str, Any]:
    """An event as a JSON object."""
    return _EVENTS.to_json(event)


def event_from_json(values: Any) -> Event:
    """The inverse of `event_to_json`. Raises `ValueError`."""
    return _EVENTS.from_json(values)


def encode_event(number: int, event: Event) -> bytes:
    """One numbered event as JSON."""
    return json.dumps([number, _EVENTS.to_json(event)]).encode()


def join_events(encoded: Iterable[bytes]) -> bytes:
    """The result of a call that returns these encoded events."""
    return b"[" + b",".join(encoded) + b"]"


def decode_events(content: bytes) -> NumberedEvents | None:
    """The events that a call returned; None if the call was superseded."""
    values = json.loads(content)
    return None if values is None else _numbered(values)


def _numbered(pairs: Sequence[Any]) -> NumberedEvents:
    return tuple((number, _EVENTS.from_json(event)) for number, event in pairs)
