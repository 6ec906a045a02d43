"""Access: the printed login link, a token, redirects after login, and logout."""

from __future__ import annotations

import re

from playwright.sync_api import Page, expect

from tests.browser.stage import Stage


def log_in_button(page: Page) -> None:
    page.get_by_role("button", name="Log in").click()


def test_printed_login_link_works_once(stage: Stage) -> None:
    link = stage.printed_link()
    with stage.visitor(signed_in=False) as visitor:
        page = visitor.follow(link)
        expect(page).to_have_url(stage.url + "/")
        assert page.evaluate("() => document.cookie") == "", "no script may read the cookie"

    with stage.visitor(signed_in=False) as another:
        page = another.open(link.removeprefix(stage.url))
        expect(page.get_by_role("alert")).to_contain_text("podium login")
        assert "#" not in page.url, "the code is not kept in the history"


def test_page_requires_login_and_token_login_returns_to_it(stage: Stage) -> None:
    path = f"/sweeps/{stage.finished}/table?filter=optimizer%3Aadam"
    with stage.visitor(signed_in=False) as visitor:
        page = visitor.open(path)
        expect(page).to_have_url(re.compile("/login"))
        page.get_by_label("token").fill("wrong")
        log_in_button(page)
        expect(page.get_by_role("alert")).to_contain_text("unknown")

        page.get_by_label("token").fill(stage.service.data.admin_token.read_text())
        log_in_button(page)
        expect(page).to_have_url(re.compile(rf"{re.escape(path).replace('%3A', '(:|%3A)')}$"))


def test_logout_ends_session(stage: Stage) -> None:
    with stage.visitor(signed_in=False) as visitor:
        page = visitor.follow(stage.fresh_link())
        page.get_by_role("button", name="Log out").click()
        expect(page.get_by_role("heading", name="Log in")).to_be_visible()
        visitor.open("/devices")
        expect(page).to_have_url(re.compile("/login"))
