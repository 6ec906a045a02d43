"""The table of trials: filter, sorting, keyboard, selection, and the same view after a reload."""

from __future__ import annotations

import re
from urllib.parse import parse_qs, urlsplit

from playwright.sync_api import Locator, Page, expect

from tests.browser.stage import Stage
from tests.running_service import wait_for
from tests.visitor import Visitor


def rows(page: Page) -> Locator:
    """The rows in view, without the header."""
    return page.get_by_role("table", name="Trials of the sweep").get_by_role("row").filter(has=page.get_by_role("link"))


def numbers(page: Page) -> list[int]:
    """The numbers of the trials in view, from the top."""
    return [int(text) for text in rows(page).get_by_role("link").all_inner_texts()]


def in_order(values: list[int]) -> bool:
    """Ascending or descending."""
    return sorted(values) in (values, values[::-1])


def query(page: Page, key: str) -> str:
    return parse_qs(urlsplit(page.url).query).get(key, [""])[0]


def filter_by(page: Page, text: str) -> None:
    field = page.get_by_role("combobox", name="Filter trials")
    field.fill(text)
    field.press("Enter")


def matching(stage: Stage, text: str) -> int:
    return sum(1 for _ in stage.client.trials(stage.finished, filter=text))


def test_filter_is_counted_stored_in_url_and_kept_on_reload(stage: Stage, visitor: Visitor) -> None:
    page = visitor.open(f"/sweeps/{stage.finished}")
    expect(rows(page).first).to_be_visible()
    page.keyboard.press("/")
    expect(page.get_by_role("combobox", name="Filter trials")).to_be_focused()
    text = "optimizer:adam lr<0.01"
    filter_by(page, text)
    found = matching(stage, text)
    count = page.get_by_role("search").get_by_role("status")
    expect(count).to_have_text(f"{found} of 40 trials")
    assert query(page, "filter") == text
    expect(rows(page)).to_have_count(found)

    page.get_by_role("button", name="width").click()
    expect(page.get_by_role("columnheader", name="width")).to_have_attribute("aria-sort", re.compile("ending"))
    # The header shows the new order immediately, the rows follow when the service has responded.
    widths = {trial["number"]: trial["params"]["width"] for trial in stage.client.trials(stage.finished)}
    wait_for("the rows are in order of width", lambda: in_order([widths[number] for number in numbers(page)]))
    before = rows(page).all_inner_texts()
    page.reload()
    expect(count).to_have_text(f"{found} of 40 trials")
    expect(rows(page)).to_have_count(found)
    assert rows(page).all_inner_texts() == before

    page.get_by_role("link", name="Curves").click()
    assert query(page, "filter") == text, "the filter drives every view"


def test_invalid_filter_shows_message_and_position(stage: Stage, visitor: Visitor) -> None:
    page = visitor.open(f"/sweeps/{stage.finished}")
    filter_by(page, "state:runing lr<0.1")
    alert = page.get_by_role("alert").first
    expect(alert).to_contain_text("runing")
    expect(alert.locator("mark")).to_contain_text("runing")
    filter_by(page, "")
    expect(rows(page).first).to_be_visible()


def test_trials_are_navigated_selected_and_compared_by_keyboard(stage: Stage, visitor: Visitor) -> None:
    page = visitor.open(f"/sweeps/{stage.finished}")
    expect(rows(page).first).to_be_visible()
    for key in ("j", "x", "j", "x", "c"):
        page.keyboard.press(key)
    expect(page).to_have_url(re.compile(rf"/sweeps/{stage.finished}/compare\?trials="))
    assert len(query(page, "trials").split(",")) == 2
    page.go_back()
    expect(rows(page).first).to_be_visible()
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keyboard shortcuts")).to_contain_text("select row")


def test_column_selection_is_stored_in_url(stage: Stage, visitor: Visitor) -> None:
    page = visitor.open(f"/sweeps/{stage.finished}?columns=number,value,params.lr")
    table = page.get_by_role("table", name="Trials of the sweep")
    expect(table.get_by_role("columnheader")).to_have_count(4)
    expect(table.get_by_role("columnheader", name="lr")).to_be_visible()


def test_page_has_one_scrollbar_and_go_to_shows_the_row(stage: Stage) -> None:
    for size in ((1280, 800), (390, 844)):
        with stage.visitor(size=size) as visitor:
            page = visitor.open(f"/sweeps/{stage.finished}")
            expect(rows(page).first).to_be_visible()
            scrolling = page.evaluate(
                """() => [...document.querySelectorAll("*")].filter(e => e.scrollHeight > e.clientHeight + 1
                   && /auto|scroll/.test(getComputedStyle(e).overflowY)).map(e => e.tagName)"""
            )
            assert scrolling == ["MAIN"], size
            header = page.get_by_role("columnheader", name="Trial", exact=True)
            header.get_by_role("button").click()
            goto = page.get_by_role("textbox", name="Go to trial number")
            goto.fill("37")
            goto.press("Enter")
            row = page.locator("tr[aria-current]")
            expect(row.get_by_role("link")).to_have_text("37")
            expect(row.get_by_role("link")).to_be_in_viewport(ratio=1)
            expect(header).to_be_in_viewport(ratio=1)
