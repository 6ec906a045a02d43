"""A real service to measure, and the time that one sweep takes on it."""

from __future__ import annotations

import contextlib
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from podium.api.client.client import Client
from podium.api.client.service_for_command import service

PROGRAMS = Path(__file__).parent / "programs"


@dataclass(frozen=True, slots=True)
class SweepTimes:
    """How long a sweep took."""

    trials: int
    inside_s: float  # from the first placement to the end, as recorded by the service
    outside_s: float  # from the submission to the first response with state `finished`
    busy_share: float | None  # of the devices, between first start and last end; None if unknown


@contextlib.contextmanager
def fresh_service(devices: str) -> Iterator[Client]:
    """A new service in an empty data directory, which is removed afterwards."""
    with (
        tempfile.TemporaryDirectory(prefix="podium-bench-") as folder,
        service(Path(folder) / "data", devices, own=True) as client,
    ):
        yield client


def document(function: str, parameters: dict[str, Any], trials: int, *, method: str = "tpe", seed: int = 0) -> Any:
    """A sweep over one of the programs here; the client uploads the folder."""
    return {
        "name": function.replace(":", "-"),
        "method": method,
        "seed": seed,
        "metric": {"name": "score", "goal": "minimize"},
        "parameters": parameters,
        "run_cap": trials,
        "program": {"function": function, "code": str(PROGRAMS)},
    }


def timed_sweep(client: Client, sweep_document: Any) -> SweepTimes:
    """Run a sweep to its end. Raises `RuntimeError` unless every trial finished."""
    began = time.perf_counter()
    sweep = client.wait(client.submit(sweep_document)["id"])
    outside_s = time.perf_counter() - began
    trials = sweep_document["run_cap"]
    if sweep["counts"] != {"finished": trials}:
        raise RuntimeError(f"the sweep is {sweep['state']} with {sweep['counts']}: {sweep['reason']}")
    started, ended = (datetime.fromisoformat(at) for at in (sweep["started_at"], sweep["ended_at"]) if at is not None)
    return SweepTimes(trials, (ended - started).total_seconds(), outside_s, sweep["device_busy_share"])
