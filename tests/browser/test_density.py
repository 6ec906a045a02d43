"""Density: the head of a sweep's page, rows in view, the side panel and phones."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.pages import DESK, at_rest
from tests.browser.stage import Stage
from tests.visitor import PHONE, overflow_px

LOW = (1280, 600)  # less than 700 px: the head of the page does not stay in view
MOST_HEAD_PX = 260
LEAST_ROWS = 20


def rows(page: Page) -> Locator:
    table = page.get_by_role("table", name="Trials of the sweep")
    return table.get_by_role("row").filter(has=page.get_by_role("checkbox", name=re.compile(r"Select trial \d+")))


def bottom(found: Locator) -> float:
    box = found.bounding_box()
    assert box is not None
    return box["y"] + box["height"]


def visible_rows(page: Page) -> int:
    """Rows that are completely between the head of the table and the end of the window."""
    head = bottom(page.get_by_role("columnheader", name="Trial", exact=True))
    height = (page.viewport_size or {"height": 0})["height"]
    boxes = [row.bounding_box() for row in rows(page).all()]
    return sum(1 for box in boxes if box is not None and box["y"] >= head - 1 and box["y"] + box["height"] <= height)


def test_head_is_small_and_stays_in_view_above_twenty_rows(stage: Stage) -> None:
    with stage.visitor(size=DESK) as visitor:
        page = at_rest(visitor.open(f"/sweeps/{stage.finished}"))
        head = page.locator(".sweep-sticky")
        assert bottom(head) <= MOST_HEAD_PX
        assert visible_rows(page) >= LEAST_ROWS

        page.locator("main").evaluate("main => { main.scrollTop = 400 }")
        expect(page.get_by_role("heading", level=1)).to_be_in_viewport(ratio=0.9)
        expect(page.get_by_role("columnheader", name="Trial", exact=True)).to_be_in_viewport(ratio=0.9)
        assert visible_rows(page) >= LEAST_ROWS

        page.get_by_role("link", name="Analysis").click()
        page.get_by_role("heading", name="History").wait_for()
        page.evaluate("window.scrollTo(0, 600)")
        expect(page.get_by_role("heading", level=1)).to_be_in_viewport(ratio=0.9)
        assert bottom(head) <= MOST_HEAD_PX


def test_side_panel_follows_the_rows_and_enter_opens_the_page(stage: Stage) -> None:
    with stage.visitor(size=DESK) as visitor:
        page = at_rest(visitor.open(f"/sweeps/{stage.planted}/table?sort=number"))
        rows(page).nth(0).get_by_text("finished").click()
        panel = page.get_by_role("complementary", name="Trial 0")
        expect(panel.get_by_role("heading", name="Parameters")).to_be_visible()
        expect(panel.get_by_role("heading", name="Log")).to_be_visible()

        page.keyboard.press("ArrowDown")
        panel = page.get_by_role("complementary", name="Trial 1")
        expect(panel.get_by_role("region", name="Failure")).to_contain_text("ValueError: <img")
        assert "trial=1" in page.url
        page.reload()
        expect(panel.get_by_role("region", name="Failure")).to_be_visible()
        page.keyboard.press("k")
        expect(page.get_by_role("complementary", name="Trial 0")).to_be_visible()
        page.keyboard.press("Escape")
        expect(page.get_by_role("complementary")).to_have_count(0)
        page.keyboard.press("Enter")
        expect(page.get_by_role("heading", level=1)).to_contain_text("Trial 0")


def test_panel_is_in_view_on_a_phone_and_closes(stage: Stage) -> None:
    with stage.visitor(size=PHONE) as visitor:
        page = at_rest(visitor.open(f"/sweeps/{stage.planted}/table?trial=1"))
        panel = page.get_by_role("complementary", name="Trial 1")
        expect(panel.get_by_role("region", name="Failure")).to_be_in_viewport()
        panel.get_by_role("button", name="Close").click()
        expect(panel).to_have_count(0)


@pytest.mark.slow
@pytest.mark.parametrize("size", [PHONE, LOW])
def test_names_of_columns_stay_above_the_rows_in_a_small_window(stage: Stage, size: tuple[int, int]) -> None:
    with stage.visitor(size=size) as visitor:
        page = at_rest(visitor.open(f"/sweeps/{stage.finished}"))
        main = page.locator("main")
        main.evaluate("main => { main.scrollTop = 600 }")
        expect(page.get_by_role("heading", level=1)).not_to_be_in_viewport()
        names = page.get_by_role("columnheader", name="Trial", exact=True).bounding_box()
        box = main.bounding_box()
        assert names is not None and box is not None
        assert abs(names["y"] - box["y"]) <= 1


def test_three_trials_are_compared_on_a_phone(stage: Stage) -> None:
    ids = ",".join(str(trial["id"]) for trial in list(stage.client.trials(stage.finished))[:3])
    with stage.visitor(size=PHONE) as visitor:
        page = at_rest(visitor.open(f"/sweeps/{stage.finished}/compare?trials={ids}"))
        headers = page.get_by_role("table", name="Trials side by side").get_by_role("columnheader", name="Trial")
        expect(headers).to_have_count(3)
        for header in headers.all():
            expect(header).to_be_in_viewport(ratio=0.85)
        assert overflow_px(page) <= 0
        page.evaluate("ids => localStorage.setItem('podium.basket', JSON.stringify({ trials: ids }))", ids)
        at_rest(visitor.open(f"/sweeps/{stage.finished}/compare?trials={ids}"))
        expect(page.get_by_role("link", name="Compare 3 items")).to_be_in_viewport(ratio=0.9)
        assert overflow_px(page) <= 0


def test_current_tab_is_in_view_on_a_phone(stage: Stage) -> None:
    with stage.visitor(size=PHONE) as visitor:
        page = visitor.open(f"/sweeps/{stage.finished}/configuration")
        tabs = page.get_by_role("navigation", name="Views of the sweep")
        expect(tabs.get_by_role("link", name="Configuration")).to_be_in_viewport(ratio=0.9)
        visitor.open(f"/sweeps/{stage.finished}/table")
        expect(tabs.get_by_role("link", name="Table")).to_be_in_viewport(ratio=0.9)


@pytest.mark.slow
def test_head_is_small_with_many_tags_and_a_long_name(stage: Stage) -> None:
    name = (
        "resnet-fifty-with-a-very-long-name-that-describes-augmentation-and-schedule-and-the-data-" + "x" * 24 + "-v7"
    )
    tags = ["baseline", "augmentation-strong", "paper-figure-three", "september", "to-be-repeated", "large-batch"]
    stage.client.rename_sweep(stage.organized, name)
    stage.client.tag_sweep(stage.organized, tags)
    stage.client.move_sweep(stage.organized, "vision")
    with stage.visitor(size=DESK) as visitor:
        page = at_rest(visitor.open(f"/sweeps/{stage.organized}"))
        assert bottom(page.locator(".sweep-sticky")) <= MOST_HEAD_PX
        heading = page.get_by_role("heading", level=1)
        expect(heading).to_have_text(name)
        expect(heading.get_by_text("xxxx-v7")).to_be_in_viewport(ratio=0.9)
        more = page.get_by_role("button", name="+3 more tags")
        expect(page.get_by_role("link", name="to-be-repeated")).to_have_count(0)
        more.click()
        expect(page.get_by_role("link", name="to-be-repeated")).to_be_visible()
        assert overflow_px(page) <= 0
