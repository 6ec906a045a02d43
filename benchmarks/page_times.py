"""Measures pages in the system's Chromium: until the first row is shown, and until a brush is drawn.

Without a GPU: canvases are rendered in software. The browser runs on the same cores as the service.
"""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from playwright.sync_api import BrowserContext

FLAGS = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking"
    " --disable-component-update --disable-sync"
    # Pages of Chromium's own, which each new window would load; this list replaces Playwright's.
    " --disable-features=WebUIOmniboxPopup,WebUIOmniboxAimPopup,DestroyProfileOnBrowserClose,HttpsUpgrades"
)
PATIENCE_MS = 120_000
SETTLE_MS = 5_000  # Chromium loads its own pages after its start, on the same cores
# From a key on a handle until its effect is on the screen: two frames, so that the canvas has been drawn.
_PRESS = """async key => {
  const handle = document.activeElement;
  const began = performance.now();
  handle.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
  await new Promise(drawn => requestAnimationFrame(() => requestAnimationFrame(drawn)));
  return performance.now() - began;
}"""
# The start time of each drawing of a canvas: drawing code clears the canvas first.
_DRAWS = """
  window.podiumDraws = [];
  const clear = CanvasRenderingContext2D.prototype.clearRect;
  CanvasRenderingContext2D.prototype.clearRect = function (...where) {
    window.podiumDraws.push(performance.now());
    return clear.apply(this, where);
  };
"""
# Counts the requests that wait for a response. Keeps the times of the last response and of the first one with trials.
_REQUESTS = """
  window.podiumRequests = { waiting: 0, endedAt: 0, answeredAt: Infinity };
  const send = window.fetch;
  window.fetch = async (...request) => {
    const isPoints = String(request[0]?.url ?? request[0]).includes("/points");
    window.podiumRequests.waiting += 1;
    try {
      const answer = await send(...request);
      if (isPoints) window.podiumRequests.answeredAt = Math.min(window.podiumRequests.answeredAt, performance.now());
      return answer;
    } finally {
      window.podiumRequests.waiting -= 1;
      window.podiumRequests.endedAt = performance.now();
    }
  };
"""
# From a key on a handle: [until the first frame after all charts are drawn with the trials that the page has, until the
# first frame after they are drawn with the response of the service; 0 if it is not queried]. It is over when no request
# waits, and no response has come and nothing was drawn for half a second.
_PRESS_FOR_ALL = """async key => {
  window.podiumDraws = [];
  const requests = window.podiumRequests;
  requests.answeredAt = Infinity;
  const began = performance.now();
  document.activeElement.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
  let [drawn, last, here, there] = [0, began, began, 0];
  for (let isNew = false, now = began; requests.waiting > 0 || now - Math.max(last, requests.endedAt) < 500; ) {
    now = await new Promise(frame => requestAnimationFrame(() => frame(performance.now())));
    const since = window.podiumDraws.length > drawn;
    if (isNew || since) last = now;
    if (isNew || since) window.podiumDraws.at(-1) < requests.answeredAt ? (here = now) : (there = now);
    isNew = since;
    drawn = window.podiumDraws.length;
  }
  return [here - began, there === 0 ? 0 : there - began];
}"""
_PAINT = """() => performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? 0"""


def chromium() -> str | None:
    """The system's browser; None if it or playwright is not installed."""
    with contextlib.suppress(ImportError):
        import playwright.sync_api  # noqa: F401

        return shutil.which("chromium") or shutil.which("chromium-browser")
    return None


@contextlib.contextmanager
def browser(executable: str) -> Iterator[BrowserContext]:
    """A browser with an empty profile, 1400 by 900."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=executable, args=FLAGS.split())
        context = opened.new_context(viewport={"width": 1400, "height": 900})
        context.new_page().wait_for_timeout(SETTLE_MS)
        yield context
        opened.close()


def shown_ms(context: BrowserContext, url: str, selector: str) -> tuple[float, float]:
    """The time from the start of a visit to the first paint, and until `selector` exists.

    Both are two minutes after a timeout.
    """
    from playwright.sync_api import TimeoutError as LateError

    page = context.new_page()
    page.goto(url, wait_until="commit")
    try:
        page.wait_for_selector(selector, timeout=PATIENCE_MS)
    except LateError:
        page.close()
        return PATIENCE_MS, PATIENCE_MS
    there = page.evaluate("performance.now()")
    page.wait_for_timeout(100)
    paint = page.evaluate(_PAINT)
    page.close()
    return paint, there


class BrushTimes(NamedTuple):
    """Milliseconds from a key until what it changes is drawn."""

    lines: list[float]  # its chart
    charts: list[float]  # all charts of the page, with the trials that the page has
    queried: list[float]  # all of them with the response of the service; empty if the page has all trials


def brush_ms(context: BrowserContext, url: str, presses: int) -> BrushTimes:
    """Move the upper end of the first axis' brush down `presses` times by a key, then half as often for all charts."""
    page = context.new_page()
    page.add_init_script(_DRAWS)
    page.add_init_script(_REQUESTS)
    page.goto(url)
    handle = page.locator("[role=slider]").first
    handle.scroll_into_view_if_needed(timeout=PATIENCE_MS)
    page.wait_for_timeout(1000)
    handle.focus()
    times = [float(page.evaluate(_PRESS, "ArrowDown")) for _ in range(presses)]
    page.wait_for_timeout(3000)
    pairs = [page.evaluate(_PRESS_FOR_ALL, "ArrowDown") for _ in range(presses // 2)]
    page.close()
    queried = [float(there) for _, there in pairs if there]
    return BrushTimes(times, [float(here) for here, _ in pairs], queried)
