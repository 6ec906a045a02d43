"""The grid of curves in the browser: drawn, zoomed by dragging, grouped, hidden, exported, and kept by the URL."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.stage import Stage
from tests.visitor import Visitor, overflow_px, violations


def query(page: Page, key: str) -> str:
    return parse_qs(urlsplit(page.url).query).get(key, [""])[0]


def chart(page: Page, name: str) -> Locator:
    """The drawing area of a metric's chart."""
    return page.get_by_role("figure", name=name, exact=True).get_by_role("group")


def is_drawn(area: Locator) -> bool:
    """Whether the canvas has any pixel."""
    found: bool = area.locator("canvas").first.evaluate(
        "c => c.getContext('2d').getImageData(0, 0, c.width, c.height).data.some(part => part > 0)"
    )
    return found


def test_every_metric_is_drawn_and_a_drag_zooms_all_charts(stage: Stage, visitor: Visitor) -> None:
    page = visitor.open(f"/sweeps/{stage.finished}/curves")
    for name in ("score", "loss"):
        expect(chart(page, name)).to_be_visible()
        assert is_drawn(chart(page, name))
    area = chart(page, "loss")
    area.scroll_into_view_if_needed()
    box = area.bounding_box()
    assert box is not None
    middle = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + box["width"] * 0.4, middle)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.7, middle, steps=4)
    page.mouse.up()
    expect(page.get_by_role("button", name="Reset zoom")).to_be_visible()
    low, high = float(query(page, "from")), float(query(page, "to"))
    assert 2 < low < high < 18
    page.reload()
    expect(chart(page, "score")).to_be_visible()
    assert float(query(page, "from")) == low
    page.get_by_role("button", name="Reset zoom").click()
    assert query(page, "from") == ""


def test_groups_have_bands_and_the_legend_hides_one(stage: Stage, visitor: Visitor) -> None:
    page = visitor.open(f"/sweeps/{stage.finished}/curves")
    page.get_by_label("Color by").select_option("optimizer")
    page.get_by_label("Show", exact=True).select_option("mean, minimum and maximum")
    expect(chart(page, "loss")).to_have_attribute("aria-label", re.compile("^loss by step, 2 groups"))
    page.get_by_role("list", name="Groups").get_by_role("button", name="sgd", exact=True).click()
    expect(chart(page, "loss")).to_have_attribute("aria-label", re.compile("^loss by step, 1 group:"))
    assert query(page, "hide") == "sgd"


# `test_chart_files` saves the other kinds of other charts.
SAVED = [
    ("CSV", b"line,step,loss"),
    pytest.param("PNG", b"\x89PNG", marks=pytest.mark.slow),
    pytest.param("SVG", b"<svg", marks=pytest.mark.slow),
]


@pytest.mark.parametrize(("kind", "start"), SAVED)
def test_chart_is_exported(stage: Stage, visitor: Visitor, tmp_path: Path, kind: str, start: bytes) -> None:
    page = visitor.open(f"/sweeps/{stage.finished}/curves")
    figure = page.get_by_role("figure", name="loss", exact=True)
    figure.get_by_role("button", name="Export loss").click()
    with page.expect_download() as download:
        figure.get_by_role("button", name=kind).click()
    saved = tmp_path / download.value.suggested_filename
    download.value.save_as(saved)
    assert saved.name == f"curves-sweep-{stage.finished}-curves-loss.{kind.lower()}"
    assert saved.read_bytes().startswith(start)


@pytest.mark.slow  # test_every_page has the same page, with another query
@pytest.mark.parametrize("size", [(390, 844), (1440, 900), (2560, 1440)])
def test_grid_is_accessible_and_fits_at_every_size(stage: Stage, size: tuple[int, int]) -> None:
    for theme in ("light", "dark"):
        with stage.visitor(size=size, theme=theme) as visitor:
            page = visitor.open(f"/sweeps/{stage.finished}/curves?show=bands&color=params.optimizer&smooth=0.5&log=xy")
            expect(page.get_by_role("figure").first).to_be_visible()
            assert violations(page) == []
            assert overflow_px(page) == 0


def test_log_of_a_trial_is_above_its_curves(stage: Stage, visitor: Visitor) -> None:
    trial = next(iter(stage.client.trials(stage.finished)))
    page = visitor.open(f"/trials/{trial['id']}")
    page.get_by_role("figure", name="score", exact=True).scroll_into_view_if_needed()  # charts are drawn when in view
    expect(chart(page, "score")).to_be_visible()
    log = page.get_by_role("heading", name="Log", exact=True).bounding_box()
    curves = page.get_by_role("heading", name="Curves", exact=True).bounding_box()
    assert log is not None and curves is not None and log["y"] < curves["y"]
