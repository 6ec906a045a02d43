"""Serves a shard of the parameters to all replicas, with a thread for each of them; the user's process.

A thread for each replica receives while the replica of the same process computes. Only the thread of a slow replica
waits for it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

import torch

from podium.sweep.parallel.gradient_synchronization_rules import Apply, Outcome, SynchronizationRule
from podium.sweep.parallel.parameter_server_messages import Answer, Request, receive_request, send_answer
from podium.sweep.parallel.parameter_shards import Shard, ShardOptimizer
from podium.sweep.parallel.process_group import Group
from podium.sweep.values.errors import RankLostError

FAILED_S = 5.0  # how long a failed server waits until it could tell every replica


class ParameterServer:
    """The server of one shard, in the process of the replica `rank`. The other replicas reach it by messages."""

    def __init__(
        self,
        shard: Shard,
        optimizer: torch.optim.Optimizer,
        rule_of: Callable[[Apply], SynchronizationRule],
        *,
        timeout_s: float,
    ) -> None:
        self.optimizer = ShardOptimizer(shard, optimizer)
        self._rule = rule_of(self._apply)
        self._values = self.optimizer.values.clone()  # what is sent; an update replaces it
        self._changed = threading.Condition()
        self._timeout_s = timeout_s
        self._failure = ""
        self._threads: list[threading.Thread] = []

    @property
    def values(self) -> torch.Tensor:
        """The values after the last update."""
        return self._values

    def start(self, group: Group, dtype: torch.dtype) -> None:
        """Serve the replicas of the other ranks, whose gradients have this dtype."""
        for other in range(group.size):
            if other != group.rank:
                name = f"parameter-server-{other}"
                thread = threading.Thread(target=self._serve, args=(other, group, dtype), name=name, daemon=True)
                self._threads.append(thread)
                thread.start()

    def exchange(self, rank: int, version: int, gradient: torch.Tensor | None) -> Answer:
        """Receive a gradient, and answer when the replica may continue. Raises `RankLostError` after a failure."""
        with self._changed:
            self._raise_failure()
            outcome = Outcome.NONE
            if gradient is not None:
                outcome = self._rule.receive(rank, version, gradient.to(self._values.dtype))
                self._changed.notify_all()
            if not self._changed.wait_for(
                lambda: self._failure or self._rule.may_continue(rank, version), self._timeout_s
            ):
                raise RankLostError(f"rank {rank} waited {self._timeout_s:g} s for an update that needs other ranks")
            self._raise_failure()
            return Answer(self._rule.version, outcome, self._values)

    def leave(self, rank: int) -> None:
        """A replica has ended its training."""
        with self._changed:
            self._rule.leave(rank)
            self._changed.notify_all()

    def fail(self, reason: str) -> None:
        """End the training of all replicas, whose next exchange raises."""
        with self._changed:
            self._failure = self._failure or reason
            self._changed.notify_all()

    def wait(self) -> None:
        """Wait until all replicas have left. Raises `RankLostError` after a failure."""
        while any(thread.is_alive() for thread in self._threads):
            with self._changed:
                self._raise_failure()
                self._changed.wait(0.05)
        with self._changed:
            self._raise_failure()

    def abandon(self, reason: str) -> None:
        """Fail, and wait a short time until the replicas know."""
        self.fail(reason)
        for thread in self._threads:
            thread.join(FAILED_S / len(self._threads))

    def _apply(self, gradient: torch.Tensor) -> None:
        self.optimizer.apply(gradient)
        self._values = self.optimizer.values.clone()

    def _raise_failure(self) -> None:
        if self._failure:
            raise RankLostError(self._failure)

    def _serve(self, rank: int, group: Group, dtype: torch.dtype) -> None:
        gradient = torch.zeros(len(self._values), dtype=dtype)
        try:
            while True:
                request, version = receive_request(rank, gradient)
                if request is Request.LEAVE:
                    self._end(rank)
                    return
                sent = gradient if request is Request.GRADIENT else None
                send_answer(rank, self._answer(rank, version, sent))
        except (RuntimeError, ValueError):  # the second one after this process has left the group
            self.fail(
                group.reason_of_end(rank) or f"rank {rank} ended, or cannot be reached, before the training ended"
            )
        except Exception as error:  # noqa: BLE001 - a thread that ends silently would let all replicas wait
            self.fail(f"{type(error).__name__} in the server of rank {rank}: {error}")

    def _end(self, rank: int) -> None:
        try:
            self.leave(rank)  # may update, if the others waited for this replica only
        except Exception as error:  # noqa: BLE001 - see `_answer`
            self.fail(f"{type(error).__name__} in an update: {error}")

    def _answer(self, rank: int, version: int, gradient: torch.Tensor | None) -> Answer:
        try:
            return self.exchange(rank, version, gradient)
        except RankLostError as error:
            self.fail(str(error))
            return Answer(version, Outcome.NONE, None, self._failure)
        except Exception as error:  # noqa: BLE001 - whatever the user's optimizer raises is the failure of all
            self.fail(f"{type(error).__name__} in an update: {error}")
            return Answer(version, Outcome.NONE, None, self._failure)
