"""Checks of every page: no serious axe finding in either theme, and no horizontal scrolling on a phone."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest
from playwright.sync_api import Page, expect

from tests.browser.pages import TABS, at_rest, of_sweep
from tests.browser.stage import Stage
from tests.visitor import PHONE, Visitor, overflow_px, serious

Paths = Callable[[Stage], str]


def part(name: str) -> Paths:
    return lambda stage: of_sweep(stage, stage.finished)[name]


PAGES: Mapping[str, Paths] = {
    "sweeps": lambda stage: "/",
    "new sweep": lambda stage: "/new",
    **{f"sweep, {name}": part(name) for name in (*TABS, "compare")},
    "trial": part("trial"),
    "clone": part("clone"),
    "ensembles": lambda stage: "/ensembles",
    "ensemble": lambda stage: f"/ensembles/{stage.ensemble}",
    "devices": lambda stage: "/devices",
    "no such page": lambda stage: "/nowhere",
    "no such sweep": lambda stage: "/sweeps/999999",
}


def assert_readable(page: Page, look: str, *, colors_only: bool = False) -> None:
    """Assert that axe has no serious finding."""
    if found := serious(page, colors_only=colors_only):
        pytest.fail(f"{page.url}, {look}:\n" + "\n".join(found))


@pytest.mark.parametrize("path", PAGES.values(), ids=PAGES)
def test_page_is_accessible_in_both_themes_and_fits_a_phone(stage: Stage, visitor: Visitor, path: Paths) -> None:
    page = visitor.page
    page.emulate_media(color_scheme="light", reduced_motion="reduce")
    visitor.open(path(stage))
    at_rest(page)
    assert_readable(page, "light")
    page.emulate_media(color_scheme="dark", reduced_motion="reduce")
    assert_readable(page, "dark", colors_only=True)
    page.set_viewport_size({"width": PHONE[0], "height": PHONE[1]})
    assert overflow_px(page) <= 0
    assert_readable(page, "phone")


@pytest.mark.parametrize("way", ["Escape", "Enter"])  # Enter: the button that closes the dialog has the focus
def test_focus_returns_when_dialog_closes(visitor: Visitor, way: str) -> None:
    visitor.open("/")
    keys = visitor.page.get_by_role("button", name="Keyboard shortcuts (?)")
    keys.press("Enter")
    dialog = visitor.page.get_by_role("dialog", name="Keyboard shortcuts")
    expect(dialog.get_by_role("button", name="Close")).to_be_focused()
    visitor.page.keyboard.press(way)
    expect(dialog).to_have_count(0)
    expect(keys).to_be_focused()
