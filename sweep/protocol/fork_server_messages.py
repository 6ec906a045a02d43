"""The messages between slot and fork server, over a SEQPACKET socket; slot and fork server.

Each request is one packet, with the file descriptors that it passes. Replies are lines.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

from podium.sweep.protocol.message_codec import Codec


@dataclass(frozen=True, slots=True)
class ForkAttempt:
    """Start the process of an attempt; the packet passes the descriptors of its connection and of its log."""


@dataclass(frozen=True, slots=True)
class SignalAttempt:
    """Send a signal to the forked process; no effect if it has exited."""

    number: int


@dataclass(frozen=True, slots=True)
class ForkServerReady:
    """All imports are done."""

    pid: int


@dataclass(frozen=True, slots=True)
class ForkServerFailed:
    """The fork server cannot be used; it exits."""

    message: str


@dataclass(frozen=True, slots=True)
class SpareForked:
    """The process of the next attempt exists, and waits; sent while no attempt runs."""

    pid: int


@dataclass(frozen=True, slots=True)
class AttemptForked:
    """The attempt has a process, forked ahead or now."""

    pid: int
    spare: int | None = None  # the process of the next attempt, which does not belong to this one


@dataclass(frozen=True, slots=True)
class AttemptExited:
    """The process of the attempt has exited, and no process that it started is left."""

    pid: int | None  # None when the fork server exited before it had reported the fork
    exit_code: int  # the exit status, or the negative number of the signal, as `subprocess.Popen.returncode`
    orphans: int  # processes of the attempt that outlived it, and were killed


ForkServerRequest = ForkAttempt | SignalAttempt
ForkServerReply = ForkServerReady | ForkServerFailed | SpareForked | AttemptForked | AttemptExited

_REQUESTS: Codec[ForkServerRequest] = Codec({"fork_attempt": ForkAttempt, "signal_attempt": SignalAttempt})
_REPLIES: Codec[ForkServerReply] = Codec(
    {
        "ready": ForkServerReady,
        "failed": ForkServerFailed,
        "spare_forked": SpareForked,
        "attempt_forked": AttemptForked,
        "attempt_exited": AttemptExited,
    }
)


def encode_request(request: ForkServerRequest) -> bytes:
    """A request as a packet."""
    return json.dumps(_REQUESTS.to_json(request)).encode()


def decode_request(packet: bytes) -> ForkServerRequest:
    """The inverse of `encode_request`."""
    return _REQUESTS.from_json(json.loads(packet))


def encode_reply(reply: ForkServerReply) -> bytes:
    """A reply as a line."""
    return json.dumps(_REPLIES.to_json(reply)).encode() + b"\n"


def decode_reply(line: bytes) -> ForkServerReply:
    """The inverse of `encode_reply`."""
    return _REPLIES.from_json(json.loads(line))
