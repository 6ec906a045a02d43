"""What an ensemble answers: one outcome for the request, one status for each member; pure, gateway."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from podium.ensemble.values.ensemble_spec import Snapshot


class Outcome(StrEnum):
    """What became of a request: exactly one of these."""

    OK = "ok"
    DEGRADED = "degraded"
    BELOW_QUORUM = "below_quorum"
    DEADLINE = "deadline"
    SHED = "shed"
    CANCELLED = "cancelled"


class MemberStatus(StrEnum):
    """What a member contributed to one answer."""

    OK = "ok"
    LATE = "late"
    ERROR = "error"
    INVALID = "invalid"  # wrong shape, or not finite
    EXPIRED = "expired"  # its worker saw that it could not make the deadline
    REFUSED = "refused"  # its worker would not take it
    DIED = "died"
    QUEUE_FULL = "queue_full"
    SKIPPED_OPEN = "skipped_open"  # its breaker is open
    UNAVAILABLE = "unavailable"  # not ready when the request came


NOT_ASKED = frozenset({MemberStatus.QUEUE_FULL, MemberStatus.SKIPPED_OPEN, MemberStatus.UNAVAILABLE})


@dataclass(frozen=True, slots=True)
class MemberReport:
    """One member's part in an answer."""

    member_id: int
    trial_id: int
    epoch: int
    status: MemberStatus
    queue_ms: float = 0.0
    compute_ms: float = 0.0
    message: str = ""


@dataclass(frozen=True, slots=True)
class Prediction:
    """An answer. `outputs` is None when there is none: too few members, or too late."""

    outcome: Outcome
    snapshot: Snapshot
    reports: tuple[MemberReport, ...]  # in member order
    deadline_ms: float
    total_ms: float
    outputs: NDArray[np.float32] | None = None  # (rows, outputs)
    member_outputs: NDArray[np.float32] | None = None  # (answered members, rows, outputs)
    answered_positions: tuple[int, ...] = ()
    weights: tuple[float, ...] = ()  # of those that answered, summing to 1

    @property
    def answered(self) -> int:
        """How many members count in this answer."""
        return len(self.answered_positions)

    @property
    def first_error(self) -> str:
        """What the first member said whose network failed on these rows; empty where none did."""
        return next((each.message for each in self.reports if each.status is MemberStatus.ERROR), "")
