"""The candidates and the content of a version before it is stored; api and host processes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from podium.ensemble.values.ensemble_snapshot import Combination
from podium.ensemble.values.ensemble_spec import Mode, Placement, Precision, Split
from podium.sweep.values.states import TrialState


@dataclass(frozen=True, slots=True)
class TrialFiles:
    """A trial that may become a member, with the attempts that hold its files; None: it saved none."""

    trial_id: int
    number: int
    sweep_id: int
    state: TrialState
    value: float | None
    goal: str
    model_attempt: int | None
    model_sha256: str | None
    predictions_attempt: int | None
    not_kept: str = ""  # why its model was deleted


@dataclass(frozen=True, slots=True)
class NewVersion:
    """A version as decided by `podium.ensemble.building.version_building`."""

    trial_ids: tuple[int, ...]  # in member order
    mode: Mode
    quorum: int
    deadline_ms: float
    replicas: int
    placement: Placement
    precision: Precision
    combination: Combination
    selection: dict[str, Any]  # how the members were selected: plain JSON values
    classes: tuple[str, ...]
    features: int


def used_splits(selection: dict[str, Any]) -> dict[Split, str]:
    """The splits that give biased scores for a version, and what they were used for."""
    used = {Split.VALIDATION: "the members, and each one's best epoch, were selected on this split"}
    if selection["fitted_on"] is not None:
        fitted_on = Split(selection["fitted_on"])
        fitted = "what combines the members was fitted on this split"
        used[fitted_on] = f"{used[fitted_on]}; {fitted}" if fitted_on in used else fitted
    return used
