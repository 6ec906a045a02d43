"""The messages between scheduler and search process: one JSON object per line, over pipes; both ends.

The scheduler sends a `SearchOpening`, then the trials so far and each change, and requests for proposals. The process
answers the opening with `SearchReady` or `SamplerUnusable`, and each request with one reply.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, fields
from typing import Any

from podium.sweep.protocol.message_codec import Codec, Conversions
from podium.sweep.values.search_messages import FallbackReason, PastTrial, TrialPlan


@dataclass(frozen=True, slots=True)
class SearchOpening:
    """The first message: the sweep, and the trials of other sweeps for a warm start."""

    spec: str  # `SweepSpec.to_json`
    earlier: tuple[PastTrial, ...] = ()


@dataclass(frozen=True, slots=True)
class TrialChanged:
    """The next trial, or the new content of an existing one."""

    trial: PastTrial


@dataclass(frozen=True, slots=True)
class ProposalRequested:
    """Compute values for a trial; all trials before it were sent."""

    number: int


@dataclass(frozen=True, slots=True)
class SearchReady:
    """All imports are done, and the sampler is constructed."""


@dataclass(frozen=True, slots=True)
class SamplerUnusable:
    """The sampler's class cannot be used; the process exits."""

    error: str


@dataclass(frozen=True, slots=True)
class ProposalComputed:
    """The values for the requested trial."""

    planned: TrialPlan


@dataclass(frozen=True, slots=True)
class SamplerExhausted:
    """The sampler has no values for the requested trial, or for any later one."""

    number: int


@dataclass(frozen=True, slots=True)
class ProposalFailed:
    """The sampler raised an error; the next request may succeed."""

    number: int
    error: str


@dataclass(frozen=True, slots=True)
class SearchProcessEnded:
    """The process ended. Its client creates this message; it is never sent."""


SearchRequest = SearchOpening | TrialChanged | ProposalRequested
SearchReply = SearchReady | SamplerUnusable | ProposalComputed | SamplerExhausted | ProposalFailed


def _earlier_to_json(earlier: tuple[PastTrial, ...]) -> list[dict[str, Any]]:
    return [trial.to_dict() for trial in earlier]


def _earlier_from_json(earlier: list[dict[str, Any]]) -> tuple[PastTrial, ...]:
    return tuple(PastTrial.from_dict(trial) for trial in earlier)


_PLAN_FIELDS = tuple(each.name for each in fields(TrialPlan))


def _plan_to_json(planned: TrialPlan) -> dict[str, Any]:
    return {name: getattr(planned, name) for name in _PLAN_FIELDS}


def _plan_from_json(values: dict[str, Any]) -> TrialPlan:
    reason = values["fallback_reason"]
    return TrialPlan(**{**values, "fallback_reason": None if reason is None else FallbackReason(reason)})


_CONVERSIONS: Conversions = {
    PastTrial: (PastTrial.to_dict, PastTrial.from_dict),
    tuple[PastTrial, ...]: (_earlier_to_json, _earlier_from_json),
    TrialPlan: (_plan_to_json, _plan_from_json),
}
_REQUESTS: Codec[SearchRequest] = Codec(
    {"opening": SearchOpening, "trial_changed": TrialChanged, "proposal_requested": ProposalRequested},
    conversions=_CONVERSIONS,
)
_REPLIES: Codec[SearchReply] = Codec(
    {
        "ready": SearchReady,
        "unusable": SamplerUnusable,
        "computed": ProposalComputed,
        "exhausted": SamplerExhausted,
        "failed": ProposalFailed,
    },
    conversions=_CONVERSIONS,
)


def encode_request(request: SearchRequest) -> str:
    """A request as a line."""
    return json.dumps(_REQUESTS.to_json(request)) + "\n"


def decode_request(line: str) -> SearchRequest:
    """The inverse of `encode_request`."""
    return _REQUESTS.from_json(json.loads(line))


def encode_reply(reply: SearchReply) -> str:
    """A reply as a line. Raises `TypeError` or `ValueError` if a sampler set attributes that JSON cannot represent."""
    return json.dumps(_REPLIES.to_json(reply)) + "\n"


def decode_reply(line: str) -> SearchReply:
    """The inverse of `encode_reply`."""
    return _REPLIES.from_json(json.loads(line))
