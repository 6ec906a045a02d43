"""One browser and one service for all tests here; each test gets a window that is signed in."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.stage import Stage
from tests.visitor import WAIT_MS, Visitor, browser, missing

expect.set_options(timeout=WAIT_MS)  # the default, 5 s, is short next to other tests


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip these tests where no browser is available; in CI they fail instead."""
    reason = missing()
    for item in items:
        if "tests/browser/" in item.path.as_posix():
            item.add_marker(pytest.mark.browser)
            if reason is not None and not os.environ.get("CI"):
                item.add_marker(pytest.mark.skip(reason=reason))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add the content of the window to a failed test: URL, accessibility tree, and screenshot."""
    report = yield
    visitor = getattr(item, "funcargs", {}).get("visitor")
    if report.when == "call" and report.failed and visitor is not None:
        picture = (
            Path(tempfile.gettempdir()) / "podium-browser" / f"{re.sub(r'[^a-z0-9]+', '-', item.name.lower())}.png"
        )
        report.sections.append(("the window", visitor.described(picture)))
    return report


@pytest.fixture(scope="package")
def chrome() -> Iterator[Browser]:
    """The browser. It closes with this package: while it is open, an event loop runs in this thread."""
    reason = missing()
    assert reason is None, reason
    with browser() as opened:
        yield opened


@pytest.fixture(scope="package")
def stage(tmp_path_factory: pytest.TempPathFactory, chrome: Browser) -> Iterator[Stage]:
    """The service with its sweeps, and a cookie for it."""
    with Stage(tmp_path_factory.mktemp("dashboard"), chrome) as opened:
        yield opened


@pytest.fixture
def visitor(stage: Stage) -> Iterator[Visitor]:
    """A signed-in window of the default size; at the end, `assert_clean` must hold."""
    with stage.visitor() as opened:
        yield opened


@pytest.fixture
def page(visitor: Visitor) -> Page:
    """Its page."""
    return visitor.page
