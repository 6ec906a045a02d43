"""A user of the dashboard: Debian's Chromium, one window, and the checks that apply to every page.

Used by the tests in `tests/browser` and by the screenshots. Requests to other origins, messages printed as an
error and exceptions are recorded, so that `assert_clean` can check them at the end.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib import resources
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

from playwright.sync_api import Browser, ConsoleMessage, Page, Request, sync_playwright
from playwright.sync_api import Error as PlaywrightError

from tests.repository import ROOT

BUILD = ROOT / "api" / "static" / "index.html"
TARGET_SIZE = "target-size"  # of WCAG 2.2, level AA; axe has it off by default
LOOK_RULES = ("color-contrast", "link-in-text-block", "scrollable-region-focusable", TARGET_SIZE)
_AXE = resources.files("axe_playwright_python") / "axe.min.js"  # axe-core, from PyPI: the tests need no npm
Theme = Literal["dark", "light"]
DESK = (1280, 800)
PHONE = (390, 844)
WAIT_MS = 15_000.0
_NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")  # the first needs a fifth less
# This list replaces Playwright's, and repeats what matters here of it. The popups of the address bar are pages of
# Chromium's own: every new window would load two of them, with more processor time than a page of the dashboard.
_DISABLED_FEATURES = (
    "WebUIOmniboxPopup",
    "WebUIOmniboxAimPopup",
    "AvoidUnnecessaryBeforeUnloadCheckSync",
    "DestroyProfileOnBrowserClose",
    "HttpsUpgrades",
    "MediaRouter",
    "OptimizationHints",
    "ThirdPartyStoragePartitioning",
)
_FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    f"--disable-features={','.join(_DISABLED_FEATURES)}",
)
# Chromium prints this for every status above 399 and every refused connection; the page shows its own message.
_NETWORK_MESSAGES = re.compile(r"Failed to load resource|net::ERR_|EventSource")


def chromium() -> str | None:
    """The browser of this system, or the one in PODIUM_CHROMIUM."""
    named = os.environ.get("PODIUM_CHROMIUM")
    return named or next((found for name in _NAMES if (found := shutil.which(name))), None)


def missing() -> str | None:
    """Why no browser is available, or None."""
    if chromium() is None:
        return "no Chromium here; on Debian: apt install chromium-headless-shell"
    if not BUILD.exists():
        return "the dashboard is not built; make dashboard"
    return None


@contextmanager
def browser() -> Iterator[Browser]:
    """Headless Chromium with a fresh profile."""
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=chromium(), args=list(_FLAGS))
        yield opened
        opened.close()


class Visitor:
    """One window, signed in once it has followed a login link; closes with its `with` block."""

    def __init__(
        self,
        browser: Browser,
        url: str,
        *,
        theme: Theme = "dark",
        size: tuple[int, int] = DESK,
        state: Any = None,
        scale: float = 1,
    ) -> None:
        """`state`: the stored state of another visitor's window, including its cookie."""
        self.url = url
        self.strangers: list[str] = []
        self.complaints: list[str] = []
        self._context = browser.new_context(
            viewport={"width": size[0], "height": size[1]}, device_scale_factor=scale, color_scheme=theme,
            reduced_motion="reduce", has_touch=size == PHONE, locale="en-GB", timezone_id="UTC", storage_state=state,
        )  # fmt: skip
        self._context.set_default_timeout(WAIT_MS)
        self._context.on("request", self._on_request)
        self._context.on("console", self._on_console_message)
        self._context.on("weberror", lambda error: self.complaints.append(str(error.error)))
        self.page: Page = self._context.new_page()

    def _on_request(self, request: Request) -> None:
        address = urlsplit(request.url)
        if address.scheme not in ("data", "blob") and f"{address.scheme}://{address.netloc}" != self.url:
            self.strangers.append(request.url)

    def _on_console_message(self, message: ConsoleMessage) -> None:
        if message.type == "error" and not _NETWORK_MESSAGES.search(message.text):
            self.complaints.append(message.text)

    def follow(self, link: str) -> Page:
        """Open a login link; returns the page after the login."""
        self.page.goto(link)
        self.page.get_by_role("navigation").first.wait_for()
        return self.page

    def open(self, path: str) -> Page:
        """Open a page of the dashboard and wait for its load event."""
        self.page.goto(self.url + path)
        return self.page

    def state(self) -> Any:
        """The stored state of this window, for another one."""
        return self._context.storage_state()

    def described(self, picture: Path) -> str:
        """A description of the window; `picture` is the path of a screenshot."""
        with suppress(PlaywrightError):
            self.page.screenshot(path=picture, timeout=5_000)
            read = self.page.locator("body").aria_snapshot(timeout=5_000)
            return f"{self.page.url}, drawn in {picture}\n{read[:6_000]}"
        return f"{self.page.url}: it does not say"

    def close(self) -> None:
        self._context.close()

    def assert_clean(self) -> None:
        """Assert no requests to other origins, and no policy violations, exceptions or printed errors."""
        assert self.strangers == [], "requests that left the origin"
        assert self.complaints == [], "the page threw, or printed errors"

    def __enter__(self) -> Visitor:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()
        if error[0] is None:
            self.assert_clean()


def violations(page: Page, rules: Sequence[str] = ()) -> list[str]:
    """What axe finds on the current page, of any impact, each with its elements.

    `rules`: only these; `LOOK_RULES` depend on colors and sizes, for a page that was checked in another look.
    Otherwise all that are on by default, the best practices among them, and the size of targets. Measured at the top
    of the page, as the bar covers a part of a target that is scrolled below it.
    """
    page.evaluate("() => window.scrollTo(0, 0)")
    if not page.evaluate("() => 'axe' in window"):
        page.evaluate(_AXE.read_text("utf-8"))
    chosen = {"runOnly": {"type": "rule", "values": list(rules)}} if rules else {}
    options = {"resultTypes": ["violations"], "rules": {TARGET_SIZE: {"enabled": True}}, **chosen}
    found = page.evaluate("options => axe.run(document, options)", options)
    return [
        f"{one['id']} ({one['impact']}): {' '.join(map(str, node['target']))}: {node['failureSummary']}"
        for one in found["violations"]
        for node in one["nodes"][:5]
    ]


def overflow_px(page: Page) -> int:
    """By how many pixels the page is wider than its window."""
    found: int = page.evaluate("() => document.documentElement.scrollWidth - document.documentElement.clientWidth")
    return found
