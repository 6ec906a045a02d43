"""Every page of the dashboard by its path, and the checks that apply to all pages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import pytest
from playwright.sync_api import Page

from tests.browser.stage import Stage
from tests.visitor import LOOK_RULES, PHONE, Theme, overflow_px, violations

TABS = ("table", "curves", "analysis", "devices", "ensemble", "configuration")
DESK = (1440, 900)
WIDE = (2560, 1440)
LEAST_WIDTH = 0.97  # of a wide window, between the outer edges of the panels


class Look(NamedTuple):
    """A window and a theme, and the rules of axe that are checked in them; without any, all."""

    name: str
    size: tuple[int, int]
    theme: Theme
    rules: tuple[str, ...] = ()


WIDE_DARK = Look("wide, dark", WIDE, "dark", LOOK_RULES)  # those that colors and sizes change; the others have all
DESK_LIGHT = Look("desk, light", DESK, "light")
PHONE_DARK = Look("phone, dark", PHONE, "dark")
LOOKS = (WIDE_DARK, DESK_LIGHT, PHONE_DARK)


def of_sweep(stage: Stage, sweep: int) -> Mapping[str, str]:
    """The paths by name of all pages about one sweep and its first trial."""
    trials = list(stage.client.trials(sweep))[:3]
    ids = ",".join(str(trial["id"]) for trial in trials)
    return {
        **{tab: f"/sweeps/{sweep}/{tab}" for tab in TABS},
        "compare": f"/sweeps/{sweep}/compare?trials={ids}",
        "trial": f"/trials/{trials[0]['id']}",
        "clone": f"/new?from={sweep}",
    }


def at_rest(page: Page) -> Page:
    """The page, once it no longer shows that it is loading."""
    page.get_by_role("main").get_by_role("heading").first.wait_for()
    page.wait_for_function("() => !document.querySelector('.state-loading, [aria-busy=true]')")
    return page


def resize(page: Page, look: Look) -> Page:
    """The page in another look, at rest."""
    page.emulate_media(color_scheme=look.theme, reduced_motion="reduce")
    page.set_viewport_size({"width": look.size[0], "height": look.size[1]})
    return at_rest(page)


def panels_width(page: Page) -> float:
    """The share of the window between the outer edges of the panels; 1 without panels."""
    found: float = page.evaluate(
        """() => {
            const boxes = [...document.querySelectorAll('main .panel')].map(panel => panel.getBoundingClientRect());
            if (boxes.length === 0) return 1;
            return (Math.max(...boxes.map(box => box.right)) - Math.min(...boxes.map(box => box.left))) / innerWidth;
        }"""
    )
    return found


def assert_accessible(page: Page, looks: Sequence[Look] = LOOKS) -> None:
    """Assert that axe finds nothing, that the page fits its window, and that it uses the width of a wide one."""
    for look in looks:
        resize(page, look)
        assert overflow_px(page) <= 0, f"{page.url} is wider than its window: {look.name}"
        if look is WIDE_DARK:
            assert panels_width(page) >= LEAST_WIDTH, f"{page.url} does not use the width of a wide window"
        if found := violations(page, look.rules):
            pytest.fail(f"{page.url}, {look.name}:\n" + "\n".join(found))
