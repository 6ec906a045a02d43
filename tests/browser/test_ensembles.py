"""The page of an ensemble: predictions, evaluations, canaries, and a member that dies."""

from __future__ import annotations

import os
import re
import secrets
import signal

from playwright.sync_api import Page, expect

from tests.browser.stage import Stage
from tests.running_service import wait_for
from tests.visitor import Visitor

SOON_MS = 20_000.0


def press(page: Page, name: str) -> None:
    page.get_by_role("button", name=name, exact=True).click()


def test_ensemble_is_built_from_preview(stage: Stage, visitor: Visitor) -> None:
    page = visitor.open(f"/sweeps/{stage.digits}/ensemble")
    chosen = page.get_by_role("checkbox", name=re.compile(r"^Trial \d+ is a member$"))
    expect(chosen.first).to_be_visible(timeout=SOON_MS)
    page.get_by_label("Members", exact=True).select_option("greedy")
    page.get_by_label("How many (k)").fill("2")
    expect(page.get_by_role("heading", name="Greedy selection path")).to_be_visible(timeout=SOON_MS)
    expect(page.get_by_role("heading", name="Compared with the best single network")).to_be_visible()

    name = f"built by hand {secrets.token_hex(3)}"
    page.get_by_label("Name of the ensemble").fill(name)
    press(page, "Build")
    expect(page).to_have_url(re.compile(r"/ensembles/\d+$"))
    head = page.get_by_role("heading", level=1)
    expect(head).to_contain_text(name)
    expect(head).to_contain_text("ready", timeout=60_000)


def test_row_and_drawing_are_predicted(stage: Stage, visitor: Visitor) -> None:
    page = visitor.open(f"/ensembles/{stage.ensemble}")
    panel = page.get_by_role("region", name="Try a prediction")
    answer = panel.get_by_role("table", name="Predictions by network")
    expect(answer.get_by_role("row", name=re.compile("^Ensemble"))).to_contain_text("3 of 3")
    expect(answer.get_by_role("row", name=re.compile("^Trial"))).to_have_count(3)

    panel.get_by_role("group", name="Rows of the test split").get_by_role("button").nth(3).click()
    expect(panel).to_contain_text(re.compile("Correct: |Incorrect: "))
    expect(page).to_have_url(re.compile("row=3"))

    press(page, "Draw")
    pad = panel.get_by_role("application")
    box = pad.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 5)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] * 4 / 5, steps=8)
    page.mouse.up()
    expect(answer.get_by_role("row", name=re.compile("^Ensemble"))).to_contain_text("3 of 3")


def test_evaluation_compares_ensemble_with_best_network(stage: Stage, visitor: Visitor) -> None:
    page = visitor.open(f"/ensembles/{stage.ensemble}")
    press(page, "Evaluate on test")
    panel = page.get_by_role("region", name="Evaluation")
    expect(panel.get_by_role("row", name=re.compile("Ensemble")).first).to_be_visible(timeout=60_000)
    expect(panel).to_contain_text("test")


def test_page_shows_member_death_and_recovery(stage: Stage, visitor: Visitor) -> None:
    ensemble = stage.ensemble
    member = stage.client.ensemble(ensemble)["members"][1]
    page = visitor.open(f"/ensembles/{ensemble}")
    row = page.locator("table.members").get_by_role("row", name=re.compile(rf"^Trial {member['trial_number']} "))
    expect(row).to_contain_text("ready")

    os.kill(member["replicas"][0]["pid"] or 0, signal.SIGKILL)

    # The member may be back before the page shows that it was away.
    expect(row.get_by_role("cell").last).to_have_text(str(member["replicas"][0]["restarts"] + 1), timeout=SOON_MS)
    expect(row).to_contain_text("ready", timeout=60_000)
    wait_for("all of it is ready", lambda: stage.client.ensemble(ensemble)["state"] == "ready")
    events = page.get_by_role("list", name="Events of the ensemble")
    died = f"Trial {member['trial_number']} of sweep {member['sweep_id']} in version 1 died and is restarted"
    expect(events.get_by_text(died).first).to_be_visible(timeout=SOON_MS)


def test_canary_is_built_evaluated_and_promoted(stage: Stage, visitor: Visitor) -> None:
    name = f"by versions {secrets.token_hex(3)}"
    ensemble = stage.client.build_ensemble(stage.digits, k=2, name=name)["id"]
    stage.client.wait_ensemble(ensemble, 60)
    page = visitor.open(f"/ensembles/{ensemble}")
    page.get_by_role("link", name="New version").click()
    expect(page.get_by_role("heading", name="Build a new version")).to_be_visible(timeout=SOON_MS)
    expect(page.get_by_label("How many (k)")).to_have_value("2")
    page.get_by_label("How many (k)").fill("3")
    page.get_by_label("Canary, % of the requests").fill("20")
    build = page.get_by_role("button", name="Build version")
    expect(page.get_by_role("heading", name=re.compile("^3 members"))).to_be_visible(timeout=SOON_MS)
    build.click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("20 % of the requests")
    dialog.get_by_role("button", name="Build version").click()

    expect(page).to_have_url(re.compile(rf"/ensembles/{ensemble}$"), timeout=SOON_MS)
    expect(page.get_by_text("Version 2 serves 20 % of the requests as a canary.")).to_be_visible(timeout=SOON_MS)
    wait_for("both versions are ready", lambda: stage.client.ensemble(ensemble)["state"] == "ready")
    page.get_by_label("Evaluation rows").select_option("validation")
    page.get_by_role("button", name="Evaluate on validation").click()
    expect(dialog).to_contain_text("optimistic")
    dialog.get_by_role("button", name="Evaluate", exact=True).click()
    expect(page.get_by_role("region", name="Evaluation")).to_contain_text("Caveat", timeout=60_000)

    press(page, "Promote canary")
    dialog.get_by_role("button", name="Promote").click()
    row = page.get_by_role("row", name=re.compile("^2 (canary|target|active) "))
    expect(row).to_contain_text("active", timeout=60_000)
    stage.client.retire_ensemble(ensemble)


def test_traffic_of_an_ensemble_is_shown_by_minute(stage: Stage, visitor: Visitor) -> None:
    rows = [[0.0] * 64] * 2
    page = visitor.open(f"/ensembles/{stage.ensemble}")
    requests = page.get_by_role("img", name=re.compile("^Requests: "))
    expect(requests).to_be_visible(timeout=SOON_MS)
    for _ in range(20):
        stage.client.predict(stage.ensemble, rows)
    expect(page.get_by_text(re.compile(r"^\d+ in all, \d+ degraded, 0 failed$"))).to_be_visible()
    wait_for("the requests are shown", lambda: "highest 0 " not in (requests.get_attribute("aria-label") or ""), 30)
    page.get_by_role("button", name="24 hours").click()
    expect(page.get_by_role("img", name=re.compile("^p99 latency: highest .* ms at"))).to_be_visible()
