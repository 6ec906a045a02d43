"""A short version of `make fuzz`: responses to fuzzed requests match the OpenAPI document."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fuzz.campaign import run

CASES = 400


@pytest.mark.slow
def test_fuzzed_requests_match_openapi_document(tmp_path: Path) -> None:
    outcome = run(CASES, seed=5, folder=tmp_path, say=print)
    assert outcome.passed, "\n".join([str(dict(outcome.failures)), *(text[-6_000:] for text in outcome.log)])
    assert outcome.cases >= CASES
