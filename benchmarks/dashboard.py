"""Row 9: requests and rendering of a sweep's page with 10,000 to 200,000 trials, compared with optuna-dashboard.

Measured over HTTP with the requests of the page, each several times, without the first: the table's window of 200 rows
sorted by value, the same window filtered by three terms and sorted by a parameter, and 50 curves. optuna-dashboard
answers one request with all trials and all curves and filters in the browser: this request counts as its list, its
filter and its curves. Sizes are before compression. Only Podium is measured with 200,000 trials: with 50,000,
optuna-dashboard needs a minute for one request and shows no row within two.

In Chromium, if installed, with a new browser each time: the time from the start of a visit to the first paint and to
the first row of trials, and the time to draw a brush of parallel coordinates over 10,000 trials with eight parameters:
two frames after the key, and the first frame after all charts of the page are drawn. With more trials the page shows
a sample, in which the brush is drawn at once; the time until the service's response to the brush is drawn is a figure
of its own.

Data: eight parameters and ten points per curve, the same in both databases. Not measured: a network, a GPU in the
browser, many users at once, a running sweep.
"""

from __future__ import annotations

import json
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx2

from benchmarks import optuna_dashboard, page_times, service_parts
from benchmarks.databases import SqliteFiles
from benchmarks.generated_sweep import fill
from benchmarks.results import Figure, Row, at_most, ratio
from benchmarks.run_settings import Plan
from podium.api.client.service_for_command import service
from podium.db.schema.open_database import open_database
from podium.sweep.runtime.layout import DataDirectory
from podium.sweep.runtime.service_settings import ServiceSettings

if TYPE_CHECKING:
    from playwright.sync_api import BrowserContext

COUNTS = (10_000, 50_000, 200_000)
PEER_COUNTS = (10_000, 50_000)
ASKED = 10  # of each request
ASKED_PEER = 3
PRESSES = 20
TABLE = {"sort": "best", "limit": 200}
FILTERED = {"filter": "lr<0.01 dropout:0.1..0.3 optimizer:adam,adamw", "sort": "params.hidden", "limit": 200}
CURVES = {"limit": 50}
Measurement = dict[str, list[float]]
_WITHOUT_BROWSER = "Chromium or playwright is not installed: pages were not measured"
_WITHOUT_PEER = "200,000 trials: Podium only; optuna-dashboard shows no row of 50,000 trials within two minutes"


def run(plan: Plan, numbers: frozenset[int]) -> list[Row]:
    """Row 9."""
    counts, peer_counts = ((200, 400), (200,)) if plan.quick else (COUNTS, PEER_COUNTS)
    ours: dict[int, Measurement] = {}
    theirs: dict[int, Measurement] = {}
    executable = page_times.chromium()
    visits = min(3, plan.repetitions)
    with tempfile.TemporaryDirectory(prefix="podium-bench-") as folder:
        package = optuna_dashboard.installed(Path(folder) / "optuna-dashboard")
        for count in counts:
            data_dir = Path(folder) / f"podium-{count}"
            ours[count] = podium(data_dir, prepare(data_dir, count), executable, visits)
            plan.say(f"{count:,} trials, Podium: {_summary(ours[count])}")
            if count not in peer_counts:
                continue
            url = SqliteFiles().optuna(Path(folder) / f"optuna-{count}")
            optuna_dashboard.fill(url, count)
            theirs[count] = peer(url, package, executable, visits)
            plan.say(f"{count:,} trials, optuna-dashboard: {_summary(theirs[count])}")
    return [_row(ours, theirs, visits, executable is not None)]


def prepare(folder: Path, count: int) -> int:
    """A new data directory with a sweep of `count` trials; returns its id."""
    return filled(SqliteFiles().podium(folder), count)


def filled(settings: ServiceSettings, count: int) -> int:
    """Add a sweep of `count` trials to the database of a service; returns its id."""
    database = open_database(settings)
    sweep_id = fill(database, count)
    database.close()
    return sweep_id


def podium(folder: Path, sweep_id: int, executable: str | None, visits: int) -> Measurement:
    """Measure Podium's service and pages."""
    with service(folder, "cpu:2", own=True) as client:
        token = (folder / "admin.token").read_text().strip()
        path = f"/api/v1/sweeps/{sweep_id}"
        with httpx2.Client(base_url=client.url, headers={"Authorization": f"Bearer {token}"}, trust_env=False) as http:
            found: Measurement = {}
            for name, tail, query in (
                ("table", "table", TABLE), ("filter", "table", FILTERED), ("curves", "curves", CURVES),
            ):  # fmt: skip
                found[f"{name} ms"], found[f"{name} kB"] = asked(http, f"{path}/{tail}", query, ASKED)
            found["memory MiB"] = [_api_memory_mib(folder)]
        if executable is not None:
            found |= _pages(executable, client.url, token, sweep_id, visits)
    return found


def _api_memory_mib(folder: Path) -> float:
    root: int = json.loads(DataDirectory(folder).service_file.read_text())["pid"]
    return service_parts.memory_mib(root)["api"]


def _pages(executable: str, url: str, token: str, sweep_id: int, visits: int) -> Measurement:
    found: Measurement = {"paint ms": [], "row ms": []}
    for _ in range(visits):
        with page_times.browser(executable) as context:
            context.request.post(f"{url}/api/v1/session", data={"token": token}, headers={"Origin": url})
            _visit(found, context, f"{url}/sweeps/{sweep_id}", "table.trials tbody a")
            times = page_times.brush_ms(context, f"{url}/sweeps/{sweep_id}/analysis", PRESSES)
            found["brush ms"], found["charts ms"] = times.lines, times.charts
            if times.queried:
                found["queried ms"] = times.queried
    return found


def _visit(found: Measurement, context: BrowserContext, url: str, selector: str) -> None:
    paint, row = page_times.shown_ms(context, url, selector)
    found["paint ms"].append(paint)
    found["row ms"].append(row)


def peer(storage: str, package: Path, executable: str | None, visits: int) -> Measurement:
    """Measure the same in optuna-dashboard."""
    with optuna_dashboard.serving(package, storage) as url:
        with httpx2.Client(base_url=url, timeout=300, trust_env=False) as http:
            took_ms, size_kb = asked(http, "/api/studies/1", {}, ASKED_PEER)
        found = {"table ms": took_ms, "table kB": size_kb}
        if executable is not None:
            found |= {"paint ms": [], "row ms": []}
            for _ in range(visits):
                with page_times.browser(executable) as context:
                    _visit(found, context, f"{url}/dashboard/studies/1/trials", "text=Trial 0")
    return found


def asked(http: httpx2.Client, path: str, query: dict[str, Any], times: int) -> tuple[list[float], list[float]]:
    """Milliseconds and kilobytes of each response, without the first one."""
    took_ms, size_kb = [], []
    for _ in range(times + 1):
        began = time.perf_counter()
        answer = http.get(path, params=query)
        took_ms.append(1e3 * (time.perf_counter() - began))
        answer.raise_for_status()
        size_kb.append(len(answer.content) / 1e3)
    return took_ms[1:], size_kb[1:]


def _row(ours: dict[int, Measurement], theirs: dict[int, Measurement], visits: int, browsed: bool) -> Row:
    podium_figures = {key: figure for count, found in ours.items() for key, figure in figures(count, found)}
    peer_figures = {key: figure for count, found in theirs.items() for key, figure in figures(count, found)}
    few, many = min(ours), max(ours)
    targets = [
        at_most(podium_figures[many, "table ms"], 100),
        at_most(podium_figures[many, "table kB"], 200),
        at_most(podium_figures[many, "filter ms"], 100),
    ]
    if browsed:
        targets += [at_most(podium_figures[few, "row ms"], 1000), at_most(podium_figures[few, "brush ms"], 100)]
        targets += [at_most(podium_figures[few, "charts ms"], 100)]
        targets += [at_most(podium_figures[many, "row ms"], 1000), at_most(podium_figures[many, "brush ms"], 100)]
    return Row(
        9,
        f"the page of a sweep with {few:,} to {many:,} trials: table, filter, curves",
        list(podium_figures.values()),
        visits,
        targets=targets,
        peer_name=f"optuna-dashboard {optuna_dashboard.VERSION}",
        peer=list(peer_figures.values()),
        ratios={figure.name: ratio(podium_figures[key], figure) for key, figure in peer_figures.items()},
        notes=[_WITHOUT_PEER, *(() if browsed else (_WITHOUT_BROWSER,))],
    )


NAMES = {
    "table": "table", "filter": "table, filtered and sorted", "curves": "50 curves", "paint": "first paint",
    "row": "first row shown", "brush": "a brush drawn",
    "charts": "a brush drawn in every chart",
    "queried": "the service's trials of a brush drawn in every chart", "memory": "memory of the api after the requests",
}  # fmt: skip


def _named(what: str, unit: str) -> str:
    return f"{NAMES[what]}, size" if unit == "kB" else NAMES[what]


def figures(count: int, found: Measurement) -> list[tuple[tuple[int, str], Figure]]:
    """The figures of a sweep with `count` trials, with the names of their samples."""
    return [
        ((count, key), Figure(f"{count:,}: {_named(*key.split())}", key.split()[1], tuple(samples)))
        for key, samples in found.items()
    ]


def _summary(found: Measurement) -> str:
    return ", ".join(
        f"{key.split()[0]} {sorted(samples)[len(samples) // 2]:.3g} {key.split()[1]}" for key, samples in found.items()
    )
