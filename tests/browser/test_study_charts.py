"""The charts of a study with many parameters, equal results, and pruned and failed trials."""

from __future__ import annotations

import re

from playwright.sync_api import Locator, Page, expect

from tests.browser.canvas import pixels_like, shades
from tests.browser.stage import Stage
from tests.browser.studies import DECISIVE, ENDED, PARAMETERS
from tests.running_service import wait_for
from tests.visitor import Visitor

COMPUTED_MS = 60_000.0


def panel(page: Page, title: str) -> Locator:
    """The panel of a chart, scrolled into view: charts are drawn there."""
    found = page.locator("section.panel").filter(has=page.get_by_role("heading", name=title, exact=True))
    found.scroll_into_view_if_needed()
    return found


def drawing(page: Page, title: str) -> Locator:
    """The canvas of a chart."""
    return panel(page, title).get_by_role("img").first


def slices(page: Page) -> list[str]:
    """The parameters that have a slice, in order."""
    return page.get_by_role("heading", level=2, name=re.compile(r"^p\d\d$")).all_inner_texts()


def expect_marks(page: Page, title: str, *, shown: bool) -> None:
    """Wait until a chart has marks of pruned and of failed trials, or none."""

    def is_so() -> bool:
        found = [pixels_like(drawing(page, title), token) for token in ("--pruned", "--failed")]
        return min(found) > 20 if shown else found == [0, 0]

    wait_for(f"{title} {'has' if shown else 'has no'} marks", is_so, 20)


def test_slices_are_those_of_the_most_important_parameters_until_all_are_shown(stage: Stage, visitor: Visitor) -> None:
    page = visitor.open(f"/sweeps/{stage.tied}/analysis")
    said = page.locator(".analysis-more")
    expect(said).to_contain_text(
        f"Slices of 24 of {PARAMETERS} parameters, the most important ones.", timeout=COMPUTED_MS
    )
    found = page.request.get(f"{stage.url}/api/v1/sweeps/{stage.tied}/importance").json()["importances"]
    assert len(slices(page)) == 24
    assert slices(page)[0] == DECISIVE

    page.get_by_role("button", name=f"Show all {PARAMETERS}").click()
    expect(said).to_contain_text(f"Slices of all {PARAMETERS} parameters, the most important first.")
    every = slices(page)
    assert set(every) == found.keys()
    shares = [found[name] for name in every]
    assert shares == sorted(shares, reverse=True)
    page.reload()
    page.get_by_role("button", name="Show 24").click()
    expect(page.get_by_role("button", name=f"Show all {PARAMETERS}")).to_be_visible()
    assert len(slices(page)) == 24


def test_equal_results_have_one_color(stage: Stage, visitor: Visitor) -> None:
    """The score has three values, the other objective one: none of its trials is the worst."""
    page = visitor.open(f"/sweeps/{stage.tied}/analysis?rank=params.p00|params.p01")
    rank = drawing(page, "Rank")
    wait_for("three colors", lambda: len(shades(rank)) == 3, 20)
    metric = page.locator(".analysis-head").get_by_role("combobox", name="Metric")
    metric.click()
    metric.fill("flat")
    metric.press("Enter")
    expect(page).to_have_url(re.compile("metric=flat"))
    rank = drawing(page, "Rank")
    wait_for("one color", lambda: len(shades(rank)) == 1, 20)
    assert pixels_like(rank, "--ramp-4") > 200, "the color of the best"


def test_pruned_and_failed_trials_are_marked_and_can_be_hidden(stage: Stage, visitor: Visitor) -> None:
    page = visitor.open(f"/sweeps/{stage.tied}/analysis")
    pruned = f"{ENDED['pruned']} pruned or running, last value"
    failed = f"{ENDED['failed']} failed, last value"
    for title in ("History", "Contour", DECISIVE):
        legend = panel(page, title).locator(".plot-legend")
        expect(legend).to_contain_text(pruned)
        expect(legend).to_contain_text(failed)
        expect_marks(page, title, shown=True)
    history = page.get_by_role("group", name=re.compile("^score of 42 trials"))
    history.press("End")
    expect(page.locator(".plot-tip")).to_contain_text("Trial 41 · failed")

    page.get_by_role("checkbox", name="Pruned and failed trials").click()
    expect(page.get_by_text("Without a result, and not drawn: 8 pruned and 4 failed trials.")).to_be_visible()
    expect(page).to_have_url(re.compile("unfinished=0"))
    history.press("End")
    expect(page.locator(".plot-tip")).to_contain_text("Trial 29 · finished")
    for title in ("History", "Contour", DECISIVE):
        expect(panel(page, title).locator(".plot-legend")).not_to_contain_text("last value")
        expect_marks(page, title, shown=False)
