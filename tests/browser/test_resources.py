"""The resources of a trial: its memory and processor while it runs, and its peak in the table afterwards."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from tests.browser.stage import Stage
from tests.browser.test_table import rows
from tests.running_service import wait_for
from tests.visitor import Visitor

SOON_MS = 20_000.0


def test_resources_are_drawn_while_a_trial_runs_and_its_peak_is_in_the_table(stage: Stage, visitor: Visitor) -> None:
    sweep = stage.going(name="measured", run_cap=1)
    trial = wait_for("it runs", lambda: list(stage.client.trials(sweep, state="running")))[0]["id"]
    page = visitor.open(f"/trials/{trial}")
    resources = page.locator("section.panel").filter(has=page.get_by_role("heading", name="Resources", exact=True))
    memory = resources.get_by_role("img", name=re.compile(r"^Memory: memory at most [\d,]+ MB, last [\d,]+ MB"))
    expect(memory).to_be_visible(timeout=SOON_MS)
    expect(resources.get_by_role("img", name=re.compile(r"^Processor: cores at most [\d.]+ cores"))).to_be_visible()
    resources.get_by_text("Show as table").click()
    table = resources.get_by_role("table", name=re.compile("samples, newest first"))
    expect(table.get_by_role("columnheader", name="Memory")).to_be_visible()
    expect(table.get_by_role("row").nth(1)).to_contain_text(re.compile(r"[\d,]+ MB"))

    stage.client.stop_sweep(sweep)  # ends with its trial
    stage.client.stop_trial(trial)
    wait_for("it has ended", lambda: stage.client.trial(trial)["ended_at"])
    text = f"{int((stage.client.trial(trial)['peak_memory_mb'] or 0) + 0.5):,} MB"
    peak = page.locator(".stat").filter(has_text="Peak memory").locator(".stat-value")
    expect(peak).to_have_text(text, timeout=SOON_MS)
    visitor.open(f"/sweeps/{sweep}")
    expect(page.get_by_role("columnheader", name="Peak memory", exact=True)).to_be_attached()
    expect(rows(page)).to_contain_text(text)
