"""What `.ci/audit.py` says of what pip-audit found, and of nobody to ask."""

from __future__ import annotations

import importlib.util
from typing import Any

import pytest

from tests.repository import ROOT

PATH = ROOT / ".ci" / "audit.py"
SOUND = {"name": "ray", "version": "2.60.0", "vulns": []}
UNKNOWN = {"name": "torch", "skip_reason": "Dependency not found on PyPI and could not be audited: torch (2.13.0)"}
WEAK = {
    "name": "starlette",
    "version": "0.1",
    "vulns": [{"id": "PYSEC-1", "fix_versions": ["0.2"], "aliases": [], "description": "Host\nis believed"}],
}


@pytest.fixture
def audit() -> Any:
    """The script as a module."""
    specification = importlib.util.spec_from_file_location("audit", PATH)
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def test_a_weakness_is_named_with_its_mend_and_fails(audit: Any) -> None:
    lines, status = audit.judged([SOUND, WEAK])
    assert status == 1
    assert lines == [
        "audit: starlette 0.1: PYSEC-1, mended in 0.2: Host is believed",
        "audit: 1 known weaknesses in 2 packages",
    ]


def test_one_that_was_looked_at_does_not(audit: Any) -> None:
    audit.REVIEWED["PYSEC-1"] = "we read the raw header"
    assert audit.judged([WEAK]) == (["audit: 0 known weaknesses in 1 packages"], 0)


def test_who_was_not_asked_about_is_named(audit: Any) -> None:
    lines, status = audit.judged([SOUND, UNKNOWN])
    assert status == 0
    assert lines == ["audit: 0 known weaknesses in 1 packages; not asked about torch, which pypi.org does not have"]


def test_with_nobody_to_ask_it_says_so_and_is_no_failure(audit: Any) -> None:
    lines, status = audit.judged([UNKNOWN, UNKNOWN])
    assert status == 0
    assert lines[0].startswith("audit: NOT ASKED: no advisories were to be had for any of 2 packages")
