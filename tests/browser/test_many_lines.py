"""Parallel coordinates of thousands of trials: their density, the best above it, and the lines inside a brush."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.browser.canvas import shades, share_like
from tests.browser.stage import Stage
from tests.browser.studies import LINES
from tests.running_service import wait_for
from tests.visitor import Visitor

ANY = (1, 255)  # opacities
MIXED = 40  # of 255: the best lines are drawn over others


def test_best_lines_are_above_the_density_and_those_in_a_brush_are_drawn_one_by_one(
    stage: Stage, visitor: Visitor
) -> None:
    page = visitor.open(f"/sweeps/{stage.dense}/analysis")
    count = page.locator(".parallel-count")
    expect(count).to_have_text(f"{LINES:,} of {LINES:,} trials")
    legend = page.locator(".parallel + .plot-foot")
    expect(legend).to_contain_text("the 50 best")
    chart = page.locator("section.parallel")
    density, lines = chart.locator("canvas").first, chart.get_by_role("img")
    wait_for("only the best lines are above", lambda: share_like(lines, "--gold", MIXED) == 1.0, 20)
    assert len(shades(density, ANY)) > 100, "the number of lines in each pixel"

    highest = page.get_by_role("slider", name="y, highest")
    for _ in range(6):
        highest.press("Shift+ArrowDown")
    inside = stage.client.count_trials(stage.dense, "y<=0.25")
    expect(count).to_have_text(f"{inside} of {LINES:,} trials")
    expect(legend).to_contain_text(f"the {inside // 10} best")
    wait_for("only lines outside are below", lambda: len(shades(density, ANY)) < 10, 20)
    assert len(shades(lines, ANY)) > 100, "the lines inside in their colors"
    assert 0 < share_like(lines, "--gold", MIXED) < 0.5
