"""Trials that wait for a device: the list of sweeps tells why, and the queue is not part of the running time."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.stage import Stage
from tests.browser.test_table import rows
from tests.running_service import wait_for
from tests.visitor import Visitor

SOON_MS = 20_000.0
DEVICES = ("cpu-0", "cpu-1")
_SECONDS = {"ms": 0.001, "s": 1.0, "min": 60.0}


@pytest.fixture
def holder(stage: Stage) -> Iterator[int]:
    """A sweep whose trials hold both devices."""
    sweep = stage.going(name="holds all devices")
    try:
        wait_for("it has both devices", lambda: stage.client.sweep(sweep)["counts"].get("running") == 2)
        yield sweep
    finally:
        stage.client.cancel_sweep(sweep)
        for device in stage.client.devices():
            if device["state"] == "drained":
                stage.client.return_device(device["id"])


@pytest.fixture
def queued(stage: Stage, holder: int) -> Iterator[int]:
    """A sweep that waits for the devices of `holder`."""
    sweep = int(stage.client.submit(stage.quick(name="to queue", run_cap=1))["id"])
    yield sweep
    stage.client.cancel_sweep(sweep)


def seconds(text: str) -> float:
    """A duration as the dashboard shows it: 350 ms, 4.2 s, 3 min 20 s."""
    return sum(float(amount) * _SECONDS[unit] for amount, unit in re.findall(r"([\d.]+) (ms|s|min)", text))


def figure(page: Page, name: str) -> Locator:
    """A figure in the head of a trial's page."""
    return page.locator(".stat").filter(has=page.get_by_text(name, exact=True)).locator(".stat-value")


def reason(page: Page, sweep: int) -> Locator:
    """Why a sweep waits, in the list of sweeps."""
    row = page.get_by_role("row").filter(has=page.locator(f'a[href="/sweeps/{sweep}"]'))
    return row.locator(".sweeps-reason")


def test_list_tells_why_a_queued_and_a_running_sweep_wait(
    stage: Stage, visitor: Visitor, holder: int, queued: int
) -> None:
    page = visitor.open("/")
    expect(reason(page, queued)).to_have_text(f"every device is busy: sweep {holder} runs", timeout=SOON_MS)
    expect(reason(page, holder)).to_have_count(0)
    for device in DEVICES:
        stage.client.drain_device(device, "loud")
    for trial in list(stage.client.trials(holder, state="running")):
        stage.client.stop_trial(trial["id"])
    drained = re.compile(r"^Waits: no device is available for trials: (cpu-[01] is drained \(loud\)(; |$)){2}")
    expect(reason(page, holder)).to_have_text(drained, timeout=SOON_MS)
    expect(page.get_by_role("row", name=re.compile("holds all devices")).locator(".badge")).to_contain_text("running")


def test_queue_of_a_retried_trial_is_apart_from_its_running_time(stage: Stage, visitor: Visitor) -> None:
    sweep = int(stage.client.submit(stage.failing(name="retried", parameters={"x": {"value": 2}}))["id"])
    assert stage.client.wait(sweep, 60)["state"] == "failed"
    trial = next(iter(stage.client.trials(sweep)))["id"]
    page = visitor.open(f"/trials/{trial}")
    page.get_by_role("button", name="Retry…").click()
    page.get_by_role("dialog").get_by_role("button", name="Retry", exact=True).click()
    expect(page.get_by_role("heading", name="Attempts (2)")).to_be_visible(timeout=SOON_MS)
    expect(page.get_by_role("heading", level=1)).to_contain_text("failed", timeout=SOON_MS)
    wait_for("its second attempt has ended", lambda: stage.client.trial(trial)["attempts"][-1]["ended_at"])

    visitor.open(f"/trials/{trial}")
    found = stage.client.trial(trial)
    expect(figure(page, "Running time")).to_be_visible()
    shown = [seconds(figure(page, name).inner_text()) for name in ("Running time", "Queued")]
    ran = sum(attempt["duration_s"] or 0 for attempt in found["attempts"])
    assert shown == pytest.approx([ran, found["queued_s"]], rel=0.05, abs=0.002)
    assert shown[1] > 0.1, "the user took longer to retry it"

    visitor.open(f"/sweeps/{sweep}/table?filter=number:{found['number']}&columns=number,running_s,queued_s,attempt")
    cells = rows(page).get_by_role("cell")
    expect(cells.last).to_have_text("2")
    assert [seconds(text) for text in cells.all_inner_texts()[-3:-1]] == shown
