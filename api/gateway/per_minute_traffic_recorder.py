"""Records the traffic of all gateway processes by minute and saves it, for the api and for the next start; gateway.

Only the first gateway process records the traffic: the figures that it sums are those of all. Each process summarizes
the rows that it predicted in a file of its own; who reads the files adds them up.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Sequence
from pathlib import Path

from podium.api.gateway.gateway_counter_totals import GatewayCounterTotals, summed
from podium.ensemble.serving import input_feature_statistics
from podium.ensemble.serving.aggregator import Aggregator
from podium.ensemble.serving.input_feature_statistics import Moments
from podium.ensemble.serving.replica_sets import workers_of
from podium.ensemble.serving.traffic_history import TrafficHistory

RECORD_S = 5.0
log = logging.getLogger("podium.gateway")


def saved_history(path: Path) -> TrafficHistory:
    """The saved history; an empty one if there is none, or if it was written by another version."""
    try:
        return TrafficHistory.from_json(path.read_bytes())
    except FileNotFoundError:
        return TrafficHistory()
    except (ValueError, TypeError, AttributeError, OSError) as error:
        log.warning("cannot read the traffic of the last 24 hours in %s: %s; it starts again", path, error)
        return TrafficHistory()


def saved_inputs(paths: Sequence[Path]) -> dict[int, Moments]:
    """The moments of the rows that all gateway processes predicted in the last hour, by ensemble."""
    return input_feature_statistics.merged([_read_inputs(path) for path in paths])


def _read_inputs(path: Path) -> dict[int, Moments]:
    """None before the first are saved."""
    try:
        return input_feature_statistics.from_json(path.read_bytes())
    except (OSError, ValueError, TypeError):
        return {}


async def record_inputs(path: Path, aggregator: Aggregator, record_s: float = RECORD_S) -> None:
    """Save the summary of the rows that this process predicts, until cancelled."""
    saved = b""  # what a predecessor has saved is replaced, as it does not say when its rows were predicted
    while True:
        now_s = asyncio.get_running_loop().time()
        inputs = await asyncio.to_thread(_summary, aggregator, now_s)
        if inputs != saved and not await asyncio.to_thread(_save, path, inputs):
            saved = inputs
        await asyncio.sleep(record_s)


async def record_traffic(
    path: Path, exchange: GatewayCounterTotals, aggregator: Aggregator, record_s: float = RECORD_S
) -> None:
    """Add the figures to the history and save it, until cancelled."""
    history = await asyncio.to_thread(saved_history, path)
    failure = ""
    while True:
        figures = summed(await exchange.shares())
        if history.record(figures, _owners(aggregator), time.time()):
            reason = await asyncio.to_thread(_save, path, history.to_json())
            if reason and reason != failure:
                log.warning("cannot save the traffic of the last 24 hours: %s; retrying", reason)
            failure = reason
        await asyncio.sleep(record_s)


def _summary(aggregator: Aggregator, now_s: float) -> bytes:
    return input_feature_statistics.to_json(aggregator.inputs.recent(now_s))


def _owners(aggregator: Aggregator) -> dict[int, int]:
    """The ensemble of each replica that serves now."""
    served = [
        snapshot
        for traffic in aggregator.ensembles.all()
        for snapshot in (traffic.active, traffic.canary)
        if snapshot is not None
    ]
    return {
        replica.replica_id: snapshot.ensemble_id
        for snapshot in served
        for _, replicas in workers_of(snapshot)
        for replica in replicas
    }


def _save(path: Path, content: bytes) -> str:
    """Why it failed; empty if it is saved."""
    temporary = path.with_name(f".{path.name}")
    try:
        temporary.write_bytes(content)
        temporary.replace(path)  # without a sync: a crash of the machine may lose the last seconds
    except OSError as error:
        return error.strerror or str(error)
    return ""
