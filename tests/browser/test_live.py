"""Live updates: pages follow the service, and recover when it was unavailable."""

from __future__ import annotations

import os
import re
import secrets
import signal
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from tests.browser.stage import Stage
from tests.running_service import wait_for
from tests.visitor import Visitor, violations

BACK_MS = 60_000.0
SOON_MS = 10_000.0


def live(page: Page, word: str = "Live", timeout_ms: float = SOON_MS) -> None:
    """Assert that the top bar shows the state."""
    expect(page.get_by_role("banner").get_by_role("status")).to_have_text(word, timeout=timeout_ms)


def test_page_follows_sweep_without_reload(stage: Stage, visitor: Visitor) -> None:
    page = visitor.open("/")
    live(page)
    page.evaluate("() => { window.loadedOnce = true }")

    name = f"goes by {secrets.token_hex(3)}"
    sweep = stage.client.submit(stage.quick(name=name, run_cap=6))["id"]

    page.get_by_role("link", name=re.compile(name)).click()
    expect(page).to_have_url(re.compile(rf"/sweeps/{sweep}\b"))
    # The page shows the number of finished trials before the sweep ends.
    expect(page.locator(".sweep-state")).to_contain_text("finished", timeout=BACK_MS)
    assert stage.client.sweep(sweep)["state"] == "finished"
    assert page.evaluate("() => window.loadedOnce"), "the page was loaded once"


def test_page_recovers_when_api_restarts(stage: Stage, visitor: Visitor) -> None:
    page = visitor.open("/")
    live(page)

    os.kill(stage.service.pid("api"), signal.SIGKILL)
    live(page, "Reconnecting")

    live(page, timeout_ms=BACK_MS)
    stage.client.submit(stage.quick(name="after the api came back", run_cap=1))
    expect(page.get_by_role("link", name=re.compile("after the api came back"))).to_be_visible(timeout=SOON_MS)


NOTIFICATIONS = """
  window.shown = [];
  window.Notification = class extends Notification {
    static get permission() { return "granted"; } // Chromium's headless shell cannot grant it
    constructor(title, options) {
      super(title, options);
      window.shown.push(`${title}: ${options.body}`);
    }
  };
"""


def test_end_of_a_sweep_is_notified_on_another_page_and_its_progress_is_the_title(
    stage: Stage, visitor: Visitor
) -> None:
    sweep = stage.going(name="notified", run_cap=1)
    page = visitor.page
    page.add_init_script(NOTIFICATIONS)
    visitor.open(f"/sweeps/{sweep}")
    button = page.get_by_role("button", name="Notify me")
    button.click()
    expect(button).to_have_attribute("aria-pressed", "true")
    expect(page).to_have_title("0/1 · notified · Podium")
    page.get_by_role("link", name="Devices").first.click()
    trial = wait_for("its trial runs", lambda: list(stage.client.trials(sweep, state="running")))[0]
    stage.client.stop_sweep(sweep)  # ends with its trial
    stage.client.stop_trial(trial["id"])
    page.wait_for_function("() => window.shown.length > 0", timeout=BACK_MS)
    ended = stage.client.sweep(sweep)
    assert page.evaluate("window.shown") == [f"Sweep notified {ended['state']}: {ended['reason']}"]
    page.get_by_role("link", name="Sweeps").first.click()
    assert page.evaluate("localStorage.getItem('podium.notify')") == "[]", "once"


@pytest.fixture
def list_of_sweeps(stage: Stage) -> Iterator[Page]:
    """The page of all sweeps in a second window."""
    with stage.visitor() as other:
        yield other.open("/")


def test_lost_service_is_announced_and_pages_recover_when_it_restarts(
    stage: Stage, visitor: Visitor, list_of_sweeps: Page
) -> None:
    """Commands are disabled meanwhile. Both are one test, since a restart takes 15 s of processor time."""
    live(list_of_sweeps)
    sweep = stage.going(run_cap=1)
    page = visitor.open(f"/sweeps/{sweep}")
    live(page)
    stop = page.get_by_role("main").get_by_role("button", name="Stop", exact=True)
    expect(stop).to_be_enabled()
    badge = page.locator(".sweep-state .badge")
    expect(badge).to_contain_text("running", timeout=BACK_MS)
    color = "e => getComputedStyle(e).color"
    running = badge.evaluate(color)
    chip = page.get_by_role("button", name=re.compile("^.? ?running 1"))
    expect(chip).to_be_visible(timeout=BACK_MS)

    with stage.stopped():
        banner = page.get_by_role("alert").filter(has_text="This page shows the state of")
        said = re.compile(r"not responding.*state of \d{4}-\d\d-\d\d \d\d:\d\d:\d\d")
        expect(banner).to_contain_text(said, timeout=SOON_MS)
        box = banner.bounding_box()
        viewport = page.viewport_size
        assert box is not None and viewport is not None and box["width"] == viewport["width"], "across the window"
        expect(stop).to_be_disabled()
        assert badge.evaluate(color) != running, "the badge is grey"
        assert chip.evaluate(color) == badge.evaluate(color), "so is the number of running trials"
        for name in ("Table", "Curves", "Analysis", "Devices", "Ensemble", "Configuration"):
            tabs = page.get_by_role("navigation", name="Views of the sweep")
            tabs.get_by_role("link", name=name).click()
            expect(tabs.get_by_role("link")).to_have_count(6)
            expect(banner).to_be_visible()
        assert violations(page) == []
        live(list_of_sweeps, "Reconnecting")

    live(page, timeout_ms=BACK_MS)
    expect(banner).to_be_hidden()
    expect(stop).to_be_enabled()
    stage.client.cancel_sweep(sweep)

    live(list_of_sweeps, timeout_ms=BACK_MS)
    stage.client.submit(stage.quick(name="after the restart", run_cap=1))
    expect(list_of_sweeps.get_by_role("link", name=re.compile("after the restart"))).to_be_visible(timeout=SOON_MS)
