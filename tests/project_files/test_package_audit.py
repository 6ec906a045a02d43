"""Findings of pip-audit as `.ci/audit.py` reports them, and the report without access to pypi.org."""

from __future__ import annotations

from typing import Any

import pytest

from tests.repository import ROOT, loaded

PATH = ROOT / ".ci" / "audit.py"
CLEAN = {"name": "ray", "version": "2.60.0", "vulns": []}
UNKNOWN = {"name": "torch", "skip_reason": "Dependency not found on PyPI and could not be audited: torch (2.13.0)"}
VULNERABLE = {
    "name": "starlette",
    "version": "0.1",
    "vulns": [{"id": "PYSEC-1", "fix_versions": ["0.2"], "aliases": [], "description": "Host\nis believed"}],
}


@pytest.fixture
def audit() -> Any:
    """The script as a module."""
    return loaded(PATH)


def test_vulnerability_is_named_with_its_fix_and_fails(audit: Any) -> None:
    lines, status = audit.report_of([CLEAN, VULNERABLE])
    assert status == 1
    assert lines == [
        "audit: starlette 0.1: PYSEC-1, fixed in 0.2: Host is believed",
        "audit: 1 known vulnerabilities in 2 packages",
    ]


def test_reviewed_vulnerability_does_not_fail(audit: Any) -> None:
    reviewed = {"PYSEC-1": "we read the raw header"}
    assert audit.report_of([VULNERABLE], reviewed) == (["audit: 0 known vulnerabilities in 1 packages"], 0)


def test_package_unknown_to_pypi_is_named(audit: Any) -> None:
    lines, status = audit.report_of([CLEAN, UNKNOWN])
    assert status == 0
    assert lines == ["audit: 0 known vulnerabilities in 1 packages; not checked: torch, which pypi.org does not have"]


def test_unreachable_pypi_is_reported_and_does_not_fail(audit: Any) -> None:
    lines, status = audit.report_of([UNKNOWN, UNKNOWN])
    assert status == 0
    assert lines[0].startswith("audit: NOT CHECKED: no advisories are available for any of 2 packages")
