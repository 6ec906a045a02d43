"""The traffic, the events and the drift of an ensemble as the REST API returns them; user's process."""

from __future__ import annotations

from typing import TypedDict


class TrafficPoint(TypedDict):
    """The requests of one interval; a share or latency is None without a request."""

    at: str  # its start, ISO 8601
    requests: int
    degraded: int
    failed: int
    late_share: float | None
    p50_ms: float | None
    p99_ms: float | None


class TrafficInfo(TypedDict):
    """Consecutive intervals; the last one is still running."""

    interval_s: int
    points: list[TrafficPoint]


class EnsembleEvent(TypedDict):
    """A state, a version, an evaluation, or a restart of members."""

    id: int
    at: str
    kind: str
    version: int | None
    canary_share: float | None
    members: list[int]  # positions in the version
    member_names: list[str]  # `trial 4 of sweep 3`
    reason: str


class FeatureDriftInfo(TypedDict):
    """A feature in the training rows and in recent requests; `difference` is in standard deviations."""

    feature: int
    name: str
    train_mean: float
    train_std: float
    recent_mean: float
    recent_std: float
    difference: float | None


class DriftInfo(TypedDict):
    """The features that differ most; `problem` says why nothing is compared."""

    rows: int
    problem: str
    threshold: float
    notable: int
    features: list[FeatureDriftInfo]
