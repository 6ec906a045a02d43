"""The committed files of the dashboard: the npm lock file, the types of the routes, and the size of the build."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path

import pytest

from podium.api.rest import write_openapi
from podium.api.rest.dashboard_files import BUILD
from tests.repository import ROOT, loaded

check = loaded(ROOT / ".ci" / "check_dashboard_build.py")
DASHBOARD = ROOT / "api" / "dashboard"
STATIC = ROOT / "api" / "static"


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


@pytest.mark.slow
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
def test_first_page_of_the_build_is_within_its_budget() -> None:
    assert check.check_size(STATIC) == []


def _build(folder: Path, sizes: dict[str, int], manifest: dict[str, object]) -> Path:
    """A build whose files have these sizes and do not compress."""
    for name, size in sizes.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(random.Random(name).randbytes(size))
    (folder / check.MANIFEST).parent.mkdir()
    (folder / check.MANIFEST).write_text(json.dumps(manifest))
    return folder


MANIFEST: dict[str, object] = {
    "index.html": {"file": "index.js", "css": ["index.css"], "imports": ["_frame.js"], "dynamicImports": ["src/a.tsx"]},
    "_frame.js": {"file": "frame.js", "imports": ["_libraries.js"]},
    "_libraries.js": {"file": "libraries.js", "imports": ["_frame.js"]},
    "src/a.tsx": {"file": "a.js", "css": ["a.css"], "imports": ["_libraries.js"], "isDynamicEntry": True},
    "src/b.tsx": {"file": "b.js", "imports": ["src/a.tsx"], "isDynamicEntry": True},
}
KILOBYTE = {"index.html": 1_000, "index.js": 1_000, "index.css": 1_000, "frame.js": 1_000, "libraries.js": 1_000}


def test_the_budget_counts_what_the_first_page_loads_statically(tmp_path: Path) -> None:
    build = _build(tmp_path, {**KILOBYTE, "a.js": 300_000, "a.css": 2_000, "b.js": 4_000}, MANIFEST)

    assert check.check_size(build) == []
    assert round(check.first_page_kb(build, MANIFEST)) == 5
    assert {name: round(size) for name, size in check.parts_kb(build, MANIFEST).items()} == {
        "src/b.tsx": 306,
        "src/a.tsx": 302,
    }


def test_the_list_of_sweeps_counts_even_if_it_is_a_part(tmp_path: Path) -> None:
    manifest = MANIFEST | {"src/pages/sweeps.tsx": {"file": "sweeps.js", "isDynamicEntry": True}}
    build = _build(tmp_path, {**KILOBYTE, "a.js": 1, "a.css": 1, "b.js": 1, "sweeps.js": 200_000}, manifest)

    assert check.check_size(build) == ["the first page has 205 kB, compressed; the limit is 200 kB"]
    assert "src/pages/sweeps.tsx" not in check.parts_kb(build, manifest)


def test_a_build_without_its_manifest_is_refused(tmp_path: Path) -> None:
    assert check.check_size(tmp_path) == [
        f"{tmp_path.name}/.vite/manifest.json is missing, which lists what each page loads"
    ]


@pytest.mark.skipif(not STATIC.exists(), reason="the dashboard is not built; make dashboard")
def test_build_loads_only_its_own_files() -> None:
    code = {path.name: path.read_bytes() for path in STATIC.rglob("*") if path.suffix in (".js", ".css", ".html")}

    page = code["index.html"].decode()
    assert re.findall(r"""(?:src|href)="(?!/)""", page) == []
    assert "<style" not in page
    assert re.findall(r"<script(?![^>]*\bsrc=)", page) == []
    css = " ".join(text.decode() for name, text in code.items() if name.endswith(".css"))
    assert re.findall(r"(?:@import|url\()[^;)]*//", css) == []


def test_app_serves_the_committed_build() -> None:
    assert BUILD.resolve() == ROOT / "api" / "static"
    assert (BUILD / "index.html").is_file()
