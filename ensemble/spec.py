"""What an ensemble is: the request, its states, and the snapshot that a prediction reads; pure, everywhere."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

DEFAULT_DEADLINE_MS = 1000.0  # Géron 2017, chapter 12: wait so long for the slow one, no longer


class Mode(StrEnum):
    """How the networks run: one program for all, or a process for each."""

    IN_GRAPH = "in_graph"
    BETWEEN_GRAPH = "between_graph"


class EnsembleState(StrEnum):
    """Where an ensemble is in its life."""

    BUILDING = "building"
    WARMING = "warming"
    READY = "ready"
    DEGRADED = "degraded"
    BELOW_QUORUM = "below_quorum"
    STOPPED = "stopped"
    FAILED = "failed"


SERVING = frozenset({EnsembleState.READY, EnsembleState.DEGRADED})
WANTED = frozenset(EnsembleState) - {EnsembleState.STOPPED, EnsembleState.FAILED}


class MemberState(StrEnum):
    """Where a member is in its life."""

    STARTING = "starting"
    READY = "ready"
    DEAD = "dead"  # its process is gone; the host starts another
    FAILED = "failed"  # it cannot be loaded; starting another would not help
    STOPPED = "stopped"


class EnsembleRequest(BaseModel):
    """Build an ensemble of the best `k` finished trials of a sweep."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    sweep_id: int = Field(ge=1, lt=2**63)
    name: str | None = Field(None, min_length=1, max_length=120, description="default: the sweep's, with a number")
    k: int = Field(3, ge=1, le=1000)
    select: Literal["top_k"] = "top_k"
    combine: Literal["mean"] = "mean"
    mode: Mode = Mode.BETWEEN_GRAPH
    deadline_ms: float = Field(DEFAULT_DEADLINE_MS, ge=1, le=600_000, description="an answer leaves by then")
    quorum: int | None = Field(None, ge=1, description="fewer answers than this are an error; default: the majority")


def majority(members: int) -> int:
    """The smallest number that is more than half."""
    return members // 2 + 1


@dataclass(frozen=True, slots=True)
class Member:
    """A member as a prediction sees it."""

    member_id: int
    trial_id: int
    weight: float
    state: MemberState
    epoch: int
    endpoint: str | None


@dataclass(frozen=True, slots=True)
class Snapshot:
    """An ensemble as it is at one moment: read once, when a request is admitted."""

    ensemble_id: int
    name: str
    version: int
    mode: Mode
    state: EnsembleState
    quorum: int
    deadline_ms: float
    classes: tuple[str, ...]
    features: int
    members: tuple[Member, ...]
