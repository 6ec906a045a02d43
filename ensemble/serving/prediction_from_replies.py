"""Validates the members' replies and combines them into one prediction; gateway process."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import msgspec
import numpy as np
from numpy.typing import NDArray

from podium.ensemble.protocol.prediction_messages import Reply, concatenate
from podium.ensemble.scoring import combine
from podium.ensemble.serving.pending_request import MemberCall, PendingRequest
from podium.ensemble.values.ensemble_snapshot import Combination, Snapshot
from podium.ensemble.values.ensemble_spec import Mode, Rule
from podium.ensemble.values.finite_check import all_finite
from podium.ensemble.values.prediction import MemberReport, MemberStatus, Outcome, Prediction, Uncertainty


class _MemberPart(msgspec.Struct, frozen=True, eq=False):
    """One member's part of a prediction; `outputs` is (rows, outputs), or None if it does not count."""

    position: int
    report: MemberReport
    outputs: NDArray[np.float32] | None


class _GroupUncertainty:
    """The uncertainty of requests that were combined together, computed once when the first response needs it."""

    def __init__(
        self, combination: Combination, stacked: NDArray[np.float32], combined: NDArray[np.float32],
        positions: tuple[int, ...],
    ) -> None:  # fmt: skip
        self._compute = partial(combine.uncertainty, combination, stacked, combined, positions)
        self._whole: Uncertainty | None = None

    def of(self, rows: slice) -> Uncertainty:
        """The uncertainty of the request that has these rows."""
        whole = self._whole = self._whole or self._compute()
        return Uncertainty(
            *(
                None if values is None else values[rows]
                for values in (whole.entropy, whole.mutual_information, whole.variance, whole.disagreement)
            )
        )


class _Answered(msgspec.Struct, frozen=True, eq=False):
    """A request with the parts of its members, in member order."""

    pending: PendingRequest
    reports: tuple[MemberReport, ...]
    valid: list[_MemberPart]

    @property
    def positions(self) -> tuple[int, ...]:
        return tuple([part.position for part in self.valid])


def join(answered: Sequence[PendingRequest], now_s: float) -> list[Prediction]:
    """Combine the valid outputs of each request in member order. Every call of every request must be complete.

    The rows of requests with the same version and the same valid members are combined together. Without a quorum the
    prediction has no outputs; its outcome is the reason.
    """
    found: list[Prediction | None] = [None] * len(answered)
    groups: dict[tuple[object, ...], list[tuple[int, _Answered]]] = {}
    for index, pending in enumerate(answered):
        snapshot = pending.snapshot
        parts = [part for call in pending.calls for part in _parts(call, snapshot)]  # calls are in member order
        each = _Answered(
            pending, tuple([part.report for part in parts]), [part for part in parts if part.outputs is not None]
        )
        if len(each.valid) < snapshot.quorum:
            found[index] = _without_outputs(each, now_s)
            continue
        # Stacking multiplies matrices, whose bits may depend on the number of rows.
        alone = index if snapshot.combination.rule is Rule.STACKING else None
        groups.setdefault((id(snapshot), each.positions, alone), []).append((index, each))
    for group in groups.values():
        joined = _join_group([each for _, each in group], now_s)
        for (index, _), prediction in zip(group, joined, strict=True):
            found[index] = prediction
    return [prediction for prediction in found if prediction is not None]


def _without_outputs(each: _Answered, now_s: float) -> Prediction:
    late = any(report.status in (MemberStatus.LATE, MemberStatus.EXPIRED) for report in each.reports)
    return Prediction(
        outcome=Outcome.DEADLINE if late and not each.valid else Outcome.BELOW_QUORUM,
        snapshot=each.pending.snapshot,
        reports=each.reports,
        deadline_ms=each.pending.deadline_ms,
        total_ms=(now_s - each.pending.arrived_s) * 1000,
        answered_positions=each.positions,
    )


def _join_group(group: Sequence[_Answered], now_s: float) -> Iterator[Prediction]:
    """Combine requests with the same version and the same valid members."""
    snapshot, positions = group[0].pending.snapshot, group[0].positions
    stacked = _stacked(group)
    by_worker = [_combined_by_worker(each.pending, len(positions)) for each in group]
    if any(outputs is None for outputs in by_worker):
        combined = combine.combine(snapshot.combination, stacked, positions)
    else:
        combined = concatenate([outputs for outputs in by_worker if outputs is not None])
    uncertainty = _GroupUncertainty(snapshot.combination, stacked, combined, positions)
    weights = combine.effective_weights(snapshot.combination, positions)
    complete = len(positions) == len(snapshot.members)
    start = 0
    for each in group:
        span = slice(start, start + len(each.pending.inputs))
        yield Prediction(
            outcome=Outcome.OK if complete else Outcome.DEGRADED,
            snapshot=snapshot,
            reports=each.reports,
            deadline_ms=each.pending.deadline_ms,
            total_ms=(now_s - each.pending.arrived_s) * 1000,
            outputs=combined[span],
            member_outputs=stacked[:, span],
            answered_positions=positions,
            weights=weights,
            uncertainty=partial(uncertainty.of, span),
        )
        start = span.stop


def _stacked(group: Sequence[_Answered]) -> NDArray[np.float32]:
    """The outputs of the valid members, (members, rows of all requests, outputs)."""
    first = group[0]
    reply = first.pending.calls[0].reply
    whole = None if reply is None else reply.predictions
    if len(group) == 1 and whole is not None and len(whole) == len(first.valid) == len(first.reports):
        return whole  # in-graph, and each member is valid
    parts = [each.valid[place].outputs for place in range(len(first.valid)) for each in group]
    outputs = first.pending.snapshot.outputs
    return np.concatenate(parts).reshape(len(first.valid), -1, outputs)  # type: ignore[arg-type]  # valid parts have outputs


def check_reply(reply: Reply, *, members: int, rows: int, outputs: int) -> tuple[MemberStatus, str]:
    """Return OK if at least one member's outputs are valid, else the status and message of the first member."""
    predictions, combined = reply.predictions, reply.combined
    shape = (members, rows, outputs)
    if predictions is None or predictions.shape != shape or (combined is not None and combined.shape != shape[1:]):
        return MemberStatus.INVALID, "wrong shape"
    if reply.all_finite and not reply.failed:
        return MemberStatus.OK, ""
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
    if reply.failed and str(index) in reply.failed:
        return MemberStatus.ERROR, reply.failed[str(index)], None
    outputs = reply.predictions[index]
    if not reply.all_finite and not all_finite(outputs):
        return MemberStatus.INVALID, "not finite", None
    return MemberStatus.OK, "", outputs


def _combined_by_worker(pending: PendingRequest, valid: int) -> NDArray[np.float32] | None:
    """The combination computed by an in-graph worker, if all its members are valid; else None."""
    reply = pending.calls[0].reply
    if pending.snapshot.mode is not Mode.IN_GRAPH or valid < len(pending.snapshot.members) or reply is None:
        return None
    if reply.combined is None or not (reply.all_finite or all_finite(reply.combined)):
        return None
    return reply.combined
