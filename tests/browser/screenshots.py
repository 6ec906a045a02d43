"""Every page of a real service as PNG, dark, light and on a phone: `python -m tests.browser.screenshots DIR`.

`make screenshots` writes them into docs/images. `--only NAME` takes the shots whose name contains NAME.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page

from tests.browser.login import fresh_link
from tests.browser.scene import Scene
from tests.visitor import PHONE, Theme, Visitor, browser, missing, overflow_px

REST_MS = 700.0
WIDE = (1280, 1000)
LOOKS: Mapping[str, tuple[Theme, tuple[int, int], float]] = {
    "dark": ("dark", WIDE, 1),
    "light": ("light", WIDE, 1),
    "phone": ("dark", PHONE, 2),
}


def nothing(page: Page) -> None:
    """The page as it opens."""


def from_heading(name: str) -> Callable[[Page], None]:
    """The page from one of its headings on."""

    def scroll(page: Page) -> None:
        heading = page.get_by_role("heading", name=name, exact=True).first
        heading.evaluate("(element) => element.closest('.panel').scrollIntoView({block: 'start'})")
        page.evaluate("() => window.scrollBy(0, -70)")  # the bar stays on top
        page.wait_for_timeout(REST_MS)

    return scroll


def judged(page: Page) -> None:
    """Wait until parameter importance is shown."""
    page.get_by_text("Computing…").wait_for(state="hidden", timeout=60_000)
    page.wait_for_timeout(REST_MS)


@dataclass(frozen=True)
class Shot:
    """One screenshot: its name, the path of the page, and the actions before it."""

    name: str
    path: str
    do: Callable[[Page], None] = nothing


def shots(scene: Scene) -> Iterator[Shot]:
    """All of them."""
    digits, watched = f"/sweeps/{scene.digits}", f"/sweeps/{scene.watched}"
    yield Shot("sweeps", "/")
    yield Shot("new-sweep", f"/new?from={scene.digits}")
    yield Shot("sweep-table", digits)
    yield Shot("sweep-filtered", f"{digits}/table?filter=optimizer:adam+lr<0.005")
    yield Shot("sweep-curves", f"{digits}/curves")
    yield Shot("sweep-analysis", f"{digits}/analysis", judged)
    yield Shot("sweep-parallel", f"{digits}/analysis?filter=optimizer:adam", from_heading("Parallel coordinates"))
    yield Shot("sweep-front", f"/sweeps/{scene.front}/analysis")
    yield Shot("sweep-devices", f"{watched}/devices")
    yield Shot("sweep-ensemble", f"{digits}/ensemble")
    yield Shot("sweep-configuration", f"{digits}/configuration")
    yield Shot("sweep-running", watched)
    best = ",".join(str(trial["trial_id"]) for trial in scene.client.best(scene.digits, 3))
    yield Shot("compare", f"{digits}/compare?trials={best}")
    yield Shot("trial", f"/trials/{scene.best}")
    yield Shot("trial-running", f"/trials/{scene.running}")
    if scene.failed is not None:
        yield Shot("trial-failed", f"/trials/{scene.failed}")
    yield Shot("ensembles", "/ensembles")
    yield Shot("ensemble", f"/ensembles/{scene.ensemble}")
    yield Shot("ensemble-evaluation", f"/ensembles/{scene.ensemble}", from_heading("Evaluation"))
    yield Shot("devices", "/devices")


def take(chrome: Browser, scene: Scene, folder: Path, only: str) -> None:
    """Take each page in each look; pages that overflow the window are printed."""
    with Visitor(chrome, scene.client.url) as first:
        first.open("/login")
        settle(first.page)
        if only in "login":
            first.page.screenshot(path=folder / "login-dark.png")
        first.follow(fresh_link(scene.service.data.root))
        state = first.state()
    for look, (theme, size, scale) in LOOKS.items():
        with Visitor(chrome, scene.client.url, theme=theme, size=size, scale=scale, state=state) as visitor:
            for shot in shots(scene):
                if only in shot.name:
                    snap(visitor, shot, folder / f"{shot.name}-{look}.png")


def snap(visitor: Visitor, shot: Shot, file: Path) -> None:
    """Take one screenshot once the page has settled."""
    page = visitor.open(shot.path)
    settle(page)
    shot.do(page)
    page.screenshot(path=file)
    wide = overflow_px(page)
    print(f"{file.name}{f': {wide} px wider than its window' if wide > 0 else ''}", flush=True)


def settle(page: Page) -> None:
    """Wait until nothing is loading and all canvases are drawn."""
    page.get_by_role("heading").first.wait_for()
    page.wait_for_function("() => !document.querySelector('.state-loading, [aria-busy=true]')")
    page.wait_for_timeout(REST_MS)


def arguments() -> Any:
    parser = argparse.ArgumentParser(prog="python -m tests.browser.screenshots", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", default="", metavar="NAME")
    return parser.parse_args()


def main() -> None:
    """Play the scene and take every screenshot of it."""
    asked = arguments()
    if (reason := missing()) is not None:
        raise SystemExit(f"no screenshots: {reason}")
    asked.folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="podium-scene.") as folder, Scene(Path(folder)) as scene:
        scene.play()
        with browser() as chrome:
            take(chrome, scene, asked.folder, asked.only)


if __name__ == "__main__":
    main()
