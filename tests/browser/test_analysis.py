"""The charts of a sweep: brushes by keyboard and pointer, linked to the filter and kept on reload."""

from __future__ import annotations

import re

from playwright.sync_api import Page, expect

from tests.browser.stage import Stage
from tests.browser.test_table import filter_by, query, rows
from tests.visitor import Visitor

SOON_MS = 20_000.0


def brushed(page: Page) -> int:
    """The number of the 40 trials inside the brushes, as the chart shows it."""
    said = page.locator(".parallel-count").inner_text()
    found = re.fullmatch(r"(\d+) of \d+ trials", said)
    assert found is not None, said
    return int(found[1])


def test_keyboard_brush_on_parallel_coordinates_sets_filter(stage: Stage, visitor: Visitor) -> None:
    page = visitor.open(f"/sweeps/{stage.finished}/analysis")
    lowest = page.get_by_role("slider", name="lr, lowest")
    expect(lowest).to_be_visible(timeout=SOON_MS)
    assert brushed(page) == 40

    lowest.focus()
    for _ in range(3):
        page.keyboard.press("Shift+ArrowUp")
    page.get_by_role("button", name="optimizer: adam").click()
    expect(page).to_have_url(re.compile("filter=.*lr.*optimizer"))
    expect(page.locator(".parallel-count")).not_to_have_text(re.compile("^40 of"))
    text, count = query(page, "filter"), brushed(page)
    assert 0 < count < 40
    assert count == sum(1 for _ in stage.client.trials(stage.finished, filter=text))

    page.reload()
    expect(page.get_by_role("button", name="optimizer: adam")).to_have_attribute("aria-pressed", "true")
    expect(page.locator(".parallel-count")).to_have_text(f"{count} of 40 trials")
    assert query(page, "filter") == text

    page.get_by_role("link", name="Table").click()
    expect(rows(page)).to_have_count(count)


def test_pointer_brush_sets_filter_and_click_removes_it(stage: Stage, visitor: Visitor) -> None:
    page = visitor.open(f"/sweeps/{stage.finished}/analysis")
    handles = [page.get_by_role("slider", name=f"width, {end}") for end in ("highest", "lowest")]
    expect(handles[0]).to_be_visible(timeout=SOON_MS)
    handles[0].scroll_into_view_if_needed()
    top, bottom = (handle.bounding_box() for handle in handles)
    assert top is not None and bottom is not None
    x = top["x"] + top["width"] / 2
    page.mouse.move(x, top["y"] + (bottom["y"] - top["y"]) * 0.3)
    page.mouse.down()
    page.mouse.move(x, top["y"] + (bottom["y"] - top["y"]) * 0.7, steps=6)
    page.mouse.up()
    expect(page).to_have_url(re.compile("filter=width"))
    assert 0 < brushed(page) < 40
    handles[0].press("Delete")
    expect(page.locator(".parallel-count")).to_have_text("40 of 40 trials")
    expect(page).not_to_have_url(re.compile("filter="))


def test_charts_have_descriptions_and_importance_ranks_parameters(stage: Stage, visitor: Visitor) -> None:
    page = visitor.open(f"/sweeps/{stage.finished}/analysis")
    importance = page.get_by_role("region", name="Importance")
    expect(importance.or_(page.locator(".panel", has=page.get_by_role("heading", name=re.compile("mportan"))))
           .first).to_contain_text("lr", timeout=60_000)  # fmt: skip
    for chart in page.get_by_role("img").all():
        name = chart.get_attribute("aria-label") or ""
        assert re.search(r"\d", name), f"a chart without figures: {name!r}"


def test_tooltip_of_the_scatter_chart_has_the_metric_and_parameters(stage: Stage, visitor: Visitor) -> None:
    page = visitor.open(f"/sweeps/{stage.finished}/analysis?scatter=params.lr|running_s")
    panel = page.locator("section.panel").filter(has=page.get_by_role("heading", name="Scatter", exact=True))
    panel.scroll_into_view_if_needed()
    panel.get_by_role("group").press("End")
    tip = page.locator(".plot-tip")
    for name in ("lr", "score", "width", "optimizer"):
        expect(tip.get_by_role("term").filter(has_text=re.compile(f"^{name}$"))).to_have_count(1)


def test_distribution_and_rank_are_read_by_keyboard_and_follow_the_filter(stage: Stage, visitor: Visitor) -> None:
    page = visitor.open(f"/sweeps/{stage.finished}/analysis?rank=params.width|params.lr")
    ranked = sorted(stage.client.trials(stage.finished), key=lambda trial: float(trial["value"] or 0))
    tip = page.locator(".plot-tip")
    distribution = page.get_by_role("group", name=re.compile("^Distribution of score over "))
    half = f"40 finished trials; half have at most {ranked[19]['value']:.4g}."
    expect(distribution).to_have_attribute("aria-label", re.compile(re.escape(half)))
    distribution.press("End")
    expect(tip).to_contain_text(f"Trial {ranked[-1]['number']} · finished")
    distribution.press("Home")
    expect(tip).to_contain_text(f"Trial {ranked[0]['number']} · finished")
    distribution.press("Escape")

    across = page.locator("section.panel").filter(has=page.get_by_role("heading", name="Rank", exact=True))
    across.get_by_role("combobox", name="X axis").click()
    across.get_by_role("option", name="lr", exact=True).click()
    rank = page.get_by_role("group", name=re.compile("^Rank of score by lr and width, "))
    rank.press("End")
    fastest = max(ranked, key=lambda trial: float(trial["params"]["lr"]))
    expect(tip).to_contain_text(f"Trial {fastest['number']} · finished")

    filter_by(page, "optimizer:adam")
    inside = stage.client.count_trials(stage.finished, "optimizer:adam")
    expect(rank).to_have_attribute("aria-label", re.compile(rf", {inside} trials\."))
    distribution.scroll_into_view_if_needed()  # a chart is drawn again once it is in view
    expect(distribution).to_have_attribute("aria-label", re.compile(rf"\b{inside} finished trials"))
