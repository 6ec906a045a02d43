"""Many requests while member processes are stopped and killed: nothing grows, leaks or is lost.

`make soak` sends 100,000; `make test` only enough to show a leak of one per request. PODIUM_SOAK sets the number.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from random import Random

import numpy as np
import psutil
import pytest
import uvloop

from podium.ensemble.serving.aggregator import Aggregator
from podium.ensemble.values.ensemble_snapshot import Snapshot
from podium.ensemble.values.ensemble_states import MemberState
from podium.ensemble.values.prediction import MemberStatus, Outcome
from tests.aggregator_rig import ended_count
from tests.ensemble_fakes import CLASSES, FEATURES, member, snapshot, traffic
from tests.repository import ROOT

REQUESTS = int(os.environ.get("PODIUM_SOAK", "3000"))
CLIENTS = 32
MEMBERS = 3
DEADLINE_MS = 300.0
WARM_SHARE = 0.2  # share of the requests after which nothing may grow
MAX_GROWTH_BYTES = 16 << 20


class Worker:
    """The process of one member, which the test stops, kills and restarts."""

    def __init__(self, folder: Path, number: int) -> None:
        self.number = number
        self.epoch = 0
        self.state = MemberState.STARTING
        self._folder = folder
        self._process: asyncio.subprocess.Process | None = None

    @property
    def endpoint(self) -> str:
        return f"unix:{self._folder / f'{self.number}-{self.epoch}'}"

    @property
    def process(self) -> psutil.Process:
        assert self._process is not None
        return psutil.Process(self._process.pid)

    async def start(self) -> None:
        """Start the process with the next epoch."""
        self.epoch += 1
        self._process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "tests.member_process", self.endpoint, str(self.epoch),
            cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        )  # fmt: skip
        assert self._process.stdout is not None
        assert await self._process.stdout.readline() == b"ready\n"
        self.state = MemberState.READY

    async def stand_still(self, seconds: float) -> None:
        assert self._process is not None
        self._process.send_signal(signal.SIGSTOP)
        await asyncio.sleep(seconds)
        self._process.send_signal(signal.SIGCONT)

    async def kill(self) -> None:
        assert self._process is not None
        self.state = MemberState.RESTARTING
        with contextlib.suppress(ProcessLookupError):
            self._process.kill()
        await self._process.communicate()


@dataclass(frozen=True)
class Sizes:
    """What must not grow."""

    rss_bytes: int
    files: int
    worker_rss_bytes: int
    worker_files: int


class Soak:
    """Clients that send requests, and a thread that stops and kills members."""

    def __init__(self, folder: Path, requests: int) -> None:
        self.requests = requests
        self.workers = [Worker(folder, number) for number in range(MEMBERS)]
        self.deaths = 0
        self.aggregator = Aggregator(on_death=self._died)
        self.seen: Counter[Outcome] = Counter()
        self.statuses: Counter[MemberStatus] = Counter()
        self.harm: Counter[str] = Counter()
        self._left = requests
        self._harming = False
        self._random = Random(7)

    async def run(self) -> tuple[Sizes, Sizes]:
        """The sizes after warm-up and at the end."""
        await asyncio.gather(*(worker.start() for worker in self.workers))
        self.update()
        warm = await self._phase(int(self.requests * (1 - WARM_SHARE)))
        return warm, await self._phase(0)

    async def _phase(self, left: int) -> Sizes:
        """Send requests until N are left; the sizes once all members are healthy and idle."""
        self._harming = True
        harm = asyncio.create_task(self._do_harm())
        await asyncio.gather(*(self._client(Random(number + left), left) for number in range(CLIENTS)))
        self._harming = False
        await harm
        await self._heal()
        return await self._sizes()

    @property
    def dropped(self) -> Counter[str]:
        return self.aggregator.counts.dropped

    def update(self) -> None:
        self.aggregator.update([traffic(self.snapshot())])

    def snapshot(self) -> Snapshot:
        members = [
            member(worker.endpoint, worker.number, state=worker.state, epoch=worker.epoch) for worker in self.workers
        ]
        return snapshot(*members, quorum=1, deadline_ms=DEADLINE_MS)

    async def close(self) -> None:
        self.aggregator.close()
        await asyncio.gather(*(worker.kill() for worker in self.workers))

    # Clients.

    async def _client(self, random: Random, left: int) -> None:
        while self._left > left:
            self._left -= 1
            rows = np.full((random.choice([1, 1, 1, 16]), FEATURES), random.random(), np.float32)
            if random.random() < 0.01:
                rows[-1] = np.nan  # which no member can answer
            deadline_ms = random.choice([None, None, None, None, 50.0, 2.0])
            asked = asyncio.ensure_future(self._ask(rows, deadline_ms))
            if random.random() < 0.02:
                await asyncio.sleep(0)
                asked.cancel()
            await asyncio.gather(asked, return_exceptions=True)
            if asked.cancelled():
                self.seen[Outcome.CANCELLED] += 1
            else:
                self.seen[asked.result()] += 1

    async def _ask(self, rows: np.ndarray[tuple[int, int], np.dtype[np.float32]], deadline_ms: float | None) -> Outcome:
        now = self.aggregator.ensembles.by_id(1)
        assert now is not None
        found = await self.aggregator.predict(now.active, rows, deadline_ms)
        self.statuses.update(report.status for report in found.reports)
        if found.outputs is not None:
            assert found.outputs.shape == (len(rows), len(CLASSES))
            np.testing.assert_allclose(found.outputs[:, 0], rows[:, 0], atol=1e-6)  # its own rows only
        return found.outcome

    # Faults.

    async def _do_harm(self) -> None:
        """Kill one member for every four stops; never the first, whose growth is measured."""
        while self._harming:
            await asyncio.sleep(self._random.uniform(0.1, 0.5))
            if 4 * self.harm["killed"] <= self.harm["stood still"]:
                await self._replace(self._random.choice(self.workers[1:]))
                self.harm["killed"] += 1
            else:
                await self._random.choice(self.workers).stand_still(self._random.uniform(0.01, 2 * DEADLINE_MS / 1000))
                self.harm["stood still"] += 1

    async def _replace(self, worker: Worker) -> None:
        """Replace a worker as the host does: a moment after the gateway has seen it die."""
        deaths = self.deaths
        await worker.kill()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(1):
                while self.deaths == deaths:
                    await asyncio.sleep(0.01)
        self.update()
        await worker.start()
        self.update()

    def _died(self) -> None:
        self.deaths += 1

    async def _heal(self) -> None:
        """Wait until every member answers."""
        for _ in range(300):
            self.update()  # sends probes that are due
            found = await self.aggregator.predict(self.snapshot(), np.ones((1, FEATURES), np.float32))
            self.requests += 1
            self.seen[found.outcome] += 1
            if found.outcome is Outcome.OK:
                return
            await asyncio.sleep(0.1)
        pytest.fail(f"no answer of every member: {found.reports}")

    async def _sizes(self) -> Sizes:
        """The sizes once closed connections are gone: the event loop closes them in a later turn."""
        await asyncio.sleep(0.5)
        me, first = psutil.Process(), self.workers[0].process
        return Sizes(me.memory_info().rss, me.num_fds(), first.memory_info().rss, first.num_fds())


@pytest.mark.timeout(120 + REQUESTS // 50)
def test_memory_sockets_and_requests_in_flight_stay_constant_under_stalls_and_kills(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    soak, warm, end = uvloop.run(_soak(tmp_path))
    tallies = [{str(key): count for key, count in tally.items()} for tally in (soak.seen, soak.statuses, soak.harm)]
    report = f"{soak.requests} requests: {tallies}, dropped {dict(soak.dropped)}, warm {warm}, end {end}"
    if REQUESTS > 3000:
        with capsys.disabled():
            print(f"\n{report}")
    assert end.rss_bytes - warm.rss_bytes < MAX_GROWTH_BYTES, report
    assert end.worker_rss_bytes - warm.worker_rss_bytes < MAX_GROWTH_BYTES, report
    assert end.files <= warm.files, report
    assert end.worker_files <= warm.worker_files, report
    assert soak.harm["killed"] and soak.harm["stood still"], report
    assert soak.deaths, report


async def _soak(folder: Path) -> tuple[Soak, Sizes, Sizes]:
    soak = Soak(folder, REQUESTS)
    try:
        warm, end = await soak.run()
        _assert_accounts(soak)
    finally:
        await soak.close()
    return soak, warm, end


def _assert_accounts(soak: Soak) -> None:
    """Assert that every request has the outcome that its client saw, and nothing is in flight."""
    counts = soak.aggregator.counts
    ensemble = counts.ensembles[(1, 1)]
    assert ensemble.in_flight == soak.aggregator.in_flight == soak.aggregator.in_flight_bytes == 0
    assert ensemble.admitted == soak.requests == soak.seen.total()
    left_too_late = soak.seen[Outcome.CANCELLED] - ensemble.outcomes[Outcome.CANCELLED]  # their response had arrived
    differences = Counter(ensemble.outcomes) - soak.seen
    assert sum(differences.values()) == left_too_late
    assert left_too_late <= soak.seen[Outcome.CANCELLED]
    assert soak.seen[Outcome.OK] and soak.seen[Outcome.DEGRADED]
    for member_counts in counts.members.values():
        assert member_counts.pending == 0
        assert member_counts.sent == sum(ended_count(member_counts))
        assert member_counts.sent > 0
    for link in soak.aggregator.links.by_replica.values():
        assert not link.pending
    assert not soak.aggregator.links.draining
    assert counts.members.keys() == {20 + number for number in range(MEMBERS)}
