"""The dashboard's files: the page at every address, immutable assets, and no file from outside the build."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import pytest
from starlette.requests import Request
from starlette.testclient import TestClient

from podium.api.rest.dashboard_files import BUILD, DashboardFiles
from tests.repository import ROOT
from tests.service_rig import ServiceRig, assert_problem

PAGE = b"<!doctype html><title>Podium</title>"
SCRIPT = b"const answer = 42;\n" * 50
HTML = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}


@pytest.fixture
def build(tmp_path: Path) -> Path:
    """A small build, and a secret file next to it."""
    root = tmp_path / "static"
    (root / "assets").mkdir(parents=True)
    (root / "index.html").write_bytes(PAGE)
    (root / "assets" / "index-Ab12.js").write_bytes(SCRIPT)
    (root / "favicon.svg").write_text("<svg/>")
    (root / ".hidden").write_text("hidden")
    (tmp_path / "secret").write_text("secret")
    (root / "link").symlink_to(tmp_path / "secret")
    return root


@pytest.fixture
def browser(service: ServiceRig, build: Path) -> TestClient:
    """A browser client of a service with that build."""
    app = service.app()
    app.router.default = DashboardFiles(build)
    return service.client(None, app)


@pytest.mark.parametrize("path", ["/", "/login", "/sweeps/17/table?filter=lr<0.1", "/trials/5", "/new", "/../login"])
def test_every_address_of_the_dashboard_is_its_page(browser: TestClient, path: str) -> None:
    answer = browser.get(path, headers=HTML)
    assert (answer.status_code, answer.content) == (200, PAGE)
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert answer.headers["cache-control"] == "no-cache"


def test_page_is_revalidated_and_not_sent_twice(browser: TestClient, build: Path) -> None:
    tag = browser.get("/index.html").headers["etag"]
    again = browser.get("/", headers={**HTML, "If-None-Match": tag})
    assert (again.status_code, again.content) == (304, b"")
    (build / "index.html").write_bytes(b"<!doctype html>newer")
    os.utime(build / "index.html", ns=(1, 1))
    assert browser.get("/", headers={**HTML, "If-None-Match": tag}).content == b"<!doctype html>newer"


def test_assets_are_compressed_and_immutable(browser: TestClient) -> None:
    answer = browser.get("/assets/index-Ab12.js", headers={"Accept-Encoding": "gzip, br"})
    assert (answer.status_code, answer.content, answer.headers["content-encoding"]) == (200, SCRIPT, "gzip")
    assert int(answer.headers["content-length"]) == len(gzip.compress(SCRIPT, mtime=0))
    assert answer.headers["content-type"].startswith("text/javascript")
    assert "immutable" in answer.headers["cache-control"]
    plain = browser.get("/assets/index-Ab12.js", headers={"Accept-Encoding": "identity"})
    assert (plain.content, "content-encoding" in plain.headers) == (SCRIPT, False)


@pytest.mark.parametrize(
    "path",
    ["/assets/none.js", "/api/v1/none", "/api", "/v2/../secret", "/schemas/none", "/metrics/x", "/%2e%2e/secret",
     "/assets/%2e%2e/%2e%2e/secret", "/.hidden", "/link", "/%00", "/assets/..%5c..%5csecret", "/x" * 3000],
)  # fmt: skip
def test_other_paths_are_404(browser: TestClient, path: str) -> None:
    answer = browser.get(path)
    assert answer.status_code in (401, 404)
    assert b"secret" not in answer.content
    assert answer.headers["content-type"] == "application/problem+json"


@pytest.mark.parametrize("path", ["/../secret", "//secret", "///../secret", "/assets/../../secret", "/./../secret"])
def test_malformed_path_does_not_leave_the_build(build: Path, path: str) -> None:
    scope = {"type": "http", "method": "GET", "path": path, "headers": [], "query_string": b""}
    assert DashboardFiles(build).answer(Request(scope)).status_code == 404


def test_unknown_api_route_is_404_for_browsers(browser: TestClient) -> None:
    assert_problem(browser.get("/api/v1/none", headers=HTML), 404)
    assert_problem(browser.post("/login", headers=HTML), 404)
    assert browser.head("/login", headers=HTML).status_code == 200
    assert browser.request("PUT", "/healthz", headers=HTML).status_code == 405


def test_page_without_a_build_says_what_to_do(service: ServiceRig, tmp_path: Path) -> None:
    app = service.app()
    app.router.default = DashboardFiles(tmp_path / "nothing")
    answer = service.client(None, app).get("/sweeps/1", headers=HTML)
    assert answer.status_code == 404
    assert "make dashboard" in answer.text


def test_build_folder_is_the_output_of_the_dashboard_build() -> None:
    assert BUILD.resolve() == (ROOT / "api" / "static").resolve()
