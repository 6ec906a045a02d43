"""The messages between a slot and the agent of its node, over a Unix socket; slot and node agent.

A connection carries one request and its reply, each one line. A request is executed to its end, also if its slot closes
the connection.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

from podium.sweep.protocol.message_codec import Codec
from podium.sweep.values.attempt_assignment import Assignment
from podium.sweep.values.failure_causes import Cause


@dataclass(frozen=True, slots=True)
class FetchFiles:
    """Fetch what an attempt needs: code, data, checkpoints; then send its log and its checkpoints to the head."""

    assignment: Assignment


@dataclass(frozen=True, slots=True)
class SendFiles:
    """Send the files of an attempt that has ended to the head."""

    assignment: Assignment
    checkpoints: bool  # whether the next attempt may need them


@dataclass(frozen=True, slots=True)
class RemoveFiles:
    """The end of an attempt is recorded: remove its folder here, and checkpoints of its trial on the head."""

    assignment: Assignment
    checkpoints: bool  # whether the trial no longer needs any


@dataclass(frozen=True, slots=True)
class FilesReady:
    """The request is done."""

    clock_offset_s: float | None = None  # time of the head minus time of this node; None before it is known


@dataclass(frozen=True, slots=True)
class FilesFailed:
    """The request failed."""

    message: str
    cause: Cause


AgentRequest = FetchFiles | SendFiles | RemoveFiles
AgentReply = FilesReady | FilesFailed

_REQUESTS: Codec[AgentRequest] = Codec({"fetch": FetchFiles, "send": SendFiles, "remove": RemoveFiles})
_REPLIES: Codec[AgentReply] = Codec({"ready": FilesReady, "failed": FilesFailed})


def encode_request(request: AgentRequest) -> bytes:
    """A request as a line."""
    return json.dumps(_REQUESTS.to_json(request)).encode() + b"\n"


def decode_request(line: bytes) -> AgentRequest:
    """The inverse of `encode_request`. Raises `ValueError`."""
    return _REQUESTS.from_json(json.loads(line))


def encode_reply(reply: AgentReply) -> bytes:
    """A reply as a line."""
    return json.dumps(_REPLIES.to_json(reply)).encode() + b"\n"


def decode_reply(line: bytes) -> AgentReply:
    """The inverse of `encode_reply`. Raises `ValueError`."""
    return _REPLIES.from_json(json.loads(line))
