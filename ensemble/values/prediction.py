"""The result of a request: one outcome, and one status for each member; gateway process."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum

import msgspec
import numpy as np
from numpy.typing import NDArray

from podium.ensemble.values.ensemble_snapshot import Snapshot


class Outcome(StrEnum):
    """The outcome of a request."""

    OK = "ok"
    DEGRADED = "degraded"
    BELOW_QUORUM = "below_quorum"
    DEADLINE = "deadline"
    SHED = "shed"
    CANCELLED = "cancelled"


class MemberStatus(StrEnum):
    """The status of a member in a prediction."""

    OK = "ok"
    LATE = "late"
    ERROR = "error"
    INVALID = "invalid"  # wrong shape, or not finite
    EXPIRED = "expired"  # its worker predicted that it would miss the deadline
    REFUSED = "refused"  # its worker rejected the request
    DIED = "died"
    QUEUE_FULL = "queue_full"
    SKIPPED_OPEN = "skipped_open"  # its circuit breaker is open
    UNAVAILABLE = "unavailable"  # not ready when the request arrived


NOT_SENT = frozenset({MemberStatus.QUEUE_FULL, MemberStatus.SKIPPED_OPEN, MemberStatus.UNAVAILABLE})


class MemberReport(msgspec.Struct, frozen=True):
    """One member's part in a prediction."""

    member_id: int
    trial_id: int
    epoch: int
    status: MemberStatus
    queue_ms: float = 0.0
    compute_ms: float = 0.0
    message: str = ""


class Uncertainty(msgspec.Struct, frozen=True, eq=False):
    """The uncertainty of a prediction.

    Classification, (rows,) in nats: the entropy of the combined prediction, and the mutual information, which measures
    the disagreement of the members: the entropy of their mean minus the mean of their entropies. For the rule mean
    without temperature, entropy = expected entropy + mutual information. Regression, (rows, outputs): variance = noise
    variance + disagreement, the variance of the members' values.
    """

    entropy: NDArray[np.float32] | None = None
    mutual_information: NDArray[np.float32] | None = None
    variance: NDArray[np.float32] | None = None
    disagreement: NDArray[np.float32] | None = None


class Prediction(msgspec.Struct, frozen=True, eq=False):
    """A prediction. `outputs` is None without a quorum, or after the deadline."""

    outcome: Outcome
    snapshot: Snapshot
    reports: tuple[MemberReport, ...]  # in member order; none of a request that was shed
    deadline_ms: float
    total_ms: float
    outputs: NDArray[np.float32] | None = None  # (rows, outputs)
    member_outputs: NDArray[np.float32] | None = None  # (members that answered, rows, outputs)
    answered_positions: tuple[int, ...] = ()
    weights: tuple[float, ...] = ()  # of the members that answered, summing to 1
    uncertainty: Callable[[], Uncertainty] = Uncertainty  # computed when called; without fields without outputs

    @property
    def answered(self) -> int:
        """Number of members in the combined prediction."""
        return len(self.answered_positions)

    @property
    def numbers(self) -> int:
        """Number of values in the members' outputs."""
        return 0 if self.member_outputs is None else self.member_outputs.size

    @property
    def first_error(self) -> str:
        """The error of the first member whose network failed on these rows; empty if none failed."""
        return next((each.message for each in self.reports if each.status is MemberStatus.ERROR), "")
