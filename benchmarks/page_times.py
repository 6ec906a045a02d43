"""Measures pages in the system's Chromium: until the first row is shown, and until a brush is drawn.

Without a GPU: canvases are rendered in software. The browser runs on the same cores as the service.
"""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import BrowserContext

FLAGS = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking"
    " --disable-component-update --disable-sync"
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
# From a key on a handle until the first frame after the last chart was drawn, which none follows within half a second.
_PRESS_FOR_ALL = """async key => {
  window.podiumDraws = [];
  const began = performance.now();
  document.activeElement.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
  let [drawn, last] = [0, began];
  for (let isNew = false, now = began; now - last < 500; ) {
    now = await new Promise(frame => requestAnimationFrame(() => frame(performance.now())));
    if (isNew) last = now;
    isNew = window.podiumDraws.length > drawn;
    drawn = window.podiumDraws.length;
    if (isNew) last = now;
  }
  return last - began;
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


def brush_ms(context: BrowserContext, url: str, presses: int) -> tuple[list[float], list[float]]:
    """Move the upper end of the first axis' brush down `presses` times by a key.

    Returns the times until its chart is drawn and, for half as many more, until all charts of the page are drawn.
    """
    page = context.new_page()
    page.add_init_script(_DRAWS)
    page.goto(url)
    handle = page.locator("[role=slider]").first
    handle.scroll_into_view_if_needed(timeout=PATIENCE_MS)
    page.wait_for_timeout(1000)
    handle.focus()
    times = [float(page.evaluate(_PRESS, "ArrowDown")) for _ in range(presses)]
    page.wait_for_timeout(3000)
    all_times = [float(page.evaluate(_PRESS_FOR_ALL, "ArrowDown")) for _ in range(presses // 2)]
    page.close()
    return times, all_times
