"""Gateways that tell each other their figures: sums are whole, and never decrease when one dies."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from podium.api.gateway.gateway_counter_totals import GatewayCounterTotals, summed
from podium.ensemble.serving.aggregator import Aggregator
from podium.ensemble.serving.gateway_metrics import GatewayCounters
from podium.ensemble.values.prediction import Outcome
from podium.sweep.runtime.layout import DataDirectory
from podium.sweep.runtime.runtime_directory import RuntimeDirectory
from podium.sweep.runtime.service_settings import ServiceSettings
from tests.inference_fakes import ScriptedAggregator, snapshot, traffic

NEVER_S = 1000.0


class Gateway:
    """A gateway process without its HTTP server: counters, and the exchange of figures."""

    def __init__(self, folder: Path, name: str, *, gateways: int = 2, save_s: float = NEVER_S) -> None:
        self.settings = ServiceSettings(str(folder / "data"), str(folder), gateways=gateways)
        self.aggregator: Aggregator = ScriptedAggregator(traffic(snapshot()))
        self.exchange = GatewayCounterTotals(
            self.settings, name, lambda: GatewayCounters.of(self.aggregator), timeout_s=5.0, save_s=save_s
        )
        self.exchange.adopt(self.aggregator.counts)

    def count(self, outcome: Outcome | None, times: int = 1) -> None:
        """Count requests; None: in flight."""
        counts = self.aggregator.counts.ensemble(1, 1)
        counts.admitted += times
        if outcome is None:
            counts.in_flight += times
        else:
            counts.outcomes[outcome] += times

    async def admitted(self) -> int:
        """The requests of all gateways, as this one shows them."""
        return summed(await self.exchange.shares()).ensembles[1, 1].admitted


def run(scenario: Callable[[], Awaitable[None]]) -> None:
    async def main() -> None:
        await scenario()

    asyncio.run(main())


def test_each_gateway_shows_the_sum(tmp_path: Path) -> None:
    async def scenario() -> None:
        first, second = Gateway(tmp_path, "gateway-1"), Gateway(tmp_path, "gateway-2")
        await first.exchange.start()
        await second.exchange.start()
        first.count(Outcome.OK, 3)
        second.count(Outcome.SHED, 4)
        assert await first.admitted() == await second.admitted() == 7
        shares = await first.exchange.shares()
        assert [(share.name, share.pid, share.answered) for share in shares] == [
            ("gateway-1", os.getpid(), True),
            ("gateway-2", os.getpid(), True),
        ]
        await first.exchange.stop()
        await second.exchange.stop()

    run(scenario)


def test_what_was_shown_is_kept_when_a_gateway_dies_and_after_its_restart(tmp_path: Path) -> None:
    async def scenario() -> None:
        first, second = Gateway(tmp_path, "gateway-1"), Gateway(tmp_path, "gateway-2")
        await first.exchange.start()
        await second.exchange.start()
        second.count(Outcome.OK, 4)
        second.count(None)
        assert await first.admitted() == 5
        await second.exchange.stop()
        assert await first.admitted() == 5
        (_, share) = await first.exchange.shares()
        assert (share.name, share.pid, share.answered, share.figures.health) == ("gateway-2", None, False, {})
        successor = Gateway(tmp_path, "gateway-2")
        await successor.exchange.start()
        successor.count(Outcome.OK)
        assert await first.admitted() == await successor.admitted() == 6
        counts = summed(await first.exchange.shares()).ensembles[1, 1]
        assert (counts.in_flight, counts.outcomes[Outcome.CANCELLED]) == (0, 1)
        await first.exchange.stop()
        await successor.exchange.stop()

    run(scenario)


def test_own_figures_are_saved_before_they_are_shown(tmp_path: Path) -> None:
    async def scenario() -> None:
        first = Gateway(tmp_path, "gateway-1")
        first.count(Outcome.OK, 2)
        assert await first.admitted() == 2
        assert await Gateway(tmp_path, "gateway-1").admitted() == 2

    run(scenario)


def test_figures_are_saved_regularly(tmp_path: Path) -> None:
    async def scenario() -> None:
        first = Gateway(tmp_path, "gateway-1", save_s=0.001)
        await first.exchange.start()
        first.count(Outcome.OK, 2)
        async with asyncio.timeout(10):
            while not first.settings.runtime.saved_figures("gateway-1").exists():
                await asyncio.sleep(0.001)
        await first.exchange.stop()
        assert await Gateway(tmp_path, "gateway-1").admitted() == 2

    run(scenario)


def test_only_gateway_tells_and_saves_nothing(tmp_path: Path) -> None:
    async def scenario() -> None:
        only = Gateway(tmp_path, "gateway", gateways=1)
        await only.exchange.start()
        only.count(Outcome.OK)
        assert await only.admitted() == 1
        await only.exchange.stop()
        assert list(tmp_path.iterdir()) == []

    run(scenario)


def test_full_disk_is_reported_once_and_figures_are_shown(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async def scenario() -> None:
        first = Gateway(tmp_path, "gateway-1")
        first.settings.runtime.saved_figures("gateway-1").mkdir()
        for admitted in (1, 2):
            first.count(Outcome.OK)
            assert await first.admitted() == admitted

    with caplog.at_level(logging.WARNING):
        run(scenario)
    assert [record.getMessage() for record in caplog.records] == [
        "cannot save the counters of gateway-1: Is a directory; retrying"
    ]


def test_new_service_forgets_the_counters_of_an_earlier_one(tmp_path: Path) -> None:
    async def scenario() -> None:
        first = Gateway(tmp_path / "run", "gateway-1")
        first.count(Outcome.OK)
        await first.exchange.shares()

    runtime = RuntimeDirectory(tmp_path / "run")
    runtime.prepare()
    DataDirectory(tmp_path / "data").prepare()
    run(scenario)
    assert runtime.saved_figures("gateway-1").exists()
    runtime.prepare()
    assert not runtime.saved_figures("gateway-1").exists()
