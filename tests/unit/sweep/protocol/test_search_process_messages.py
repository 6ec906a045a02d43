"""Requests and replies of the search process are the same after encoding and decoding."""

from __future__ import annotations

import pytest

from podium.sweep.protocol.search_process_messages import (
    ProposalComputed,
    ProposalFailed,
    ProposalRequested,
    SamplerExhausted,
    SamplerUnusable,
    SearchOpening,
    SearchReady,
    SearchReply,
    SearchRequest,
    TrialChanged,
    decode_reply,
    decode_request,
    encode_reply,
    encode_request,
)
from podium.sweep.values.search_messages import FallbackReason, PastTrial, TrialPlan
from podium.sweep.values.states import TrialState

PAST = PastTrial(
    4, TrialState.PRUNED, {"x": 0.1, "y": None}, reports={3: 0.5}, attributes={"a": [1]}, sampler="tpe",
    values=(0.1, 2.0), constraints={"size": -1.0}, distributions={"z": {"min": 1, "max": 2}},
)  # fmt: skip


@pytest.mark.parametrize(
    "request_",
    [
        SearchOpening("{}"),
        SearchOpening("{}", (PAST, PastTrial(5, TrialState.RUNNING, {}))),
        TrialChanged(PAST),
        ProposalRequested(6),
    ],
)
def test_request_is_one_line_and_unchanged_after_round_trip(request_: SearchRequest) -> None:
    line = encode_request(request_)
    assert line.count("\n") == 1 and line.endswith("\n")
    assert decode_request(line) == request_


@pytest.mark.parametrize(
    "reply",
    [
        SearchReady(),
        SamplerUnusable("there is no\npackage"),
        ProposalComputed(TrialPlan(6, {"x": 0.5, "y": None}, "gp", {"podium:told": 5})),
        ProposalComputed(TrialPlan(6, {}, "tpe", {}, fallback_reason=FallbackReason.MANY_TRIALS)),
        SamplerExhausted(6),
        ProposalFailed(6, "ValueError: no"),
    ],
)
def test_reply_is_one_line_and_unchanged_after_round_trip(reply: SearchReply) -> None:
    line = encode_reply(reply)
    assert line.count("\n") == 1 and line.endswith("\n")
    assert decode_reply(line) == reply


def test_decoded_values_have_the_types_of_the_fields() -> None:
    computed = decode_reply(
        encode_reply(ProposalComputed(TrialPlan(6, {}, "tpe", {}, fallback_reason=FallbackReason.MANY_TRIALS)))
    )
    assert isinstance(computed, ProposalComputed)
    assert computed.planned.fallback_reason is FallbackReason.MANY_TRIALS


@pytest.mark.parametrize("line", ["[]", "{}", '{"kind": "trial"}', '{"kind": "proposal_requested"}'])
def test_other_lines_are_refused(line: str) -> None:
    with pytest.raises(ValueError):
        decode_request(line)


def test_attributes_that_json_cannot_represent_are_refused() -> None:
    with pytest.raises(TypeError):
        encode_reply(ProposalComputed(TrialPlan(6, {}, "mine:Sampler", {"seen": {1, 2}})))
