"""Every chart of a sweep is saved as PNG, SVG and CSV, and the timeline by trial is read by pointer and keyboard."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from playwright.sync_api import TimeoutError as PlaywrightTimeoutError

from tests.browser.stage import Stage
from tests.visitor import Visitor, overflow_px, violations

SOON_MS = 20_000.0
SIZES = [(390, 844), (1440, 900), (2560, 1440)]
ANALYSIS = {
    *("history", "importance", "parallel-coordinates", "contour", "rank", "distribution"),
    *("slice-lr", "slice-width", "slice-optimizer", "scatter"),
}
DEVICES = {"devices", "idle-time", "trials"}


def saved(page: Page, chart: str, kind: str, folder: Path) -> Path:
    """The file that the menu of a chart saves."""
    button = page.get_by_role("button", name=f"Export {chart}", exact=True)
    button.scroll_into_view_if_needed(timeout=SOON_MS)
    button.click()
    with page.expect_download() as download:
        page.locator(".menu:popover-open").get_by_role("button", name=kind).click()
    page.keyboard.press("Escape")
    path = folder / download.value.suggested_filename
    download.value.save_as(path)
    return path


def charts_of(page: Page) -> Iterator[str]:
    """The name of each chart in its menu. The importances, when they arrive, choose the axes and the names of some."""
    seen: set[str] = set()
    while new := [name for name in _names(page) if name not in seen]:
        seen.add(new[0])
        yield new[0]


def _names(page: Page) -> list[str]:
    labels = page.locator("button[aria-label^='Export ']").evaluate_all("all => all.map(each => each.ariaLabel)")
    return [label.removeprefix("Export ") for label in labels]


def picture_size(content: bytes) -> tuple[int, int]:
    """Width and height in the header of a PNG."""
    return int.from_bytes(content[16:20]), int.from_bytes(content[20:24])


def table(path: Path) -> list[list[str]]:
    """The rows of a CSV file."""
    with path.open(newline="") as file:
        return list(csv.reader(file))


@pytest.mark.parametrize(
    ("tab", "expected"), [pytest.param("analysis", ANALYSIS, marks=pytest.mark.slow), ("devices", DEVICES)]
)
def test_every_chart_is_saved_under_the_name_of_the_sweep(
    stage: Stage, visitor: Visitor, tmp_path: Path, tab: str, expected: set[str]
) -> None:
    page = visitor.open(f"/sweeps/{stage.finished}/{tab}?unfinished=1")
    last = ".importance" if tab == "analysis" else ".trial-timeline"
    expect(page.locator(last)).to_be_visible(timeout=60_000)
    page.wait_for_function("count => document.querySelectorAll('.plot-foot').length >= count", arg=len(expected))
    found = set()
    for chart in charts_of(page):
        try:
            written, *pictures = [saved(page, chart, kind, tmp_path) for kind in ("CSV", "SVG", "PNG")]
        except PlaywrightTimeoutError:
            assert chart not in _names(page), f"{chart} cannot be saved"
            continue
        start = f"curves-sweep-{stage.finished}-"
        assert written.name.startswith(start)
        found.add(re.sub("^scatter-.*", "scatter", written.stem.removeprefix(start)))
        head, *rows = table(written)
        assert rows, f"{chart} has no numbers"
        assert {len(row) for row in rows} == {len(head)}, chart
        drawing, picture = pictures[0].read_text(), pictures[1].read_bytes()
        assert drawing.startswith("<svg") and "<text" in drawing, chart
        assert re.search('<rect x="0" y="0" [^>]*fill="#fff(fff)?"', drawing), "the ground is white in every theme"
        assert picture.startswith(b"\x89PNG"), chart
        assert min(picture_size(picture)) > 100
    assert expected <= found, "each chart has a menu"


def test_history_has_a_row_for_each_trial(stage: Stage, visitor: Visitor, tmp_path: Path) -> None:
    page = visitor.open(f"/sweeps/{stage.finished}/analysis")
    head, *rows = table(saved(page, "History of score", "CSV", tmp_path))
    score = head.index("score")
    values = {trial["number"]: trial["value"] for trial in stage.client.trials(stage.finished)}
    assert {int(row[0]): float(row[score]) for row in rows} == values


def test_timeline_by_trial_is_read_by_keys_and_opens_a_trial(stage: Stage, visitor: Visitor) -> None:
    page = visitor.open(f"/sweeps/{stage.finished}/devices")
    chart = page.get_by_role("group", name=re.compile("^Timeline of 40 trials: 0 running"))
    expect(chart).to_be_visible(timeout=SOON_MS)
    page.get_by_role("button", name="Rows", exact=True).click()
    expect(page).to_have_url(re.compile("trials=rows"))
    chart.focus()
    page.keyboard.press("End")
    link = page.get_by_role("link", name="Trial 39: finished")
    expect(link).to_be_visible()
    assert chart.evaluate("box => box.scrollTop > 0"), "the row of the last trial is in view"
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Trial 39")).to_be_visible()


def test_timeline_by_trial_grows_while_trials_run(stage: Stage, visitor: Visitor) -> None:
    sweep = stage.going(run_cap=4)
    try:
        page = visitor.open(f"/sweeps/{sweep}/devices")
        chart = page.get_by_role("group", name=re.compile("^Timeline of . trials: 2 running"))
        expect(chart).to_be_visible(timeout=SOON_MS)
        chart.focus()
        page.keyboard.press("Home")
        said = page.locator(".trial-timeline-said")
        expect(said).to_contain_text("running for")
        before = said.inner_text()
        expect(said).not_to_have_text(before, timeout=SOON_MS)
    finally:
        stage.client.cancel_sweep(sweep)


@pytest.mark.slow  # test_every_page has the same pages, with another query
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("tab", ["analysis", "devices"])
def test_charts_are_accessible_and_fit_at_every_size(stage: Stage, size: tuple[int, int], tab: str) -> None:
    for theme in ("light", "dark"):
        with stage.visitor(size=size, theme=theme) as visitor:
            page = visitor.open(f"/sweeps/{stage.finished}/{tab}?log=1")
            expect(page.locator("canvas").first).to_be_visible(timeout=SOON_MS)
            assert violations(page) == []
            assert overflow_px(page) == 0
