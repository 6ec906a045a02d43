"""Commands on a sweep's page: pause, resume, stop, extend, cancel, also on a phone."""

from __future__ import annotations

from playwright.sync_api import Locator, Page, expect

from tests.browser.stage import Stage
from tests.running_service import wait_for
from tests.visitor import PHONE, Visitor

SOON_MS = 20_000.0


def state(page: Page) -> Locator:
    """The state in the header of the sweep."""
    return page.locator(".sweep-state")


def press(page: Page, name: str) -> None:
    page.get_by_role("button", name=name, exact=True).click()


def running(stage: Stage, sweep: int) -> None:
    wait_for("its trials run", lambda: stage.client.sweep(sweep)["counts"].get("running"))


def test_sweep_is_paused_resumed_and_cancelled(stage: Stage, visitor: Visitor) -> None:
    sweep = stage.going(name="to be paused")
    running(stage, sweep)
    page = visitor.open(f"/sweeps/{sweep}")

    press(page, "Pause")
    expect(state(page)).to_contain_text("paused", timeout=SOON_MS)
    assert stage.client.sweep(sweep)["state"] == "paused"
    press(page, "Resume")
    expect(state(page)).to_contain_text("running", timeout=SOON_MS)

    press(page, "More")
    press(page, "Cancel the sweep")
    asked = page.get_by_role("dialog", name="Cancel to be paused?")
    expect(asked).to_contain_text("running trial")
    asked.get_by_role("button", name="Cancel the sweep").click()
    expect(state(page)).to_contain_text("cancelled", timeout=SOON_MS)
    assert stage.client.wait(sweep, 30)["state"] == "cancelled"


def test_finished_sweep_continues_when_extended(stage: Stage, visitor: Visitor) -> None:
    sweep = int(stage.client.submit(stage.quick(name="to be extended", run_cap=4))["id"])
    stage.client.wait(sweep, 60)
    page = visitor.open(f"/sweeps/{sweep}")
    expect(state(page)).to_contain_text("finished")

    press(page, "Extend")
    dialog = page.get_by_role("dialog", name="Extend to be extended")
    trials = dialog.get_by_label("Total trials")
    trials.fill("3")
    expect(dialog).to_contain_text("can only increase")
    expect(dialog.get_by_role("button", name="Extend the sweep")).to_be_disabled()
    trials.fill("7")
    expect(dialog).to_contain_text("3 more trials")
    dialog.get_by_role("button", name="Extend the sweep").click()

    expect(dialog).to_be_hidden()
    wait_for("its seven trials have ended", lambda: stage.client.sweep(sweep)["counts"].get("finished") == 7, 30)
    expect(state(page)).to_contain_text("7 trials", timeout=SOON_MS)


def test_sweep_that_waits_is_shown_in_its_chain_and_released(stage: Stage, visitor: Visitor) -> None:
    first = stage.going(name="to fail first")
    fix_from = {"sweep": first, "parameters": ["lr"]}
    second = stage.client.submit(stage.quick(name="to wait", run_cap=2), after=first)["id"]
    third = stage.client.submit(stage.quick(name="to be fixed", run_cap=2, fix_from=fix_from))["id"]
    page = visitor.open(f"/sweeps/{second}")
    chain = page.get_by_role("navigation", name="Chain of sweeps")
    expect(chain).to_contain_text("to fail first")
    expect(state(page)).to_contain_text("waiting for sweep", timeout=SOON_MS)

    stage.client.cancel_sweep(first)
    expect(state(page)).to_contain_text("was cancelled; release this sweep to start it anyway", timeout=SOON_MS)
    expect(chain).to_contain_text("cancelled", timeout=SOON_MS)
    press(page, "Release")
    page.get_by_role("dialog", name="Release to wait?").get_by_role("button", name="Release the sweep").click()
    assert stage.client.wait(second, 60)["state"] == "finished"
    expect(state(page)).to_contain_text("finished", timeout=SOON_MS)

    chain.get_by_role("link", name="to fail first").click()
    expect(chain).to_contain_text("to be fixed")
    page.get_by_role("link", name="Sweeps", exact=True).first.click()
    expect(page.get_by_role("row").filter(has_text="to be fixed")).to_contain_text(f"after sweep {first}")
    stage.client.cancel_sweep(third)


def test_sweep_is_shown_and_stopped_on_phone(stage: Stage) -> None:
    sweep = stage.going(name="seen from a phone")
    running(stage, sweep)
    with stage.visitor(size=PHONE) as visitor:
        page = visitor.open("/")
        page.get_by_role("link", name="seen from a phone").tap()
        press(page, "Stop")
        asked = page.get_by_role("dialog", name="Stop seen from a phone?")
        expect(asked).to_contain_text("No new trials will start")
        asked.get_by_role("button", name="Stop the sweep").tap()
        expect(state(page)).to_contain_text("stopping", timeout=SOON_MS)
    stage.client.cancel_sweep(sweep)
