"""The page of a trial: live updates, stop, retry, clone, notes and tags."""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from tests.browser.stage import Stage
from tests.running_service import wait_for
from tests.visitor import Visitor

SOON_MS = 20_000.0


@pytest.fixture
def going(stage: Stage) -> Iterator[int]:
    """A trial that runs until it is stopped; the last of its sweep."""
    sweep = stage.going(name="to be watched", run_cap=1)
    trials = wait_for("it runs", lambda: list(stage.client.trials(sweep, state="running")), 30)
    yield int(trials[0]["id"])
    stage.client.cancel_sweep(sweep)


def press(page: Page, name: str) -> None:
    page.get_by_role("button", name=name, exact=True).click()


def test_running_trial_is_followed_stopped_and_retried(stage: Stage, visitor: Visitor, going: int) -> None:
    page = visitor.open(f"/trials/{going}")
    log = page.get_by_role("region", name="Log of attempt 1")
    expect(log).to_contain_text(re.compile(r"step 1\d of trial 0"), timeout=SOON_MS)
    expect(log).to_contain_text(re.compile(r"step 2\d of trial 0"), timeout=SOON_MS)
    below = "(box) => box.scrollHeight - box.scrollTop - box.clientHeight"
    wait_for("the end of the log is in sight", lambda: log.evaluate(below) < 100, 10)  # between two steps it lags
    page.get_by_role("figure").first.scroll_into_view_if_needed()  # charts are drawn when they are in view
    expect(page.get_by_role("img").first).to_be_visible()

    press(page, "Stop…")
    page.get_by_role("dialog").get_by_role("button", name="Stop the trial").click()
    head = page.get_by_role("heading", level=1)
    expect(head).to_contain_text("cancelled", timeout=SOON_MS)

    press(page, "Retry")
    expect(head).to_contain_text("running", timeout=SOON_MS)
    expect(page.get_by_role("region", name="Log of attempt 2")).to_contain_text("step", timeout=SOON_MS)
    assert stage.client.trial(going)["attempt"] == 2


def test_trial_is_cloned_with_changed_value(stage: Stage, visitor: Visitor) -> None:
    sweep = int(stage.client.submit(stage.quick(name="to be cloned of", run_cap=3))["id"])
    stage.client.wait(sweep, 60)
    best = stage.client.best(sweep)[0]["trial_id"]
    page = visitor.open(f"/trials/{best}")

    press(page, "Clone…")
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("width").fill("99999")
    dialog.get_by_role("button", name="Clone with 1 change").click()
    expect(dialog.get_by_label("width")).to_have_attribute("aria-invalid", "true")
    dialog.get_by_label("width").fill("64")
    dialog.get_by_role("button", name="Clone with 1 change").click()

    expect(dialog).to_be_hidden()
    wait_for("there is a clone", lambda: len(list(stage.client.trials(sweep))) == 4)
    clone = stage.client.trial(list(stage.client.trials(sweep))[-1]["id"])
    assert (clone["params"]["width"], clone["cloned_from"]) == (64, best)


def test_note_and_tags_are_kept_and_tag_links_to_table(stage: Stage, visitor: Visitor) -> None:
    best = stage.client.best(stage.finished)[0]["trial_id"]
    page = visitor.open(f"/trials/{best}")
    note = f"the one to keep, {secrets.token_hex(3)}"
    page.get_by_label("Note").fill(note)
    press(page, "Save")
    expect(page.get_by_role("button", name="Save", exact=True)).to_have_count(0)  # it is saved
    page.get_by_label("New tag").fill("keep")
    press(page, "Add")
    expect(page.get_by_role("link", name="keep", exact=True)).to_be_visible()

    page.reload()
    expect(page.get_by_label("Note")).to_have_value(note)
    page.get_by_role("link", name="keep", exact=True).click()
    expect(page).to_have_url(re.compile(rf"/sweeps/{stage.finished}/table\?filter=tag(:|%3A)keep"))
