"""The page of an ensemble of two versions: drift of its inputs, the comparison of its versions, and its events."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np
import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.pages import assert_accessible, at_rest
from tests.browser.stage import Stage
from tests.running_service import wait_for
from tests.visitor import Visitor

SOON_MS = 20_000.0
SHIFTED = 20  # the feature of the digits that differs most in the requests


@pytest.fixture(scope="module")
def versions(stage: Stage) -> Iterator[int]:
    """An ensemble of one network, whose version 2, the canary, has two."""
    best = [trial["trial_id"] for trial in stage.client.best(stage.digits, 2)]
    ensemble = int(stage.client.build_ensemble(trial_ids=best[:1], name="two versions")["id"])
    stage.client.wait_ensemble(ensemble, 60)
    stage.client.add_version(ensemble, trial_ids=best, canary_share=0.2)
    wait_for("the canary is ready", lambda: stage.client.ensemble(ensemble)["canary"] == 2)
    yield ensemble
    stage.client.retire_ensemble(ensemble)


def panel(page: Page, title: str) -> Locator:
    return page.locator("section.panel").filter(has=page.get_by_role("heading", name=title, exact=True))


def test_inputs_that_differ_from_the_training_rows_are_listed(stage: Stage, visitor: Visitor, versions: int) -> None:
    page = at_rest(visitor.open(f"/ensembles/{versions}"))
    drift = panel(page, "Drift of inputs")
    expect(drift).to_contain_text(re.compile(r"Nothing to compare: \d+ of at least 200 rows have been sampled"))
    rows = np.zeros((32, 64), np.float32)
    rows[:, SHIFTED] = 100

    requests = iter(range(12))  # of each, 32 rows are sampled

    def is_compared() -> bool:
        if next(requests, None) is not None:
            stage.client.predict(versions, rows)
        return stage.client.drift(versions)["problem"] == ""

    wait_for("the drift is known", is_compared, 30)
    page.reload()
    at_rest(page)
    expect(drift).to_contain_text(
        re.compile(r"\d+ features of [\d,]+ recent rows differ by more than 0\.5 standard deviations")
    )
    name = next(each["name"] for each in stage.client.drift(versions)["features"] if each["feature"] == SHIFTED)
    first = drift.locator("tbody").get_by_role("row").first
    expect(first.get_by_role("rowheader")).to_have_text(name)
    trained, _, recent, _, difference = (float(text) for text in first.get_by_role("cell").all_text_contents())
    assert 0 <= trained <= 16 < 80 < recent <= 100  # the digits have 17 levels
    assert difference > 1


def test_versions_are_evaluated_and_compared_on_the_same_rows(stage: Stage, visitor: Visitor, versions: int) -> None:
    page = at_rest(visitor.open(f"/ensembles/{versions}"))
    comparison = panel(page, "Comparison of two versions")
    expect(comparison).to_contain_text("The two versions have not been evaluated on the same rows.")
    for version in (1, 2):
        button = comparison.get_by_role("button", name=f"Evaluate version {version} on the test split")
        button.click()
        expect(button).to_have_count(0, timeout=60_000)
    expect(comparison).to_contain_text(re.compile(r"On the same \d+ rows of the test split"))

    # The API answers with the finished evaluations, as nothing has changed.
    found = [stage.client.evaluate(versions, version=version)["result"] for version in (1, 2)]
    scores = [result["ensemble"]["accuracy"] for result in found if result is not None]
    first, second = (f"{score:.4f}" for score in scores)
    accuracy = comparison.get_by_role("row", name=re.compile("^Accuracy"))
    cells = accuracy.get_by_role("cell").all_text_contents()
    assert cells[:2] == [first, second]
    change = scores[1] - scores[0]
    assert cells[3] == ("equal" if change == 0 else "version 2" if change > 0 else "version 1")
    intervals = comparison.get_by_role("list", name="Confidence intervals").get_by_role("listitem")
    expect(intervals.first).to_contain_text(
        re.compile(r"^Accuracy of version 2 minus version 1: .*, 95 % interval .* to .*\."), timeout=SOON_MS
    )
    assert_accessible(page)  # with the drift of the test above
    comparison.get_by_label("with", exact=True).select_option("1")
    expect(comparison).to_contain_text("Choose two different versions.")


def test_events_are_listed_newest_first_and_new_ones_appear(stage: Stage, visitor: Visitor, versions: int) -> None:
    page = at_rest(visitor.open(f"/ensembles/{versions}"))
    events = page.get_by_role("list", name="Events of the ensemble").get_by_role("listitem")
    added = events.filter(has_text="Version 2 added as a canary with 20 % of the requests")
    expect(added).to_have_count(1)
    expect(events).to_have_count(len(stage.client.ensemble_events(versions, 100)))
    expect(events.last).to_contain_text("Ensemble building")
    times = [time.get_attribute("datetime") or "" for time in events.locator("time").all()]
    assert times == sorted(times, reverse=True)

    stage.client.evaluate(versions, "validation", version=1, force=True)
    expect(events.first).to_contain_text("Evaluation finished", timeout=SOON_MS)
