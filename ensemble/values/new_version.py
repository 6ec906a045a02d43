"""The content of a version before it is stored; api and host processes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from podium.ensemble.values.ensemble_snapshot import Combination
from podium.ensemble.values.ensemble_spec import Mode, Placement, Precision


@dataclass(frozen=True, slots=True)
class NewVersion:
    """A version as decided by `podium.ensemble.building.version_building`."""

    trial_ids: tuple[int, ...]  # in member order
    mode: Mode
    quorum: int
    deadline_ms: float
    replicas: int
    placement: Placement
    devices: int  # of each replica
    precisions: tuple[Precision, ...]  # requested, in member order
    max_loss_increase: float
    combination: Combination
    selection: dict[str, Any]  # how the members were selected: plain JSON values
    classes: tuple[str, ...]
    features: int
