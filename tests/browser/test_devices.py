"""The page of devices: draining with a reason, return, and the timeline with its table view."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from tests.browser.stage import Stage
from tests.visitor import Visitor

SOON_MS = 20_000.0


def test_device_is_drained_with_reason_and_returned(stage: Stage, visitor: Visitor) -> None:
    page = visitor.open("/devices")
    row = page.get_by_role("row", name=re.compile("^cpu-1"))
    row.get_by_role("button", name=re.compile("Drain")).click()
    asked = page.get_by_role("dialog")
    asked.get_by_role("textbox").fill("its fan is loud")
    asked.get_by_role("button", name=re.compile("Drain")).click()
    expect(row).to_contain_text("its fan is loud", timeout=SOON_MS)
    assert {device["id"]: device["reason"] for device in stage.client.devices()}["cpu-1"] == "its fan is loud"

    row.get_by_role("button", name=re.compile("Return")).click()
    expect(row.get_by_role("button", name=re.compile("Drain"))).to_be_visible(timeout=SOON_MS)
    expect(row).not_to_contain_text("its fan is loud")


def test_sweep_timeline_has_description_and_table_view(stage: Stage, visitor: Visitor) -> None:
    page = visitor.open(f"/sweeps/{stage.finished}/devices")
    expect(page.get_by_role("img", name=re.compile(r"cpu-0 was busy \d+ %"))).to_be_visible(timeout=SOON_MS)
    page.get_by_role("button", name="Zoom in").click()
    expect(page).to_have_url(re.compile("from="))
    page.get_by_text(re.compile("[Tt]able")).last.click()
    expect(page.get_by_role("columnheader", name="Activity")).to_be_visible()
