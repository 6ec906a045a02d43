"""The messages between the process template and its clients, over a Unix socket; template, slots, ensemble host.

A client opens one connection for each process. It sends one request, which passes file descriptors to the process, and
keeps the connection open: the template ends the process when the connection closes, unless the process is detached.
Requests and replies are lines.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from podium.sweep.protocol.message_codec import Codec

# The exit status of a template that can no longer be forked, since the rest of its imports has started a thread or uses
# a GPU. The next one is started with this variable, and does without them.
UNFORKABLE = 4
WITHOUT_REST = "PODIUM_TEMPLATE_WITHOUT_REST"


@dataclass(frozen=True, slots=True)
class ForkProcess:
    """Fork a process that calls `run_forked(arguments, descriptors, owner)` of the module `entry`.

    It exits with the result. `descriptors` are those that the request passes, in order; `owner` is a descriptor that is
    at end-of-file when the owner of the template has exited.
    """

    entry: str
    arguments: tuple[str, ...]
    environment: Mapping[str, str]  # of the process, complete
    detached: bool = False  # keeps running when its client exits


@dataclass(frozen=True, slots=True)
class ProcessForked:
    """The process exists."""

    pid: int


@dataclass(frozen=True, slots=True)
class ProcessExited:
    """The process has exited, and no process that it started is left."""

    exit_code: int  # the exit status, or the negative number of the signal, as `subprocess.Popen.returncode`
    orphans: int  # processes that outlived it, and were killed


@dataclass(frozen=True, slots=True)
class ProcessOutdated:
    """The template has imported more since the fork; a new process would share it."""


TemplateReply = ProcessForked | ProcessExited | ProcessOutdated

_REPLIES: Codec[TemplateReply] = Codec(
    {"process_forked": ProcessForked, "process_exited": ProcessExited, "process_outdated": ProcessOutdated}
)


def encode_request(request: ForkProcess) -> bytes:
    """A request as a line."""
    fields: dict[str, Any] = {
        "entry": request.entry,
        "arguments": list(request.arguments),
        "environment": dict(request.environment),
        "detached": request.detached,
    }
    return json.dumps(fields).encode() + b"\n"


def decode_request(line: bytes) -> ForkProcess:
    """The inverse of `encode_request`. Raises `ValueError` and `KeyError` for other lines."""
    fields = json.loads(line)
    return ForkProcess(fields["entry"], tuple(fields["arguments"]), fields["environment"], fields["detached"])


def encode_reply(reply: TemplateReply) -> bytes:
    """A reply as a line."""
    return json.dumps(_REPLIES.to_json(reply)).encode() + b"\n"


def decode_reply(line: bytes) -> TemplateReply:
    """The inverse of `encode_reply`."""
    return _REPLIES.from_json(json.loads(line))
