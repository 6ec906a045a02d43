"""The causes of failed attempts: which of them the infrastructure is responsible for."""

from __future__ import annotations

from podium.sweep.values.failure_causes import INFRASTRUCTURE_CAUSES, Cause


def test_infrastructure_causes_are_causes() -> None:
    assert set(Cause) > INFRASTRUCTURE_CAUSES
    assert Cause.USER_ERROR not in INFRASTRUCTURE_CAUSES
