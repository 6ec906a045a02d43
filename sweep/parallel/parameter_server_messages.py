"""Messages between a replica and a parameter server, by send and receive of the process group; the user's process.

A header of integers precedes each message: its kind and a version, and in an answer the outcome and the length of the
error message.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass

import torch
import torch.distributed as dist

from podium.sweep.parallel.gradient_synchronization_rules import Outcome

REQUESTS, ANSWERS = 1, 2  # tags: two ranks may each have a server and a replica of the other's


class Request(enum.IntEnum):
    """What a replica asks of a server."""

    PARAMETERS = 0
    GRADIENT = 1
    LEAVE = 2


@dataclass(frozen=True, slots=True)
class Answer:
    """The newest values of a shard, and what was done with the gradient. Or why the training failed."""

    version: int
    outcome: Outcome
    values: torch.Tensor | None
    failure: str = ""


def send_request(rank: int, request: Request, version: int, gradient: torch.Tensor | None = None) -> None:
    """Send a request to the server of a rank."""
    dist.send(torch.tensor([request, version]), dst=rank, tag=REQUESTS)
    if gradient is not None:
        dist.send(gradient, dst=rank, tag=REQUESTS)


def receive_request(rank: int, gradient: torch.Tensor) -> tuple[Request, int]:
    """The request of a replica, and its version. A gradient is written to `gradient`."""
    header = torch.zeros(2, dtype=torch.int64)
    dist.recv(header, src=rank, tag=REQUESTS)
    request, version = header.tolist()
    if request == Request.GRADIENT:
        dist.recv(gradient, src=rank, tag=REQUESTS)
    return Request(request), version


def send_answer(rank: int, answer: Answer) -> None:
    """Send an answer to a replica."""
    text = torch.tensor(list(answer.failure.encode()), dtype=torch.uint8)
    dist.send(torch.tensor([answer.version, answer.outcome, len(text)]), dst=rank, tag=ANSWERS)
    if len(text):
        dist.send(text, dst=rank, tag=ANSWERS)
    elif answer.values is not None:
        dist.send(answer.values, dst=rank, tag=ANSWERS)


def receive_answer(rank: int, size: int, dtype: torch.dtype) -> Answer:
    """The answer of the server of a rank, with `size` values."""
    header = torch.zeros(3, dtype=torch.int64)
    dist.recv(header, src=rank, tag=ANSWERS)
    version, outcome, length = header.tolist()
    if length:
        text = torch.zeros(length, dtype=torch.uint8)
        dist.recv(text, src=rank, tag=ANSWERS)
        return Answer(version, Outcome(outcome), None, bytes(text.tolist()).decode(errors="replace"))
    values = torch.zeros(size, dtype=dtype)
    dist.recv(values, src=rank, tag=ANSWERS)
    return Answer(version, Outcome(outcome), values)
