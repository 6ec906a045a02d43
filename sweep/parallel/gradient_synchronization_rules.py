"""Which gradients count, and when a replica continues: with spares, and with bounded staleness; the user's process.

A rule has no lock and no threads: `ParameterServer` calls one method at a time.
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import Literal, Protocol

import torch

from podium.sweep.values.errors import ParallelError

Apply = Callable[[torch.Tensor], None]
Stale = Literal["drop", "scale"]


class Outcome(enum.IntEnum):
    """What a rule did with a gradient."""

    NONE = 0  # there was none: the replica asked for the parameters
    COUNTED = 1
    DROPPED = 2
    SCALED = 3


class SynchronizationRule(Protocol):
    """How the gradients of replicas become updates. `version` is the number of updates."""

    version: int

    def receive(self, rank: int, version: int, gradient: torch.Tensor) -> Outcome:
        """Count a gradient, computed with the parameters of this version, or drop it."""
        ...

    def may_continue(self, rank: int, version: int) -> bool:
        """Whether a replica may have the parameters, after it sent a gradient, or -1 to ask for them."""
        ...

    def leave(self, rank: int) -> None:
        """Expect no more from a replica."""
        ...


class FirstGradients:
    """Each update is the mean of the first gradients of its version; those that arrive later are dropped.

    Of n replicas with m spares, n - m gradients count (Chen et al. 2016, "Revisiting Distributed Synchronous SGD").
    When fewer replicas remain, all of theirs. The sum is in the order of the ranks, so it does not depend on arrival.
    """

    def __init__(self, apply: Apply, replicas: int, spares: int) -> None:
        self.check(replicas, spares)
        self.version = 0
        self._apply = apply
        self._needed = replicas - spares
        self._active = set(range(replicas))
        self._received: dict[int, torch.Tensor] = {}

    @staticmethod
    def check(replicas: int, spares: int) -> None:
        """Raise `ParallelError` unless at least one gradient of a step counts."""
        if not 0 <= spares < replicas:
            having = f"{replicas} replica{'s' if replicas > 1 else ''}"
            raise ParallelError(f"spares is {spares}; it must be 0 to {replicas - 1} with {having}")

    def receive(self, rank: int, version: int, gradient: torch.Tensor) -> Outcome:
        """Count it if it is one of the first of the current version."""
        if version != self.version:
            return Outcome.DROPPED
        self._received[rank] = gradient
        self._update_if_complete()
        return Outcome.COUNTED

    def may_continue(self, rank: int, version: int) -> bool:
        """After the update of this version."""
        return self.version > version

    def leave(self, rank: int) -> None:
        """The others do not wait for this replica."""
        self._active.discard(rank)
        self._update_if_complete()

    def _update_if_complete(self) -> None:
        if not self._received or len(self._received) < min(self._needed, len(self._active)):
            return
        first, *others = (self._received[rank] for rank in sorted(self._received))
        total = first.clone()
        for gradient in others:
            total += gradient
        self._apply(total / len(self._received))
        self._received.clear()
        self.version += 1


class BoundedStaleness:
    """Each gradient is an update of its own. Its staleness is the number of updates since its parameters were read.

    A gradient staler than `max_staleness` is dropped, or multiplied by (max_staleness + 1) / (staleness + 1). Until
    `warm_up_steps` updates, replica 0 trains alone.
    """

    def __init__(self, apply: Apply, *, max_staleness: int | None, stale: Stale, warm_up_steps: int) -> None:
        self.check(max_staleness, stale, warm_up_steps)
        self.version = 0
        self._apply = apply
        self._bound = max_staleness
        self._stale = stale
        self._warm_up_steps = warm_up_steps

    @staticmethod
    def check(max_staleness: int | None, stale: str, warm_up_steps: int) -> None:
        """Raise `ParallelError` for values without meaning."""
        if max_staleness is not None and max_staleness < 0:
            raise ParallelError(f"max_staleness is {max_staleness}; it must be 0 or larger, or None for no bound")
        if stale not in ("drop", "scale"):
            raise ParallelError(f"stale is {stale!r}; it must be 'drop' or 'scale'")
        if warm_up_steps < 0:
            raise ParallelError(f"warm_up_steps is {warm_up_steps}; it must be 0 or larger")

    def receive(self, rank: int, version: int, gradient: torch.Tensor) -> Outcome:
        """Update at once, unless the gradient is dropped."""
        staleness = self.version - version
        outcome = Outcome.COUNTED
        if self._bound is not None and staleness > self._bound:
            if self._stale == "drop":
                return Outcome.DROPPED
            gradient, outcome = gradient * ((self._bound + 1) / (staleness + 1)), Outcome.SCALED
        self._apply(gradient)
        self.version += 1
        return outcome

    def may_continue(self, rank: int, version: int) -> bool:
        """At once, after the warm-up."""
        return rank == 0 or version >= 0 or self.version >= self._warm_up_steps

    def leave(self, rank: int) -> None:
        """The warm-up ends when replica 0 leaves."""
        if rank == 0:
            self._warm_up_steps = 0
