"""Every page of the dashboard by its path, for checks that apply to all pages."""

from __future__ import annotations

from collections.abc import Mapping

from playwright.sync_api import Page

from tests.browser.stage import Stage

TABS = ("table", "curves", "analysis", "devices", "ensemble", "configuration")


def of_sweep(stage: Stage, sweep: int) -> Mapping[str, str]:
    """The paths by name of all pages about one sweep and its first trial."""
    trials = list(stage.client.trials(sweep))[:3]
    ids = ",".join(str(trial["id"]) for trial in trials)
    return {
        **{tab: f"/sweeps/{sweep}/{tab}" for tab in TABS},
        "compare": f"/sweeps/{sweep}/compare?trials={ids}",
        "trial": f"/trials/{trials[0]['id']}",
        "clone": f"/new?from={sweep}",
    }


def at_rest(page: Page) -> Page:
    """The page, once it no longer shows that it is loading."""
    page.get_by_role("main").get_by_role("heading").first.wait_for()
    page.wait_for_function("() => !document.querySelector('.state-loading, [aria-busy=true]')")
    return page
