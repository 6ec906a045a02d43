"""Names, projects, stars, the archive, saved views, the palette, previews and comparisons in a real browser."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.pages import at_rest
from tests.browser.stage import PLANTED, Stage
from tests.visitor import PHONE, Visitor, overflow_px, violations

MARKDOWN = f"""# Why

A **baseline** with [code](https://example.org) and [bad](javascript:alert(1)) {PLANTED}

| lr | loss |
| --- | --- |
| 0.1 | 0.5 |

- [x] done
"""


@pytest.fixture
def two(stage: Stage) -> tuple[int, int]:
    """Two finished sweeps: one with parameters and logged files, one with others."""
    return stage.organized, stage.pictures


def assert_readable(page: Page) -> None:
    """Assert that axe finds nothing in both themes, and that a phone does not scroll sideways."""
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
        assert violations(page) == []
    before = page.viewport_size
    page.set_viewport_size({"width": PHONE[0], "height": PHONE[1]})
    assert overflow_px(page) <= 0
    assert before is not None
    page.set_viewport_size(before)


def test_details_are_edited_and_markdown_runs_nothing(visitor: Visitor, two: tuple[int, int]) -> None:
    page = visitor.page
    visitor.open(f"/sweeps/{two[0]}")
    page.get_by_role("button", name="Edit details").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Name").fill("renamed")
    dialog.get_by_label("Project").fill("vision")
    dialog.get_by_label("Tags").fill("keep paper")
    dialog.get_by_label("Description").fill(MARKDOWN)
    dialog.get_by_role("button", name="Preview the description").click()
    expect(dialog.get_by_role("heading", name="Why")).to_be_visible()
    assert violations(page) == []
    dialog.get_by_role("button", name="Save").click()
    expect(page.get_by_role("heading", level=1, name="renamed")).to_be_visible()
    page.get_by_text("Why", exact=True).click()
    shown = page.locator(".markdown")
    expect(shown.get_by_role("link", name="code")).to_have_attribute("href", "https://example.org")
    expect(shown.get_by_text("bad")).not_to_have_attribute("href", re.compile("javascript"))
    expect(shown).to_contain_text("<img src=x")
    expect(shown.get_by_role("cell", name="0.5")).to_be_visible()
    assert page.title() != "planted"
    assert_readable(page)
    page.get_by_role("link", name="paper").click()
    expect(page.get_by_label("Filter sweeps")).to_have_value("tag:paper")
    expect(page.locator("a.sweeps-name")).to_have_text(["renamed"])


def test_stars_and_archive_filter_the_list(visitor: Visitor, two: tuple[int, int]) -> None:
    page = visitor.page
    visitor.open(f"/sweeps/{two[1]}")
    page.get_by_role("button", name=re.compile("^Star ")).click()
    page.get_by_role("button", name="Archive").click()
    expect(page.get_by_text("archived", exact=True)).to_be_visible()
    visitor.open("/")
    expect(page.locator(f'a[href="/sweeps/{two[1]}"]')).to_have_count(0)
    page.get_by_role("button", name="Archived").click()
    expect(page.locator("a.sweeps-name")).to_have_count(1)
    page.get_by_role("button", name="Starred").click()
    expect(page.get_by_label("Filter sweeps")).to_have_value("is:archived is:starred")
    expect(page.locator("a.sweeps-name")).to_have_count(1)
    assert_readable(page)
    page.get_by_label("Filter sweeps").fill("projekt:x")
    expect(page.get_by_role("alert")).to_contain_text("did you mean project?")
    expect(page.get_by_role("heading", name="Invalid filter")).to_be_visible()
    visitor.open(f"/sweeps/{two[1]}")
    page.get_by_role("button", name="List again").click()
    expect(page.get_by_role("button", name="Archive")).to_be_visible()


def test_view_is_saved_shared_and_deleted(visitor: Visitor, two: tuple[int, int]) -> None:
    page = visitor.page
    visitor.open(f"/sweeps/{two[0]}/table?filter=optimizer:adam&sort=-duration_s&columns=number,value")
    page.get_by_role("button", name="Views").click()
    page.get_by_role("button", name="Save this view").click()
    page.get_by_role("dialog").get_by_label("Name").fill("slow adam")
    page.get_by_label("For").select_option("")
    page.get_by_role("dialog").get_by_role("button", name="Save").click()
    expect(page.get_by_role("button", name="slow adam")).to_be_visible()
    visitor.open(f"/sweeps/{two[0]}?view=slow+adam")  # the short address
    expect(page).to_have_url(re.compile("sort=-duration_s"))
    expect(page.get_by_label("Filter trials")).to_have_value("optimizer:adam")
    page.get_by_role("button", name="slow adam").click()
    assert violations(page) == []
    page.get_by_role("button", name="Delete the view slow adam").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    expect(page.get_by_role("button", name="Views")).to_be_visible()


def test_palette_finds_and_acts_by_keyboard_only(visitor: Visitor, two: tuple[int, int]) -> None:
    page = visitor.page
    visitor.open("/devices")
    at_rest(page)
    page.keyboard.press("Control+k")
    words = page.get_by_role("combobox", name="Find a sweep")
    expect(words).to_be_focused()
    words.fill(f"{two[0]}/3")
    expect(page.get_by_role("listbox", name="Results").get_by_role("option").first).to_contain_text("Trial 3")
    assert violations(page) == []
    page.keyboard.press("Shift+Enter")  # to the comparison
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_contain_text("Trial 3")
    page.keyboard.press("Meta+k")
    page.get_by_role("combobox", name="Find a sweep").fill("go to the comparison")
    expect(page.get_by_role("listbox", name="Results").get_by_role("option").first).to_contain_text("comparison")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1, name="Compare")).to_be_visible()
    page.keyboard.press("Control+k")
    page.get_by_role("combobox", name="Find a sweep").fill("pictures")
    expect(page.get_by_role("listbox", name="Results").get_by_role("option").first).to_contain_text("pictures")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Escape")
    expect(page.get_by_role("combobox", name="Find a sweep")).to_have_count(0)


def test_files_are_previewed_and_images_have_a_slider(stage: Stage, visitor: Visitor, two: tuple[int, int]) -> None:
    page = visitor.page
    trial = next(iter(stage.client.trials(two[1])))
    visitor.open(f"/trials/{trial['id']}")
    slider = page.get_by_role("slider", name="Step of val/samples")
    expect(slider).to_have_attribute("aria-valuetext", "step 20")
    slider.press("ArrowLeft")
    expect(page.get_by_role("img", name="val/samples, step 10")).to_be_visible()
    picture = page.get_by_role("img", name="val/samples, step 10")
    expect(picture).to_have_js_property("naturalWidth", 8)
    page.get_by_role("button", name="Preview artifacts/table.csv").click()
    expect(page.get_by_role("columnheader", name="epoch")).to_be_visible()
    page.get_by_role("button", name="Preview artifacts/drawing.svg").click()
    expect(page.locator(".preview-text")).to_contain_text("<script>")
    assert page.title() != "planted"
    assert_readable(page)


def test_sweeps_are_compared(stage: Stage, visitor: Visitor, two: tuple[int, int], tmp_path: Path) -> None:
    page = visitor.page
    visitor.open("/")
    for sweep in two:
        page.get_by_role("row").filter(has=page.locator(f'a[href="/sweeps/{sweep}"]')).get_by_role(
            "button", name=re.compile("^Compare ")
        ).click()
    page.get_by_role("link", name=re.compile(r"^Compare \d items")).click()
    expect(page.get_by_role("heading", name="Best so far")).to_be_visible()
    expect(page.locator("table.joined")).to_contain_text("missing")
    expect(page.get_by_role("region", name="Differences: Sweep file")).to_contain_text("removed")
    assert_readable(page)
    page.get_by_label("By").select_option("time")
    page.get_by_role("button", name=re.compile("^parameter lr")).click()
    expect(page.get_by_role("columnheader", name=re.compile("lr"))).to_have_attribute("aria-sort", "ascending")
    address = page.url
    page.get_by_role("button", name="Remove all").click()
    expect(page.get_by_role("heading", name="Nothing to compare yet")).to_be_visible()
    visitor.open(address.removeprefix(stage.url))  # shared: the address has all
    expect(page.get_by_role("heading", name="Best so far")).to_be_visible()


def test_viewer_sees_but_changes_nothing(stage: Stage, two: tuple[int, int]) -> None:
    token = stage.client.create_token("looks", "viewer")["token"]
    with stage.visitor(signed_in=False) as visitor:
        page = visitor.page
        visitor.open("/login")
        page.get_by_label(re.compile("token", re.IGNORECASE)).fill(token)
        page.keyboard.press("Enter")
        expect(page.get_by_role("heading", level=1, name="Sweeps")).to_be_visible()
        visitor.open(f"/sweeps/{two[0]}")
        expect(page.get_by_role("heading", level=1)).to_be_visible()
        for name in ("Edit details", "Archive"):
            expect(page.get_by_role("button", name=name)).to_have_count(0)
        expect(page.get_by_role("button", name=re.compile("^Star "))).to_have_count(0)
