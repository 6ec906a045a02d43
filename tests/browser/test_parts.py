"""Parts of the dashboard: what the first page loads, and a part that an upgraded service no longer has."""

from __future__ import annotations

import json
import re

from playwright.sync_api import Request, Route, expect

from podium.api.rest.dashboard_files import BUILD
from tests.browser.stage import Stage
from tests.repository import ROOT, loaded
from tests.visitor import Visitor, violations

check = loaded(ROOT / ".ci" / "check_dashboard_build.py")
DEVICES = re.compile(r"/assets/devices-[^/]*\.js")


def test_first_page_loads_the_files_of_its_budget_and_no_others(stage: Stage, visitor: Visitor) -> None:
    """Code that other pages need is not part of it; the sweep page is fetched once the browser is idle."""
    asked: list[str] = []
    page = visitor.page
    page.add_init_script("window.requestIdleCallback = undefined")
    page.on("request", lambda request: asked.append(request.url.removeprefix(stage.url + "/")))

    visitor.open("/")
    page.get_by_role("heading", name="Sweeps", exact=True).wait_for()

    manifest = json.loads((BUILD / check.MANIFEST).read_text())
    code = {name for name in asked if name.endswith((".js", ".css"))}
    assert code == check.loaded(manifest, check.first_chunks(manifest))


def test_part_that_is_gone_reloads_the_page_once_and_is_then_reported(stage: Stage, visitor: Visitor) -> None:
    def gone(route: Route) -> None:
        route.fulfill(status=404)

    loads: list[Request] = []
    page = visitor.open("/")
    page.get_by_role("heading", name="Sweeps", exact=True).wait_for()
    page.on("request", lambda request: loads.append(request) if request.is_navigation_request() else None)
    page.route(DEVICES, gone)

    page.get_by_role("banner").get_by_role("link", name="Devices").click()
    report = page.get_by_role("alert").filter(has_text="no file for the devices")
    expect(report).to_be_visible()
    assert [request.url for request in loads] == [stage.url + "/devices"]
    assert violations(page) == []
    page.get_by_role("banner").get_by_role("link", name="Ensembles").click()
    expect(page.get_by_role("heading", name="Ensembles", exact=True)).to_be_visible()

    page.go_back()
    expect(report).to_be_visible()
    page.unroute(DEVICES, gone)
    page.get_by_role("button", name="Reload the page").click()
    expect(page.get_by_role("heading", name="Devices", exact=True)).to_be_visible()
    expect(page.get_by_text("Podium has been upgraded. The page was reloaded.")).to_be_visible()
    assert all("the devices could not be loaded" in text for text in visitor.complaints), (
        "React prints it, nothing else"
    )
    visitor.complaints.clear()
