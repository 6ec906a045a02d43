"""Addresses: trials by their numbers, and those of earlier versions with ids, which shared links still have."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.browser.pages import at_rest
from tests.browser.stage import Stage
from tests.visitor import PHONE, Visitor


@pytest.fixture
def ids(stage: Stage) -> list[int]:
    """The ids of trials 0 and 2 of a sweep that is not the first, so that ids and numbers differ."""
    assert stage.finished
    found = {trial["number"]: trial["id"] for trial in stage.client.trials(stage.digits)}
    assert found[0] != 0
    return [found[0], found[2]]


def test_address_with_the_id_of_a_trial_leads_to_its_number(stage: Stage, visitor: Visitor, ids: list[int]) -> None:
    page = visitor.open(f"/trials/{ids[1]}?against=best")
    expect(page).to_have_url(re.compile(rf"/sweeps/{stage.digits}/trials/2\?against=best$"))
    expect(page.get_by_role("heading", level=1)).to_contain_text("Trial 2")
    page.get_by_role("link", name="Previous trial (k)").click()
    expect(page).to_have_url(re.compile(rf"/sweeps/{stage.digits}/trials/1$"))
    page.go_back()
    expect(page.get_by_role("heading", level=1)).to_contain_text("Trial 2")
    page.reload()
    expect(page.get_by_role("heading", level=1)).to_contain_text("Trial 2")


@pytest.mark.slow
def test_address_of_a_comparison_with_ids_gets_numbers(stage: Stage, visitor: Visitor, ids: list[int]) -> None:
    names = f"{stage.digits}.0,{stage.digits}.2"
    for path in (f"/sweeps/{stage.digits}/compare", "/compare"):
        page = visitor.open(f"{path}?trials={ids[0]},{ids[1]}")
        page.wait_for_function("names => new URLSearchParams(location.search).get('trials') === names", arg=names)
        at_rest(page)
        for number in (0, 2):
            link = page.get_by_role("main").get_by_role("link", name=f"Trial {number}", exact=True).first
            expect(link).to_have_attribute("href", f"/sweeps/{stage.digits}/trials/{number}")


@pytest.mark.slow
def test_draft_of_an_ensemble_with_ids_gets_numbers(stage: Stage, visitor: Visitor, ids: list[int]) -> None:
    page = visitor.open(f"/sweeps/{stage.digits}/ensemble?trials={ids[0]},{ids[1]}")
    names = f"{stage.digits}.0,{stage.digits}.2"
    page.wait_for_function("names => new URLSearchParams(location.search).get('trials') === names", arg=names)
    expect(page.get_by_role("checkbox", name="Trial 0 is a member")).to_be_checked()
    expect(page.get_by_role("checkbox", name="Trial 1 is a member")).not_to_be_checked()
    page.get_by_role("checkbox", name="Trial 1 is a member").check()
    expect(page).to_have_url(re.compile(rf"trials={stage.digits}\.0(,|%2C){stage.digits}\.2(,|%2C){stage.digits}\.1"))


def test_tab_begins_at_its_top_and_back_returns_to_the_position(stage: Stage, visitor: Visitor) -> None:
    page = at_rest(visitor.open(f"/sweeps/{stage.finished}/analysis"))
    page.evaluate("() => window.scrollTo(0, 900)")
    assert page.evaluate("() => window.scrollY") > 800
    views = page.get_by_role("navigation", name="Views of the sweep")
    views.get_by_role("link", name="Configuration").click()
    expect(views.get_by_role("link", name="Configuration")).to_have_attribute("aria-current", "page")
    at_rest(page)
    assert page.evaluate("() => window.scrollY") == 0
    page.go_back()
    page.wait_for_function("() => window.scrollY > 800")


def test_unknown_trial_says_so(stage: Stage, visitor: Visitor) -> None:
    page = visitor.open(f"/sweeps/{stage.finished}/trials/999")
    expect(page.get_by_role("heading", name=f"Trial 999 of sweep {stage.finished} not found")).to_be_visible()


def test_search_stays_in_the_bar_of_a_phone(stage: Stage) -> None:
    with stage.visitor(size=PHONE) as visitor:
        page = at_rest(visitor.open("/"))
        page.get_by_role("button", name=re.compile("^Compare ")).first.click()
        expect(page.get_by_role("banner").get_by_role("link", name="Compare 1 item")).to_be_visible()
        search = page.get_by_role("banner").get_by_role("button", name="Find or do something")
        expect(search).to_be_in_viewport(ratio=1)
        search.click()
        expect(page.get_by_role("dialog", name="Command palette")).to_be_visible()
