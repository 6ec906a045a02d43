"""Which variables trials inherit; the complete environment is in tests/integration/test_trial_environment.py."""

from __future__ import annotations

import pytest

from podium.sweep.runtime.serve_environment_for_trials import WITHHOLD_CREDENTIALS, user_environment

CREDENTIALS = ("AWS_SECRET_ACCESS_KEY", "AZURE_STORAGE_KEY", "FSSPEC_S3_SECRET", "GOOGLE_APPLICATION_CREDENTIALS")


@pytest.fixture
def own(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    for name in (*CREDENTIALS, "OF_USER", "PODIUM_TOKEN"):
        monkeypatch.setenv(name, "x")
    monkeypatch.delenv("PODIUM_SERVE_PID", raising=False)
    return monkeypatch


def test_credentials_of_an_object_store_are_withheld(own: pytest.MonkeyPatch) -> None:
    own.setenv(WITHHOLD_CREDENTIALS, "1")
    found = user_environment()
    assert "OF_USER" in found and not {*CREDENTIALS, "PODIUM_TOKEN", WITHHOLD_CREDENTIALS} & found.keys()


def test_same_variables_are_inherited_without_one(own: pytest.MonkeyPatch) -> None:
    own.delenv(WITHHOLD_CREDENTIALS, raising=False)
    found = user_environment()
    assert {*CREDENTIALS, "OF_USER"} <= found.keys() and "PODIUM_TOKEN" not in found
