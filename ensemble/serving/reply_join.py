"""What counts of the members' replies, and the one answer they make together; pure, gateway."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from podium.ensemble.protocol.wire import Reply
from podium.ensemble.scoring import combine
from podium.ensemble.serving.pending_request import Ask, Ticket
from podium.ensemble.values.ensemble_spec import Mode, Snapshot
from podium.ensemble.values.prediction import MemberReport, MemberStatus, Outcome, Prediction


@dataclass(frozen=True, slots=True)
class _Part:
    """One member's part of an answer; `outputs` (rows, outputs) where it counts."""

    position: int
    report: MemberReport
    outputs: NDArray[np.float32] | None


def join(ticket: Ticket, total_ms: float) -> Prediction:
    """Combine what counts, in member order, or say why there is no answer. Every ask has its status."""
    snapshot = ticket.snapshot
    parts = [part for ask in ticket.asks for part in _parts(ask, snapshot)]  # asks are in member order
    reports = tuple(part.report for part in parts)
    sound = [part for part in parts if part.outputs is not None]
    answered = tuple(part.position for part in sound)
    if len(sound) < snapshot.quorum:
        late = any(report.status in (MemberStatus.LATE, MemberStatus.EXPIRED) for report in reports)
        outcome = Outcome.DEADLINE if late and not sound else Outcome.BELOW_QUORUM
        return Prediction(outcome, snapshot, reports, ticket.deadline_ms, total_ms, answered_positions=answered)
    stacked = np.stack([part.outputs for part in sound if part.outputs is not None])
    combined = _combined_there(ticket, len(sound))
    return Prediction(
        outcome=Outcome.OK if len(sound) == len(snapshot.members) else Outcome.DEGRADED,
        snapshot=snapshot,
        reports=reports,
        deadline_ms=ticket.deadline_ms,
        total_ms=total_ms,
        outputs=combine.combine(snapshot.combination, stacked, answered) if combined is None else combined,
        member_outputs=stacked,
        answered_positions=answered,
        weights=combine.effective_weights(snapshot.combination, answered),
    )


def verdict(reply: Reply, members: int, rows: int, outputs: int) -> tuple[MemberStatus, str]:
    """Whether a reply counts, for one of its members at least, and if not, why."""
    predictions, combined = reply.predictions, reply.combined
    shape = (members, rows, outputs)
    if predictions is None or predictions.shape != shape or (combined is not None and combined.shape != shape[1:]):
        return MemberStatus.INVALID, "wrong shape"
    found = [_of_one(reply, index) for index in range(members)]
    if any(status is MemberStatus.OK for status, _, _ in found):
        return MemberStatus.OK, ""
    return found[0][:2]


def _parts(ask: Ask, snapshot: Snapshot) -> Iterator[_Part]:
    assert ask.status is not None
    for index, position in enumerate(ask.positions):
        member = snapshot.members[position]
        status, message, outputs = ask.status, ask.message, None
        if ask.reply is None:
            epoch, queue_ms, compute_ms = max((r.epoch for r in member.replicas), default=0), 0.0, 0.0
        else:
            status, message, outputs = _of_one(ask.reply, index)
            epoch, queue_ms, compute_ms = ask.reply.epoch, ask.reply.queue_ms, ask.reply.compute_ms
        report = MemberReport(member.member_id, member.trial_id, epoch, status, queue_ms, compute_ms, message)
        yield _Part(position, report, outputs)


def _of_one(reply: Reply, index: int) -> tuple[MemberStatus, str, NDArray[np.float32] | None]:
    """What one of the worker's members answered."""
    assert reply.predictions is not None
    if str(index) in reply.failed:
        return MemberStatus.ERROR, reply.failed[str(index)], None
    outputs = reply.predictions[index]
    if not np.isfinite(outputs).all():
        return MemberStatus.INVALID, "not finite", None
    return MemberStatus.OK, "", outputs


def _combined_there(ticket: Ticket, sound: int) -> NDArray[np.float32] | None:
    """What an in-graph worker combined itself, if all its members count in it."""
    reply = ticket.asks[0].reply
    if ticket.snapshot.mode is not Mode.IN_GRAPH or sound < len(ticket.snapshot.members) or reply is None:
        return None
    return reply.combined if reply.combined is not None and np.isfinite(reply.combined).all() else None
