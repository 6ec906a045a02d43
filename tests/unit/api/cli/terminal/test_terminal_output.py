"""Data of the REST API as text on a terminal."""

from __future__ import annotations

from typing import Any

import pytest

from podium.api.cli.terminal import sweep_output
from podium.sweep.values.search_messages import FallbackReason

NONE: dict[str, Any] = {"sampler": "random", "fallback_reason": None, "fallback_error": None, "proposed_for": None}


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"sampler": "gp"}, "gp"),
        ({"sampler": "gp", "proposed_for": 17}, "gp, proposed for trial 17"),
        ({"fallback_reason": "slow"}, "random, because the method had proposed nothing by the deadline"),
        (
            {"fallback_reason": "failed", "fallback_error": "ValueError: no"},
            "random, because the method failed: ValueError: no",
        ),
        ({"fallback_reason": "process_ended"}, "random, because the process of the method ended too often"),
        (
            {"sampler": "tpe", "fallback_reason": "many_trials"},
            "tpe, because the sweep has more trials than its method supports",
        ),
        ({"fallback_reason": "from a newer service"}, "random, because from a newer service"),
    ],
)
def test_the_sampler_of_a_trial(fields: dict[str, Any], text: str) -> None:
    trial: Any = NONE | fields
    assert sweep_output.sampler(trial) == text


def test_every_fallback_reason_has_a_text() -> None:
    for reason in FallbackReason:
        trial: Any = NONE | {"fallback_reason": reason.value}
        assert sweep_output.sampler(trial) != f"random, because {reason.value}"


@pytest.mark.parametrize(
    ("state", "own", "wait", "text"),
    [
        ("running", "", "", ""),
        ("queued", "", "no device is up yet", "no device is up yet"),
        ("queued", "resumed on request", "no device is up yet", "no device is up yet"),
        ("finished", "24 trials counted", "", "24 trials counted"),
        ("stopping", "stopped on request", "", "stopped on request"),
        (
            "stopping",
            "stopped on request",
            "no device is up yet",
            "stopped on request; its last trials wait: no device is up yet",
        ),
    ],
)
def test_the_reason_of_a_sweep(state: str, own: str, wait: str, text: str) -> None:
    sweep: Any = {"state": state, "reason": own, "wait_message": wait}
    assert sweep_output.reason(sweep) == text
