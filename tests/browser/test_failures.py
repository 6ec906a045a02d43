"""Failures first: groups of failed trials, their retry, and the command that prints them."""

from __future__ import annotations

import json
import re
from pathlib import Path

from playwright.sync_api import expect

from tests.browser.pages import at_rest
from tests.browser.stage import PLANTED, Stage
from tests.running_service import podium
from tests.visitor import Visitor


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

    page.get_by_role("button", name="Retry all").click()
    page.get_by_role("dialog").get_by_role("button", name="Retry", exact=True).click()
    expect(page.get_by_text("1 trial queued for retry")).to_be_visible()
    assert stage.client.wait(stage.planted, 60)["state"] == "finished"


def test_command_prints_the_groups(stage: Stage) -> None:
    options = ("--data-dir", str(stage.service.data.root))
    printed = podium("sweep", "failures", str(stage.planted), *options).stdout
    assert "user_error" in printed and "trial 1" in printed
    (group,) = json.loads(podium("sweep", "failures", str(stage.planted), "--json", *options).stdout)["groups"]
    assert group["count"] == 1
    assert podium("sweep", "failures", str(stage.finished), *options).stdout.strip() == "no failed trials"


def test_edit_and_rerun_starts_with_the_failed_configurations(stage: Stage, visitor: Visitor) -> None:
    space = {"x": {"values": [1, 2, 3, 4]}}
    document = stage.failing(name="half fails", method="grid", run_cap=4, parameters=space)
    sweep = int(stage.client.submit(document)["id"])
    assert stage.client.wait(sweep, 60)["state"] == "finished"

    page = at_rest(visitor.open(f"/sweeps/{sweep}/failures"))
    group = page.locator("section").filter(has_text="2 ×").last
    expect(group).to_contain_text("ValueError: x is <n>, which is even")
    expect(group).to_contain_text("x 2, 4")
    link = group.get_by_role("link", name="show all 2 in the table")
    link.click()
    expect(page.get_by_role("link", name="1", exact=True)).to_be_visible()
    rows = page.get_by_role("table", name="Trials of the sweep").get_by_role(
        "checkbox", name=re.compile("Select trial")
    )
    expect(rows).to_have_count(2)

    page.go_back()
    group.get_by_role("link", name="Edit and rerun").click()
    text = page.get_by_label("Sweep file", exact=True)
    expect(text).to_have_value(re.compile(r"enqueue:[\s\S]*x: 2[\s\S]*x: 4"))
    name = page.get_by_label("Name", exact=True)
    expect(name).to_have_value("half fails")  # the form is disabled until the file has been parsed
    name.press("Home")
    name.type("again, ")
    expect(text).to_have_value(re.compile("name: .*again, half fails"))
    assert name.evaluate("field => field.selectionStart") == len("again, ")
    expect(page.locator(".new-ready")).to_have_text("ready to start")
    page.get_by_role("button", name="Start the sweep").click()
    page.wait_for_url(re.compile(r"/sweeps/\d+$"))
    rerun = int(page.url.rsplit("/", 1)[1])
    stage.client.wait(rerun, 60)  # how it ends depends on which trials fail first: nothing was changed
    first = {trial["number"]: trial["params"]["x"] for trial in stage.client.trials(rerun)}
    assert [first[0], first[1]] == [2, 4]


def test_failing_sweep_shows_what_the_program_printed(stage: Stage, visitor: Visitor, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(
        "import sys\nprint('starting')\nprint('no such data set: birds', file=sys.stderr)\nsys.exit(1)\n"
    )
    script = {"script": "train.py", "code": str(tmp_path)}
    raising = stage.failing(name="raises", run_cap=3, parameters={"x": {"values": [2, 4]}})
    for document, message in (
        (raising, "ValueError: x is <n>, which is even"),
        ({**raising, "name": "exits", "program": script}, "no such data set: birds"),
    ):
        sweep = int(stage.client.submit(document)["id"])
        assert stage.client.wait(sweep, 60)["state"] == "failed"
        page = at_rest(visitor.open(f"/sweeps/{sweep}"))
        expect(page.get_by_role("main")).to_contain_text(message)
