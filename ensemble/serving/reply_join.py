"""Validates the members' replies and combines them into one prediction; gateway process."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from podium.ensemble.protocol.wire import Reply
from podium.ensemble.scoring import combine
from podium.ensemble.serving.pending_request import MemberCall, PendingRequest
from podium.ensemble.values.ensemble_spec import Mode, Snapshot
from podium.ensemble.values.prediction import MemberReport, MemberStatus, Outcome, Prediction


@dataclass(frozen=True, slots=True)
class _MemberPart:
    """One member's part of a prediction; `outputs` is (rows, outputs), or None if it does not count."""

    position: int
    report: MemberReport
    outputs: NDArray[np.float32] | None


def join(pending: PendingRequest, total_ms: float) -> Prediction:
    """Combine the valid outputs in member order. Every call must be complete.

    Without a quorum the prediction has no outputs; its outcome is the reason.
    """
    snapshot = pending.snapshot
    parts = [part for call in pending.calls for part in _parts(call, snapshot)]  # calls are in member order
    reports = tuple(part.report for part in parts)
    valid = [part for part in parts if part.outputs is not None]
    answered = tuple(part.position for part in valid)
    if len(valid) < snapshot.quorum:
        late = any(report.status in (MemberStatus.LATE, MemberStatus.EXPIRED) for report in reports)
        outcome = Outcome.DEADLINE if late and not valid else Outcome.BELOW_QUORUM

        return Prediction(
            outcome=outcome,
            snapshot=snapshot,
            reports=reports,
            deadline_ms=pending.deadline_ms,
            total_ms=total_ms,
            answered_positions=answered,
        )
    stacked = np.stack([part.outputs for part in valid if part.outputs is not None])
    combined = _combined_by_worker(pending, len(valid))
    return Prediction(
        outcome=Outcome.OK if len(valid) == len(snapshot.members) else Outcome.DEGRADED,
        snapshot=snapshot,
        reports=reports,
        deadline_ms=pending.deadline_ms,
        total_ms=total_ms,
        outputs=combine.combine(snapshot.combination, stacked, answered) if combined is None else combined,
        member_outputs=stacked,
        answered_positions=answered,
        weights=combine.effective_weights(snapshot.combination, answered),
    )


def check_reply(reply: Reply, *, members: int, rows: int, outputs: int) -> tuple[MemberStatus, str]:
    """Return OK if at least one member's outputs are valid, else the status and message of the first member."""
    predictions, combined = reply.predictions, reply.combined
    shape = (members, rows, outputs)
    if predictions is None or predictions.shape != shape or (combined is not None and combined.shape != shape[1:]):
        return MemberStatus.INVALID, "wrong shape"
    found = [_member_outputs(reply, index) for index in range(members)]
    if any(status is MemberStatus.OK for status, _, _ in found):
        return MemberStatus.OK, ""
    return found[0][:2]


def _parts(call: MemberCall, snapshot: Snapshot) -> Iterator[_MemberPart]:
    assert call.status is not None
    for index, position in enumerate(call.positions):
        member = snapshot.members[position]
        status, message, outputs = call.status, call.message, None
        if call.reply is None:
            epoch, queue_ms, compute_ms = max((r.epoch for r in member.replicas), default=0), 0.0, 0.0
        else:
            status, message, outputs = _member_outputs(call.reply, index)
            epoch, queue_ms, compute_ms = call.reply.epoch, call.reply.queue_ms, call.reply.compute_ms

        report = MemberReport(
            member_id=member.member_id,
            trial_id=member.trial_id,
            epoch=epoch,
            status=status,
            queue_ms=queue_ms,
            compute_ms=compute_ms,
            message=message,
        )
        yield _MemberPart(position, report, outputs)


def _member_outputs(reply: Reply, index: int) -> tuple[MemberStatus, str, NDArray[np.float32] | None]:
    """The status, message and outputs of one member of the worker."""
    assert reply.predictions is not None
    if str(index) in reply.failed:
        return MemberStatus.ERROR, reply.failed[str(index)], None
    outputs = reply.predictions[index]
    if not np.isfinite(outputs).all():
        return MemberStatus.INVALID, "not finite", None
    return MemberStatus.OK, "", outputs


def _combined_by_worker(pending: PendingRequest, valid: int) -> NDArray[np.float32] | None:
    """The combination computed by an in-graph worker, if all its members are valid; else None."""
    reply = pending.calls[0].reply
    if pending.snapshot.mode is not Mode.IN_GRAPH or valid < len(pending.snapshot.members) or reply is None:
        return None
    return reply.combined if reply.combined is not None and np.isfinite(reply.combined).all() else None
