"""The splits that a version was selected or fitted on, so that scores on them are biased; api and host processes."""

from __future__ import annotations

from typing import Any

from podium.ensemble.values.ensemble_spec import Split


def used_splits(selection: dict[str, Any]) -> dict[Split, str]:
    """The splits that give biased scores for a version, and what they were used for."""
    used = {Split.VALIDATION: "the members, and each one's best epoch, were selected on this split"}
    if selection["fitted_on"] is not None:
        fitted_on = Split(selection["fitted_on"])
        fitted = "what combines the members was fitted on this split"
        used[fitted_on] = f"{used[fitted_on]}; {fitted}" if fitted_on in used else fitted
    return used
