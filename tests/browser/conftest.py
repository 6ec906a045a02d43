"""One browser and one service for all tests here; each test gets a window that is signed in."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

from tests.browser.stage import Stage
from tests.visitor import Visitor, browser, missing


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Where no page can be looked at, these tests are skipped; in CI they fail instead."""
    reason = missing()
    for item in items:
        if "tests/browser/" in item.path.as_posix():
            item.add_marker(pytest.mark.browser)
            if reason is not None and not os.environ.get("CI"):
                item.add_marker(pytest.mark.skip(reason=reason))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """A test that failed says what was in its window: the address, the page as it is read aloud, and a picture."""
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
    """The browser. It ends with this package: while it lives, an event loop runs in this thread."""
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
    """A window of the usual size, signed in; in the end nothing may have left the origin or gone wrong in it."""
    with stage.visitor() as opened:
        yield opened


@pytest.fixture
def page(visitor: Visitor) -> Page:
    """Its page."""
    return visitor.page
