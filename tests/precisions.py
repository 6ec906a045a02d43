"""Whether a machine computes members in int8: on processors without instructions for it, they stay in float32."""

from __future__ import annotations

import pytest

from podium.api.client.ensemble_responses import EnsembleInfo


def skip_where_int8_is_slow(*ensembles: EnsembleInfo) -> None:
    """Skip if a member that was requested in int8 is computed in float32 because of the time, and fail if otherwise."""
    found = [member["precision"] for ensemble in ensembles for member in ensemble["members"]]
    refused = [precision["reason"] for precision in found if precision["used"] != "int8"]
    assert all("× the bytes, but the time is" in reason for reason in refused), refused
    if refused:
        pytest.skip(refused[0])
