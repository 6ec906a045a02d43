"""Checks of every page: no finding of axe in either theme, no horizontal scrolling, and the full width in use."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence

import pytest
from _pytest.mark import ParameterSet
from playwright.sync_api import Page, expect

from tests.browser.pages import LOOKS, TABS, Look, assert_accessible, at_rest, of_sweep
from tests.browser.stage import Stage
from tests.visitor import Visitor

Paths = Callable[[Stage], str]


def part(name: str) -> Paths:
    return lambda stage: of_sweep(stage, stage.finished)[name]


def devices(stage: Stage) -> str:
    """The page of the devices, of which one has two members."""
    assert stage.ensemble
    return "/devices"


PAGES: Mapping[str, Paths] = {
    "sweeps": lambda stage: "/",
    "new sweep": lambda stage: "/new",
    **{f"sweep, {name}": part(name) for name in (*TABS, "compare")},
    "sweep, failures": lambda stage: f"/sweeps/{stage.planted}/failures",
    "sweep, side panel": lambda stage: f"/sweeps/{stage.planted}/table?trial=1",
    "trial": part("trial"),
    "clone": part("clone"),
    "comparison of sweeps": lambda stage: f"/compare?sweeps={stage.finished},{stage.pictures}",
    "empty comparison": lambda stage: "/compare",
    "ensembles": lambda stage: "/ensembles",
    "ensemble": lambda stage: f"/ensembles/{stage.ensemble}",
    "devices": devices,
    "no such page": lambda stage: "/nowhere",
    "no such sweep": lambda stage: "/sweeps/999999",
}

RARE = {"clone", "comparison of sweeps", "empty comparison", "no such page", "no such sweep"}


def _pages() -> Iterator[ParameterSet]:
    for name, path in PAGES.items():
        yield pytest.param(path, id=name, marks=pytest.mark.slow if name in RARE else ())


def press(name: str) -> Callable[[Page], None]:
    """The click on a button."""
    return lambda page: page.get_by_role("button", name=re.compile(f"^{name}")).first.click()


DIALOGS: Mapping[str, tuple[Paths, Callable[[Page], None]]] = {
    "keyboard shortcuts": (part("table"), lambda page: page.keyboard.press("?")),
    "command palette": (part("table"), lambda page: page.keyboard.press("Control+k")),
    "clone of a trial": (part("trial"), press("Clone…")),
}


@pytest.mark.parametrize("looks", [LOOKS[1:], pytest.param(LOOKS[:1], marks=pytest.mark.slow)], ids=["both", "wide"])
@pytest.mark.parametrize("path", list(_pages()))
def test_page_is_accessible_in_both_themes_and_all_widths(
    stage: Stage, visitor: Visitor, path: Paths, looks: Sequence[Look]
) -> None:
    assert_accessible(at_rest(visitor.open(path(stage))), looks)


@pytest.mark.parametrize(("path", "action"), DIALOGS.values(), ids=DIALOGS)
def test_dialog_is_accessible_in_both_themes_and_all_widths(
    stage: Stage, visitor: Visitor, path: Paths, action: Callable[[Page], None]
) -> None:
    page = at_rest(visitor.open(path(stage)))
    action(page)
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_role("option").or_(dialog.get_by_role("heading")).first).to_be_visible()
    assert_accessible(page)


def test_login_is_accessible_in_both_themes_and_all_widths(stage: Stage) -> None:
    with stage.visitor(signed_in=False) as visitor:
        assert_accessible(at_rest(visitor.open("/login")))


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
