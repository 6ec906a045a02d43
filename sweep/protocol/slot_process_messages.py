"""The calls of a slot in a process of its own, by the scheduler or through the slot relay of its node; all three.

On the socket pair of relay and slot, and on the socket of a slot on the head, a frame is the length of its body, the
number of a call, and the body. The slot first sends a hello. Then the other side sends calls, in any number at a time,
and the slot answers each with the number of the call. The relay passes bodies on as they are: it reads no call, and the
scheduler unpickles nothing of a slot.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from enum import IntEnum
from typing import NamedTuple

from podium.sweep.values.errors import FencedError, PodiumError

_FRAME = struct.Struct(">II")
_PID = struct.Struct(">I")
_EXCHANGE = struct.Struct(">cQQQ")
_OPEN = struct.Struct(">cQ?dd")
HELLO = 0  # the number of the first frame of a slot


@dataclass(frozen=True, slots=True)
class SlotIdentity:
    """The device of a slot, and where its process finds the rest of its node."""

    name: str  # the id of the device
    kind: str  # "cpu" or "gpu"
    position: int  # of the device on its node
    visible: str  # CUDA_VISIBLE_DEVICES of its attempts
    uuid: str | None  # of its GPU
    node: str  # Ray's id
    address: str  # of its machine
    threads: int  # of a trial, if its sweep sets no number
    slots: int  # of the device
    root: str  # the data directory of this machine
    agent: str = ""  # the socket of the agent of its node; "" on the head
    socket: str = ""  # where it listens for the scheduler; "" where that runs on another machine

    def to_json(self) -> str:
        """The identity as an argument of a process."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> SlotIdentity:
        """The inverse of `to_json`."""
        return cls(**json.loads(text))


class SlotDiedError(PodiumError):
    """The process of a slot has ended, or was replaced by another one."""


class OpenCall(NamedTuple):
    """A call of `Slot.open`."""

    epoch: int
    times_s: tuple[float, ...] = ()  # `poll_s` and `abandoned_s`, or none of them

    def encode(self) -> bytes:
        """The body of the call."""
        poll_s, abandoned_s = self.times_s or (0.0, 0.0)
        return _OPEN.pack(b"o", self.epoch, bool(self.times_s), poll_s, abandoned_s)


class ExchangeCall(NamedTuple):
    """A call of `Slot.exchange`."""

    session: int
    call: int
    acknowledged: int
    commands: bytes

    def encode(self) -> bytes:
        """The body of the call."""
        return _EXCHANGE.pack(b"x", self.session, self.call, self.acknowledged) + self.commands


def decode_call(body: bytes) -> OpenCall | ExchangeCall:
    """The inverse of `encode`."""
    if body[:1] == b"o":
        _, epoch, has_times, poll_s, abandoned_s = _OPEN.unpack(body)
        return OpenCall(epoch, (poll_s, abandoned_s) if has_times else ())
    _, session, call, acknowledged = _EXCHANGE.unpack_from(body)
    return ExchangeCall(session, call, acknowledged, body[_EXCHANGE.size :])


def epoch_of(body: bytes) -> int | None:
    """The epoch of a call that opens the slot; None for another call."""
    if body[:1] != b"o":
        return None
    epoch: int = _OPEN.unpack(body)[1]
    return epoch


class _Status(IntEnum):
    """The first byte of an answer."""

    RESULT = 0
    FENCED = 1
    DIED = 2
    ERROR = 3


_ERRORS: dict[_Status, type[PodiumError]] = {
    _Status.FENCED: FencedError,
    _Status.DIED: SlotDiedError,
    _Status.ERROR: PodiumError,
}


def encode_result(content: bytes) -> bytes:
    """The body of an answer."""
    return bytes((_Status.RESULT,)) + content


def encode_error(error: Exception) -> bytes:
    """The body of an answer to a call that raised this."""
    status = next((each for each, kind in _ERRORS.items() if isinstance(error, kind)), _Status.ERROR)
    return bytes((status,)) + (str(error) or type(error).__name__).encode()


def result_of(answer: bytes) -> bytes:
    """The result in an answer. Raises `FencedError`, `SlotDiedError`, or `PodiumError` for any other error."""
    status = answer[0]
    if status != _Status.RESULT:
        raise _ERRORS[_Status(status)](answer[1:].decode())
    return answer[1:]


def encode_pid(pid: int) -> bytes:
    """The body of a hello; before a call for the relay, the slot that it is for."""
    return _PID.pack(pid)


def decode_pid(content: bytes) -> tuple[int, bytes]:
    """The pid at the beginning, and the rest."""
    (pid,) = _PID.unpack_from(content)
    return pid, content[_PID.size :]


def frame(number: int, body: bytes) -> bytes:
    """A body as it is sent."""
    return _FRAME.pack(len(body), number) + body


class Frames:
    """The frames of a stream that arrives in pieces."""

    def __init__(self) -> None:
        self._unread = b""

    def feed(self, content: bytes) -> Iterator[tuple[int, bytes]]:
        """The number and the body of each frame that is complete now."""
        unread = self._unread + content if self._unread else content
        at = 0
        while len(unread) - at >= _FRAME.size:
            length, number = _FRAME.unpack_from(unread, at)
            end = at + _FRAME.size + length
            if len(unread) < end:
                break
            yield number, unread[at + _FRAME.size : end]
            at = end
        self._unread = unread[at:]
