"""Failures first: groups of failed trials, their retry, and the command that prints them."""

from __future__ import annotations

import json
import re

from playwright.sync_api import expect

from tests.browser.pages import at_rest
from tests.browser.stage import PLANTED, Stage
from tests.running_service import podium
from tests.visitor import PHONE, Visitor, overflow_px, serious


def test_failures_are_grouped_and_retried(stage: Stage, visitor: Visitor) -> None:
    page = at_rest(visitor.open(f"/sweeps/{stage.planted}"))
    expect(page.get_by_role("columnheader", name="Error")).to_be_attached()
    page.get_by_role("navigation", name="Views of the sweep").get_by_role("link", name="Failures 1").click()

    group = page.get_by_role("region").or_(page.locator("section")).filter(has_text="1 ×").last
    expect(group).to_contain_text("ValueError: <img")
    expect(group).to_contain_text(re.compile(r"Exception · curves\.py:\d+ in planted"))
    group.get_by_text("End of the log of trial 1").click()
    expect(group.locator("pre")).to_contain_text(PLANTED)
    assert page.title() != "planted"
    assert serious(page) == []

    page.get_by_role("button", name="Retry all").click()
    page.get_by_role("dialog").get_by_role("button", name="Retry", exact=True).click()
    expect(page.get_by_text("1 trial queued for retry")).to_be_visible()
    assert stage.client.wait(stage.planted, 60)["state"] == "finished"


def test_failures_fit_on_a_phone(stage: Stage) -> None:
    with stage.visitor(size=PHONE) as visitor:
        page = at_rest(visitor.open(f"/sweeps/{stage.planted}/failures"))
        expect(page.get_by_role("button", name="Retry all")).to_be_visible()
        assert overflow_px(page) <= 0
        assert serious(page) == []


def test_command_prints_the_groups(stage: Stage) -> None:
    options = ("--data-dir", str(stage.service.data.root))
    printed = podium("sweep", "failures", str(stage.planted), *options).stdout
    assert "user_error" in printed and "trial 1" in printed
    (group,) = json.loads(podium("sweep", "failures", str(stage.planted), "--json", *options).stdout)["groups"]
    assert group["count"] == 1
    assert podium("sweep", "failures", str(stage.finished), *options).stdout.strip() == "no failed trials"
