"""A sweep from nothing to its best trial, without the terminal: form and file side by side, errors where they are."""

from __future__ import annotations

import re
import secrets

from playwright.sync_api import Page, expect

from tests.browser.stage import Stage
from tests.visitor import Visitor

SOON_MS = 20_000.0


def editor(page: Page) -> str:
    return page.get_by_label("Sweep file").input_value()


def test_form_and_file_follow_each_other_and_start_a_sweep(stage: Stage, visitor: Visitor) -> None:
    name = f"from the form {secrets.token_hex(3)}"
    page = visitor.open("/new")
    start = page.get_by_role("button", name="Start the sweep")
    expect(start).to_be_enabled(timeout=SOON_MS)
    page.get_by_label("Name", exact=True).first.fill(name)
    trials = page.get_by_label("Trials", exact=True).first
    trials.fill("-3")
    trials.press("Enter")
    expect(page.get_by_text("to mend").first).to_be_visible(timeout=SOON_MS)
    expect(trials).to_have_attribute("aria-invalid", "true")
    expect(start).to_be_disabled()

    trials.fill("3")
    trials.press("Enter")
    expect(page.get_by_label("Sweep file")).to_have_value(re.compile(name))
    expect(page.get_by_label("Sweep file")).to_have_value(re.compile(r"run_cap: 3\b"))
    text = re.sub(r"epochs: *\{.*?\}", "epochs: {value: 2}", editor(page))
    page.get_by_label("Sweep file").fill(text)
    expect(page.get_by_role("status").filter(has_text="ready to start")).to_be_visible(timeout=SOON_MS)
    start.click()

    expect(page).to_have_url(re.compile(r"/sweeps/\d+$"))
    expect(page.get_by_role("heading", level=1)).to_have_text(name)
    expect(page.locator(".sweep-state")).to_contain_text("finished", timeout=60_000)
    page.get_by_role("link", name=re.compile(r"^trial \d+$")).first.click()
    expect(page.get_by_role("main")).to_contain_text("the best so far")


def test_a_wrong_line_is_named_and_leads_to_it(stage: Stage, visitor: Visitor) -> None:
    page = visitor.open("/new")
    expect(page.get_by_label("Name", exact=True).first).to_be_visible()
    page.get_by_label("Sweep file").fill("name: wrong\nmethod: tpee\nmetric: {name: score, goal: maximize}\n")
    where = page.get_by_role("button", name="Line 2")
    expect(where).to_be_visible(timeout=SOON_MS)
    where.click()
    expect(page.get_by_label("Sweep file")).to_be_focused()
    expect(page.get_by_role("button", name="Start the sweep")).to_be_disabled()
