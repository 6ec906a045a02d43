"""A trial with hundreds of metrics: its log and failure come first, and metrics are found by name everywhere."""

from __future__ import annotations

from urllib.parse import unquote

from playwright.sync_api import Page, expect

from tests.browser.stage import Stage
from tests.browser.test_table import filter_by, numbers, query, rows
from tests.visitor import Visitor


def top(page: Page, heading: str) -> float:
    """The vertical position of a panel."""
    box = page.get_by_role("heading", level=2, name=heading, exact=True).bounding_box()
    assert box is not None, heading
    return box["y"]


def test_failure_and_log_are_above_the_metrics_which_are_searched(stage: Stage, visitor: Visitor) -> None:
    failed = next(iter(stage.client.trials(stage.metrics, state="failed")))
    page = visitor.open(f"/trials/{failed['id']}")
    expect(page.get_by_role("region", name="Log of attempt 1")).to_contain_text("starts with x 4")
    expect(page.get_by_text("ValueError: the loss diverged").first).to_be_visible()
    metrics = page.get_by_role("region", name="Metrics")
    expect(metrics.get_by_role("rowheader")).to_have_count(201)
    assert top(page, "Attempt") < top(page, "Log") < top(page, "Metrics") < top(page, "Curves")

    page.get_by_label("Search metrics").fill("norm 117")
    expect(metrics.get_by_role("row").filter(has=page.get_by_role("rowheader"))).to_have_text(
        ["layer 117/norm 118 step 1117 step 0118 step 1"]
    )
    find = page.get_by_role("searchbox", name="Find metrics")
    expect(find).to_have_attribute("placeholder", "Find in 201 metrics")
    find.fill("val_")
    figures = page.get_by_role("figure")
    expect(figures).to_have_count(1)
    figures.scroll_into_view_if_needed()
    expect(page.get_by_role("figure", name="val_loss", exact=True)).to_be_visible()
    assert query(page, "find") == "val_"


def test_metric_is_added_as_a_column_and_filters_trials(stage: Stage, visitor: Visitor) -> None:
    page = visitor.open(f"/sweeps/{stage.metrics}/table?sort=number")
    expect(rows(page)).to_have_count(4)
    page.get_by_role("button", name="Columns").click()
    picker = page.get_by_role("combobox", name="Metric")
    picker.click()
    picker.fill("199")
    page.get_by_role("option", name="layer 199/norm", exact=True).click()
    header = page.get_by_role("columnheader", name="layer 199/norm")
    expect(header).to_be_attached()
    page.keyboard.press("Escape")
    assert "last(layer 199/norm)" in unquote(query(page, "columns"))
    expect(rows(page).first).to_contain_text("200")
    page.reload()
    expect(header).to_be_attached()

    found = {trial["params"]["x"]: trial["number"] for trial in stage.client.trials(stage.metrics)}
    for text, kept in (("val_loss<0.15", [1]), ("min(val_loss)<0.15", [1, 2]), ('last("layer 199/norm")>200', [])):
        filter_by(page, text)
        expect(page.get_by_role("search").get_by_role("status")).to_have_text(f"{len(kept)} of 4 trials")
        expect(rows(page)).to_have_count(len(kept))
        assert numbers(page) == sorted(found[x] for x in kept)
