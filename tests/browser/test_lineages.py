"""Where a trial comes from and where it ran: the lineage of a population, clones, and ranks on several devices."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.pages import PHONE_DARK, assert_accessible, at_rest
from tests.browser.stage import PROGRAMS, Stage
from tests.running_service import function_sweep, wait_for
from tests.visitor import Visitor


def trained(stage: Stage, function: str, **changes: Any) -> int:
    """A sweep of a function, once it has ended."""
    document = function_sweep(PROGRAMS, f"lineages:{function}", name=function, **changes)
    sweep = int(stage.client.submit({key: value for key, value in document.items() if value is not None})["id"])
    stage.client.wait(sweep, 60)
    return sweep


@pytest.fixture(scope="module")
def population(stage: Stage) -> int:
    """Four trials that train in intervals; the worst one continues the best one."""
    method = {"type": "pbt", "population": 4, "interval": {"step": 2}}
    space = {"lr": {"min": 0.001, "max": 1.0, "log": True}}
    return trained(stage, "member", method=method, run_cap=None, parameters=space)


@pytest.fixture(scope="module")
def ranks(stage: Stage) -> list[int]:
    """The ids of two trials on both devices: rank 1 of the second one fails."""
    sweep = trained(
        stage,
        "ranks",
        method="grid",
        run_cap=2,
        parameters={"x": {"values": [1, 2]}},
        resources={"devices": 2},
        retries={"user": 0},
    )
    return [int(trial["id"]) for trial in stage.client.trials(sweep)]


def test_lineage_shows_who_continues_whom_and_leads_to_trials(stage: Stage, visitor: Visitor, population: int) -> None:
    intervals = list(stage.client.intervals(population))
    continued = [each for each in intervals if each["donor"] is not None]
    assert continued, "no trial continued another"
    page = at_rest(visitor.open(f"/sweeps/{population}/analysis"))
    lineage = page.get_by_role("group", name=re.compile("^4 trials, "))
    expect(lineage).to_have_accessible_name(
        f"4 trials, {len(intervals)} intervals, {len(continued)} of them continue another trial"
    )
    expect(lineage.locator("line.lineage-arrow")).to_have_count(len(continued))
    cells = lineage.locator("rect title").all_text_contents()
    assert len(cells) == len(intervals)
    for each in continued:
        start = f"trial {each['trial']}, interval {each['interval']}\n"
        (cell,) = [text for text in cells if text.startswith(start)]
        assert f"continues trial {each['donor']}, interval {each['donor_interval']}" in cell
    assert_accessible(page)
    lineage.get_by_role("link", name="Trial 3", exact=True).press("Enter")
    expect(page.get_by_role("heading", level=1)).to_contain_text("Trial 3")


@pytest.mark.slow
def test_schedule_of_a_trial_has_the_intervals_of_its_parents(stage: Stage, visitor: Visitor, population: int) -> None:
    child = next(each for each in stage.client.intervals(population) if each["donor"] is not None)
    chain = stage.client.schedule(child["trial_id"])["intervals"]
    page = at_rest(visitor.open(f"/trials/{child['trial_id']}"))
    schedule = page.locator("section.panel").filter(has=page.get_by_role("heading", name="Schedule"))
    rows = schedule.locator("tbody").get_by_role("row")
    expect(rows).to_have_count(len(chain))
    for row, each in zip(rows.all(), chain, strict=True):
        expect(row.get_by_role("cell").nth(0)).to_have_text(str(each["interval"]))
        expect(row.get_by_role("cell").nth(1)).to_have_text(str(each["trial"]))
    assert_accessible(page, [PHONE_DARK])
    parent = chain[0]["trial"]
    assert parent != child["trial"]
    rows.first.get_by_role("link", name=str(parent), exact=True).click()
    expect(page.get_by_role("heading", level=1)).to_contain_text(f"Trial {parent}")


def test_page_of_a_clone_leads_to_its_original(stage: Stage, visitor: Visitor) -> None:
    sweep = int(stage.client.submit(stage.quick(name="to be cloned", run_cap=2))["id"])
    stage.client.wait(sweep, 60)
    original = list(stage.client.trials(sweep))[1]
    stage.client.clone_trial(original["id"], {"width": 64})
    clone = wait_for("the clone", lambda: list(stage.client.trials(sweep))[2:])[0]
    page = at_rest(visitor.open(f"/trials/{clone['id']}"))
    page.get_by_role("link", name=f"cloned from trial {original['number']}").click()
    expect(page).to_have_url(re.compile(rf"/sweeps/{sweep}/trials/{original['number']}$"))


def ranks_of(page: Page) -> list[list[str]]:
    """The cells of the table of ranks."""
    page.get_by_text("2 devices", exact=True).click()
    table = page.get_by_role("table", name="Ranks of attempt 1")
    rows = table.locator("tbody").get_by_role("row")
    expect(rows).to_have_count(2)
    return [row.get_by_role("cell").all_text_contents() for row in rows.all()]


def test_ranks_of_a_trial_have_devices_ends_and_logs(stage: Stage, visitor: Visitor, ranks: list[int]) -> None:
    page = at_rest(visitor.open(f"/trials/{ranks[0]}"))
    expect(page.get_by_role("article")).to_contain_text("on cpu-0, cpu-1")
    assert ranks_of(page) == [["0", "cpu-0", "finished", "0", ""], ["1", "cpu-1", "finished", "0", ""]]
    expect(page.get_by_role("region", name="Log of attempt 1")).to_contain_text("this is rank 0 of 2")
    page.get_by_label("Rank", exact=True).select_option("1")
    expect(page.get_by_role("region", name="Log of rank 1 of attempt 1")).to_contain_text("this is rank 1 of 2")
    expect(page).to_have_url(re.compile("rank=1"))
    assert_accessible(page, [PHONE_DARK])


@pytest.mark.slow
def test_rank_that_failed_is_named_with_its_cause(visitor: Visitor, ranks: list[int]) -> None:
    page = at_rest(visitor.open(f"/trials/{ranks[1]}"))
    # Rank 0 may have ended before: the trial is then finished, and says so.
    message = re.compile("rank 1(:| failed after rank 0 had ended:) ValueError: rank 1 fails as planned")
    expect(page.get_by_role("article")).to_contain_text(message)
    _, failed = ranks_of(page)
    assert (failed[1], failed[2], failed[4]) == ("cpu-1", "failed", "Exception")
