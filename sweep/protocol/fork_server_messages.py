"""The messages between slot and fork server, over a SEQPACKET socket; slot and fork server.

Each request is one packet, with the file descriptors that it passes. Replies are lines. They are JSON that is encoded
in C: after each fork, a fork server copies the memory of all objects that it uses.
"""

from __future__ import annotations

import msgspec


class ForkAttempt(msgspec.Struct, frozen=True, tag_field="kind", tag="fork_attempt"):
    """Start the process of an attempt; the packet passes the descriptors of its connection and of its log."""


class SignalAttempt(msgspec.Struct, frozen=True, tag_field="kind", tag="signal_attempt"):
    """Send a signal to the forked process; no effect if it has exited."""

    number: int


class ForkServerReady(msgspec.Struct, frozen=True, tag_field="kind", tag="ready"):
    """All imports are done."""

    pid: int


class ForkServerFailed(msgspec.Struct, frozen=True, tag_field="kind", tag="failed"):
    """The fork server cannot be used; it exits."""

    message: str


class SpareForked(msgspec.Struct, frozen=True, tag_field="kind", tag="spare_forked"):
    """The process of the next attempt exists, and waits; sent while an attempt runs that was reported without it."""

    pid: int


class AttemptForked(msgspec.Struct, frozen=True, tag_field="kind", tag="attempt_forked"):
    """The attempt has a process, forked ahead or now."""

    pid: int
    spare: int | None = None  # the process of the next attempt, which does not belong to this one


class AttemptExited(msgspec.Struct, frozen=True, tag_field="kind", tag="attempt_exited"):
    """The process of the attempt has exited, and no process that it started is left."""

    pid: int | None  # None when the fork server exited before it had reported the fork
    exit_code: int  # the exit status, or the negative number of the signal, as `subprocess.Popen.returncode`
    orphans: int  # processes of the attempt that outlived it, and were killed


ForkServerRequest = ForkAttempt | SignalAttempt
ForkServerReply = ForkServerReady | ForkServerFailed | SpareForked | AttemptForked | AttemptExited

_encoder = msgspec.json.Encoder()
_requests: msgspec.json.Decoder[ForkServerRequest] = msgspec.json.Decoder(ForkServerRequest)
_replies: msgspec.json.Decoder[ForkServerReply] = msgspec.json.Decoder(ForkServerReply)


def encode_request(request: ForkServerRequest) -> bytes:
    """A request as a packet."""
    return _encoder.encode(request)


def decode_request(packet: bytes) -> ForkServerRequest:
    """The inverse of `encode_request`."""
    return _requests.decode(packet)


def encode_reply(reply: ForkServerReply) -> bytes:
    """A reply as a line."""
    return _encoder.encode(reply) + b"\n"


def decode_reply(line: bytes) -> ForkServerReply:
    """The inverse of `encode_reply`."""
    return _replies.decode(line)
