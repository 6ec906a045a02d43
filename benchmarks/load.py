"""A closed loop of clients with persistent connections: `python -m benchmarks.load`, a process of its own.

Reads one JSON line from stdin and writes one to stdout; `start` and `ask` communicate with it. A second line may end
the load early: at the first response from the given number of members to a request that was sent after a given time.
Each client sends the same prepared bytes, reads the complete response, and sends again. Uses uvloop, plain sockets and
a parser in C, so that the load itself is cheap; its cost is reported. The status of a response is parsed immediately,
the rest afterwards.
"""

from __future__ import annotations

import asyncio
import base64
import json
import re
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import httptools
import numpy as np
import uvloop

TIMEOUT_S = 20.0  # for responses that are pending at the end
NO_ANSWER = 0  # instead of a status: the connection was closed
_AGAIN_S = 0.05
_ANSWERED = re.compile(rb'"answered": ?(\d+)')
_REPOSITORY = Path(__file__).parent.parent


@dataclass(frozen=True, slots=True)
class Answer:
    """One request and its result."""

    asked_s: float  # on the monotonic clock, which all processes of a machine share
    took_ms: float
    status: int
    answered: int  # number of members according to the response; 0 if it has none

    @property
    def heard_s(self) -> float:
        """When the response was complete, on the monotonic clock."""
        return self.asked_s + self.took_ms / 1e3


@dataclass(frozen=True, slots=True)
class LoadResult:
    """All responses in order of arrival, and the cost of the load itself."""

    answers: tuple[Answer, ...]
    seconds: float
    processor_s: float

    @property
    def good(self) -> tuple[Answer, ...]:
        return tuple(answer for answer in self.answers if answer.status == 200)

    @property
    def per_second(self) -> float:
        """Successful responses per second."""
        return len(self.good) / self.seconds

    def took_ms(self, share: float) -> float:
        """The time within which this share of all responses arrived."""
        return quantile_ms(self.answers, share)


def quantile_ms(answers: Sequence[Answer], share: float) -> float:
    """The time within which this share of some responses arrived; NaN if there are none."""
    return float(np.quantile([answer.took_ms for answer in answers], share)) if answers else float("nan")


def request(path: str, body: bytes, headers: dict[str, str]) -> bytes:
    """The bytes of a POST request."""
    lines = [f"POST {path} HTTP/1.1", "Host: localhost", f"Content-Length: {len(body)}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode() + body


@dataclass(slots=True)
class LoadProcess:
    """A running load."""

    process: subprocess.Popen[bytes]

    def end_when_all_answer(self, members: int, since_s: float) -> None:
        """End at the first response from `members` members to a request sent after `since_s` (monotonic)."""
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps([members, since_s]).encode() + b"\n")
        self.process.stdin.flush()

    def wait(self) -> LoadResult:
        """Wait until it ends. Raises `RuntimeError` if it failed."""
        said, _ = self.process.communicate()
        if self.process.returncode:
            raise RuntimeError(f"the load ended with status {self.process.returncode}")
        found = json.loads(said)
        return LoadResult(tuple(Answer(*each) for each in found["answers"]), found["seconds"], found["processor_s"])


def start(port: int, content: bytes, clients: int, seconds: float) -> LoadProcess:
    """Start `clients` clients for `seconds`; `content` is the complete request."""
    process = subprocess.Popen(
        [sys.executable, "-m", "benchmarks.load"], cwd=_REPOSITORY, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    asked = {"port": port, "content": base64.b64encode(content).decode(), "clients": clients, "seconds": seconds}
    assert process.stdin is not None
    process.stdin.write(json.dumps(asked).encode() + b"\n")
    process.stdin.flush()
    return LoadProcess(process)


def ask(port: int, content: bytes, clients: int, seconds: float) -> LoadResult:
    """The same, and wait until it ends."""
    return start(port, content, clients, seconds).wait()


# In the process of its own.


class _Load(asyncio.Protocol):
    """The request, the responses and the end time of all clients; as a protocol, it reads the second line of stdin."""

    def __init__(self, content: bytes, until_s: float) -> None:
        self.content = content
        self.until_s = until_s
        self.heard: list[tuple[float, float, int, bytes]] = []
        self._line = b""
        self._whole: tuple[int, float] | None = None

    def data_received(self, data: bytes) -> None:
        self._line += data
        if self._line.endswith(b"\n"):
            members, since_s = json.loads(self._line)
            self._whole = members, since_s
            for answer in self.heard:
                self._end_if_whole(*answer)

    def note(self, asked_s: float, status: int, body: bytes) -> None:
        """Record the result of a request that was sent at `asked_s`."""
        self.heard.append((asked_s, time.monotonic() - asked_s, status, body))
        self._end_if_whole(*self.heard[-1])

    def _end_if_whole(self, asked_s: float, _took_s: float, status: int, body: bytes) -> None:
        if self._whole is not None and status == 200:
            members, since_s = self._whole
            if asked_s >= since_s and _members(body) == members:
                self.until_s = 0.0


class _Client(asyncio.Protocol):
    """One connection: sends, reads, and sends again until the load ends."""

    def __init__(self, load: _Load) -> None:
        self._load = load
        self._asked_s: float | None = None
        self._chunks: list[bytes] = []
        self.closed = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's own class is not a subclass
        self._parser = httptools.HttpResponseParser(self)
        self._ask()

    def data_received(self, data: bytes) -> None:
        self._parser.feed_data(data)

    def on_body(self, body: bytes) -> None:
        self._chunks.append(body)

    def on_message_complete(self) -> None:
        self._note(self._parser.get_status_code())
        self._ask()

    def connection_lost(self, exc: Exception | None) -> None:
        if self._asked_s is not None:
            self._note(NO_ANSWER)
        self.closed.set_result(None)

    def _ask(self) -> None:
        now_s = time.monotonic()
        if now_s >= self._load.until_s:
            self._transport.close()
            return
        self._asked_s = now_s
        self._transport.write(self._load.content)

    def _note(self, status: int) -> None:
        assert self._asked_s is not None
        self._load.note(self._asked_s, status, b"".join(self._chunks))
        self._asked_s = None
        self._chunks = []


async def _one_client(port: int, load: _Load) -> None:
    """Send requests until the end; opens a new connection when one is closed."""
    while time.monotonic() < load.until_s:
        try:
            _, client = await asyncio.get_running_loop().create_connection(lambda: _Client(load), "127.0.0.1", port)
        except OSError:
            load.note(time.monotonic(), NO_ANSWER, b"")
        else:
            await client.closed
        if time.monotonic() < load.until_s:
            await asyncio.sleep(_AGAIN_S)


async def _all_clients(port: int, content: bytes, clients: int, seconds: float) -> dict[str, Any]:
    began_s, used_s = time.monotonic(), time.process_time()
    load = _Load(content, began_s + seconds)
    await asyncio.get_running_loop().connect_read_pipe(lambda: load, sys.stdin)
    asking = [asyncio.ensure_future(_one_client(port, load)) for _ in range(clients)]
    await asyncio.wait(asking, timeout=seconds + TIMEOUT_S)
    took_s, used_s = time.monotonic() - began_s, time.process_time() - used_s
    missing = [(time.monotonic() - TIMEOUT_S, TIMEOUT_S, NO_ANSWER, b"") for each in asking if not each.done()]
    answers = [
        (asked_s, 1e3 * for_s, status, _members(body)) for asked_s, for_s, status, body in [*load.heard, *missing]
    ]
    return {"answers": answers, "seconds": took_s, "processor_s": used_s}


def _members(body: bytes) -> int:
    """The number of members according to the response."""
    found = _ANSWERED.search(body)
    return int(found[1]) if found else 0


def main() -> None:
    """See the module."""
    # Unbuffered: the rest of stdin is for the event loop.
    with open(sys.stdin.fileno(), "rb", buffering=0, closefd=False) as unbuffered:
        asked = json.loads(unbuffered.readline())
    content = base64.b64decode(asked.pop("content"))
    found = json.dumps(uvloop.run(_all_clients(content=content, **asked)))
    with open(sys.stdout.fileno(), "wb", closefd=False) as whole:  # unbuffered, `print` may write only a part
        whole.write(found.encode())


if __name__ == "__main__":
    main()
