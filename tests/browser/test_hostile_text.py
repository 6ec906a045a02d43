"""User content is always rendered as text: names, choices, notes, tags, logs, errors."""

from __future__ import annotations

import secrets

from playwright.sync_api import Page, expect

from tests.browser.pages import at_rest, of_sweep
from tests.browser.stage import PLANTED, Stage
from tests.visitor import Visitor


def assert_is_text(page: Page) -> None:
    """Assert that the content is visible and neither became an element nor ran."""
    at_rest(page)
    expect(page.get_by_text(PLANTED).first).to_be_attached()
    assert page.locator("img[src=x], b").count() == 0, page.url
    assert page.title() != "planted"


def test_html_in_sweep_content_is_shown_as_text(stage: Stage, visitor: Visitor) -> None:
    sweep = stage.planted
    trial = next(trial for trial in stage.client.trials(sweep) if trial["state"] == "failed")
    stage.client.note_trial(trial["id"], PLANTED)
    stage.client.tag_trial(trial["id"], ["<img/src=x>"])
    failed = {"failed": f"/trials/{trial['id']}"}
    for path in {**of_sweep(stage, sweep), **failed, "sweeps": "/"}.values():
        visitor.open(path)
        assert_is_text(visitor.page)


def test_html_in_ensemble_name_is_shown_as_text(stage: Stage, visitor: Visitor) -> None:
    best = [trial["trial_id"] for trial in stage.client.best(stage.digits, 2)]
    built = stage.client.build_ensemble(trial_ids=best, name=PLANTED + secrets.token_hex(3))
    for path in ("/ensembles", f"/ensembles/{built['id']}", f"/sweeps/{stage.digits}/ensemble"):
        visitor.open(path)
        assert_is_text(visitor.page)
    stage.client.retire_ensemble(built["id"])
