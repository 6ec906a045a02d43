"""Row 22: rows 3, 9 and 10 on PostgreSQL, with Optuna's RDB storage on the same server.

Measured in turn on a server that the benchmark starts (`databases.py`), each on a new database; the server, the service
and the readers share the cores of this machine.

- Search and storage, as row 3: 200 trials with five reports each. The end of a trial is the transaction that stores it
  together with the placement of the next one; of Optuna, `tell`.
- Metric points, as row 10: the recorder alone without readers, which is what the database takes, the recorder with four
  readers and the whole path of a service with four; of Optuna, `report`.
- The requests of the page of a sweep, as row 9, without a browser: the window of 200 rows of the table, the same
  filtered and sorted, and 50 curves, each over HTTP. Optuna has none of them: measured is the first `get_trials` of a
  study object, which reads all trials, without HTTP and JSON. It is other work, so there is no ratio.

Ends and placements of trials wait for the disk on both sides, and so does each `report`; Podium's transactions of
points alone do not (`synchronous_commit = off`): it may lose the last points in a power failure of the server. Both
sides use psycopg 3. After the sweep and the study were written for the reads, `VACUUM ANALYZE` does the work of
autovacuum. Not measured: a network between service and server.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from pathlib import Path

import optuna

from benchmarks import dashboard, ingest, optuna_dashboard, search_and_storage
from benchmarks.databases import MISSING, PostgresDatabases, optuna_storage
from benchmarks.results import Figure, Row, at_least, at_most, more, ratio
from benchmarks.run_settings import Plan
from benchmarks.search_and_storage import METHODS, REPORTS, Storing
from tests.postgres_server import is_installed

PAGE_TRIALS = 10_000
ASKED_PEER = 3
STORED = 60_000.0  # points a second
END_MS = 2.0
PAGE_MS = 100.0


def run(plan: Plan, numbers: frozenset[int]) -> list[Row]:
    """Row 22; none without PostgreSQL."""
    if not is_installed():
        plan.say(f"row 22 is skipped: {MISSING}")
        return []
    databases = PostgresDatabases()
    storing, peer_storing = _storing(plan, databases)
    unread, peer_unread = _without_readers(plan, databases)
    alone, whole, reports = ingest.measured(plan, databases)
    pages, all_trials = _pages(plan, databases)
    *_, end = storing
    pairs = list(zip(storing, peer_storing, strict=True))
    return [
        Row(
            22,
            f"on PostgreSQL: {_trials(plan)} trials with {REPORTS} reports; points stored per second, without readers"
            f" and with four, {ingest.trials_of(plan)} trials; requests of the page of a sweep with"
            f" {_page_trials(plan):,} trials",
            [*storing, unread, *alone, *whole, *pages],
            ingest.repetitions_of(plan),
            targets=[at_least(unread, STORED), at_most(end, END_MS), *(at_most(page, PAGE_MS) for page in pages)],
            peer_name="Optuna, RDB storage on the same server",
            peer=[*peer_storing, peer_unread, *reports, all_trials],
            ratios={
                **{one.name: ratio(one, other) for one, other in pairs},
                unread.name: more(unread, peer_unread),
                alone[0].name: more(alone[0], reports[0]),
            },
            notes=(
                f"PostgreSQL {databases.version} with its default settings, on the same cores",
                "the whole path shares its cores with the trials, the readers and the server",
            ),
        )
    ]


def _trials(plan: Plan) -> int:
    return 10 if plan.quick else search_and_storage.TRIALS


def _page_trials(plan: Plan) -> int:
    return 200 if plan.quick else PAGE_TRIALS


def _storing(plan: Plan, databases: PostgresDatabases) -> tuple[list[Figure], list[Figure]]:
    """Search and storage: a trial with each method, and the end of one."""
    sides = {"Podium": search_and_storage.of_podium, "Optuna": search_and_storage.of_optuna}
    found: dict[tuple[str, str], list[Storing]] = {(side, method): [] for side in sides for method in METHODS}
    for seed in range(ingest.repetitions_of(plan)):
        for method in METHODS:
            for side, measure in sides.items():
                with tempfile.TemporaryDirectory(prefix="podium-bench-") as folder:
                    one = measure(Path(folder), databases, method, _trials(plan), seed)
                found[side, method].append(one)
                plan.say(f"{side}, {method}: {one.trial_ms:.2f} ms a trial, end {statistics.median(one.ends_ms):.2f}")
    return _figures("Podium", found), _figures("Optuna", found)


def _figures(side: str, found: dict[tuple[str, str], list[Storing]]) -> list[Figure]:
    trials = [
        Figure(f"{method}, a trial", "ms", tuple(one.trial_ms for one in found[side, method])) for method in METHODS
    ]
    ends = tuple(statistics.median(one.ends_ms) for method in METHODS for one in found[side, method])
    return [*trials, Figure("the end of a trial, p50", "ms", ends)]


def _without_readers(plan: Plan, databases: PostgresDatabases) -> tuple[Figure, Figure]:
    """Points stored per second while nobody reads: of the recorder and of Optuna."""
    trials, seconds = ingest.trials_of(plan), ingest.seconds_of(plan)
    podium: list[float] = []
    peer: list[float] = []
    for _ in range(ingest.repetitions_of(plan)):
        with tempfile.TemporaryDirectory(prefix="podium-bench-") as folder:
            settings, url = databases.podium(Path(folder)), databases.optuna(Path(folder))
            podium.append(ingest.of_recorder(settings, trials, seconds, readers=False).points_a_second)
            peer.append(ingest.of_optuna(url, trials, seconds, readers=False).points_a_second)
        plan.say(f"without readers: Podium {podium[-1]:,.0f} points/s, Optuna {peer[-1]:,.0f}")
    return (
        Figure("recorder without readers, stored", "points/s", tuple(podium)),
        Figure("report without readers, stored", "points/s", tuple(peer)),
    )


def _pages(plan: Plan, databases: PostgresDatabases) -> tuple[list[Figure], Figure]:
    """The requests of a page, and the read of all trials of a study."""
    count = _page_trials(plan)
    with tempfile.TemporaryDirectory(prefix="podium-bench-") as folder:
        settings, storage = databases.podium(Path(folder) / "data"), databases.optuna(Path(folder))
        sweep_id = dashboard.filled(settings, count)
        optuna_dashboard.fill(storage, count)
        databases.settle()
        asked = dashboard.podium(settings.data.root, sweep_id, None, visits=0)
        times = tuple(_all_trials_ms(storage, count) for _ in range(ASKED_PEER))
    pages = [figure for (_, key), figure in dashboard.figures(count, asked) if key.endswith(" ms")]
    read = Figure(f"{count:,}: all trials", "ms", times)
    plan.say(", ".join(map(str, (*pages, read))))
    return pages, read


def _all_trials_ms(storage: str, count: int) -> float:
    """Read a study with a new connection and without a cache."""
    began = time.perf_counter()
    with optuna_storage(storage) as opened:
        found = optuna.load_study(study_name="many", storage=opened).get_trials(deepcopy=False)
        took_ms = 1e3 * (time.perf_counter() - began)
    if len(found) != count:
        raise RuntimeError(f"Optuna read {len(found)} of {count} trials")
    return took_ms
