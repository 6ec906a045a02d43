"""A worker as the host sees it: what it is to run, how it does, and the port it is placed through; pure, host."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Protocol

from podium.ensemble.worker.network import ModelFile


@dataclass(frozen=True, slots=True)
class WorkerPlan:
    """One process: the members it runs, where, and how."""

    name: str
    files: tuple[ModelFile, ...]  # by member
    device_ids: tuple[str, ...]  # by member
    node: str
    visible: str
    in_graph: bool
    endpoint: str
    epoch: int
    features: int
    combination: str  # JSON
    precision: str
    threads: int


class Phase(StrEnum):
    """How far a worker's process has come."""

    STARTING = "starting"  # there is no process yet
    WARMING = "warming"  # it loads and warms its networks
    READY = "ready"
    BROKEN = "broken"  # its networks cannot be loaded; another process could not either
    GONE = "gone"  # there is no process any more


@dataclass(frozen=True, slots=True)
class Sight:
    """What one look at a worker tells."""

    phase: Phase
    reason: str = ""  # of `broken` and `gone`
    pid: int | None = None  # once it is ready
    plan: Mapping[str, Any] = field(default_factory=dict)  # once it is ready: how in-graph runs its groups
    silent_s: float = 0.0  # how long our question whether it lives has had no answer


class Worker(Protocol):
    """A worker that was placed."""

    @property
    def plan(self) -> WorkerPlan: ...

    def look(self) -> Sight:
        """How it does, as far as the last question told; asks the next one. Never waits."""
        ...

    def kill(self) -> None:
        """End it, whatever it does; one that is gone already is no error."""
        ...


OnNews = Callable[[], None]


class Workers(Protocol):
    """Places workers. `on_news` is called, in any thread, when another look at a worker is worth while."""

    def place(self, plan: WorkerPlan, on_news: OnNews) -> Worker:
        """Start the worker's process. Raises `EnsembleError` when that cannot even be asked for."""
        ...

    def find(self, plan: WorkerPlan, on_news: OnNews) -> Worker | None:
        """The worker of this name that a host before us placed, or None where there is none."""
        ...

    def end_all_but(self, names: Collection[str]) -> None:
        """End every worker whose name is not among these."""
        ...
