"""The committed files of the dashboard: the npm lock file, the types of the routes, and the size of the build."""

from __future__ import annotations

import gzip
import json
import re

import pytest

from podium.api.rest import write_openapi
from podium.api.rest.dashboard_files import BUILD
from tests.repository import ROOT

DASHBOARD = ROOT / "api" / "dashboard"
STATIC = ROOT / "api" / "static"
BUDGET_BYTES = 200_000


def test_lock_file_identifies_packages_by_integrity_only() -> None:
    lock = json.loads((DASHBOARD / "package-lock.json").read_text())
    packages = {name: package for name, package in lock["packages"].items() if name}

    assert packages
    assert [name for name, package in packages.items() if "resolved" in package] == []
    assert [name for name, package in packages.items() if not package.get("integrity")] == []
    assert "omit-lockfile-registry-resolved=true" in (DASHBOARD / ".npmrc").read_text().split()


def test_every_direct_dependency_has_an_exact_version() -> None:
    asked = json.loads((DASHBOARD / "package.json").read_text())
    versions = {**asked["dependencies"], **asked["devDependencies"]}

    assert [f"{name} {version}" for name, version in versions.items() if not re.fullmatch(r"[0-9.]+", version)] == []


def test_types_have_all_routes_and_their_descriptions() -> None:
    """The check of the build compares every byte, but needs Node."""
    document, types = json.loads(write_openapi.document()), (DASHBOARD / "src" / "schema.d.ts").read_text()
    operations = [each for all_of in document["paths"].values() for each in all_of.values()]
    routes, typed = {each["operationId"] for each in operations}, set(re.findall(r'operations\["(\w+)"\]', types))
    described = [
        each["description"]
        for each in [*operations, *document["components"]["schemas"].values()]
        if "description" in each
    ]

    again = "`make dashboard` writes the types of the routes again"
    assert (routes - typed, typed - routes) == (set(), set()), again
    assert [text for text in described if _words(text) not in _words(types)] == [], again


def _words(text: str) -> str:
    """The text without line breaks and the asterisks of comments."""
    return re.sub(r"[\s*]+", " ", text)


@pytest.mark.skipif(not STATIC.exists(), reason="the dashboard is not built; make dashboard")
def test_build_is_small_and_loads_only_its_own_files() -> None:
    code = {path.name: path.read_bytes() for path in STATIC.rglob("*") if path.suffix in (".js", ".css", ".html")}

    assert sum(len(gzip.compress(text)) for text in code.values()) <= BUDGET_BYTES
    page = code["index.html"].decode()
    assert re.findall(r"""(?:src|href)="(?!/)""", page) == []
    assert "<style" not in page
    assert re.findall(r"<script(?![^>]*\bsrc=)", page) == []
    css = " ".join(text.decode() for name, text in code.items() if name.endswith(".css"))
    assert re.findall(r"(?:@import|url\()[^;)]*//", css) == []


def test_app_serves_the_committed_build() -> None:
    assert BUILD.resolve() == ROOT / "api" / "static"
    assert (BUILD / "index.html").is_file()
