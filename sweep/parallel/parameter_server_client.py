"""How a replica reaches a parameter server: in its own process, or in another rank; the user's process."""

from __future__ import annotations

from typing import Protocol

import torch

from podium.sweep.parallel.parameter_server import ParameterServer
from podium.sweep.parallel.parameter_server_messages import Answer, Request, receive_answer, send_request
from podium.sweep.parallel.parameter_shards import Shard
from podium.sweep.values.errors import RankLostError


class ParameterServerConnection(Protocol):
    """One server, as a replica uses it: each `send` is followed by one `receive`."""

    shard: Shard

    def send(self, version: int, gradient: torch.Tensor | None) -> None:
        """Send a gradient, or ask for the parameters."""
        ...

    def receive(self) -> Answer:
        """The answer, when the replica may continue."""
        ...

    def leave(self) -> None:
        """End the training."""
        ...


class LocalConnection:
    """The server in this process."""

    def __init__(self, server: ParameterServer, shard: Shard, rank: int) -> None:
        self.shard = shard
        self._server = server
        self._rank = rank
        self._sent: tuple[int, torch.Tensor | None] = (0, None)

    def send(self, version: int, gradient: torch.Tensor | None) -> None:
        """Remember what `receive` exchanges, after other servers have been sent theirs."""
        self._sent = (version, gradient)

    def receive(self) -> Answer:
        """Exchange, and wait."""
        return self._server.exchange(self._rank, *self._sent)

    def leave(self) -> None:
        """End the training."""
        self._server.leave(self._rank)


class RemoteConnection:
    """The server in the process of another rank."""

    def __init__(self, server_rank: int, shard: Shard) -> None:
        self.shard = shard
        self._server_rank = server_rank

    def send(self, version: int, gradient: torch.Tensor | None) -> None:
        """Send to the server's rank."""
        request = Request.PARAMETERS if gradient is None else Request.GRADIENT
        send_request(self._server_rank, request, version, gradient)

    def receive(self) -> Answer:
        """Raises `RankLostError` if the training of the server has failed."""
        answer = receive_answer(self._server_rank, self.shard.size, self.shard.dtype)
        if answer.failure:
            raise RankLostError(answer.failure)
        return answer

    def leave(self) -> None:
        """End the training."""
        send_request(self._server_rank, Request.LEAVE, 0)
